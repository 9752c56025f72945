"""The gain of options chosen for each instance: what is chosen by which runs, and a run of the command."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from option_headroom import candidates, headroom, main

from corl import registry


def test_candidates_change_few_options():
    """The defaults come first; all differ; equal seeds give equal candidates."""
    cls = registry.solver("tsp", "ils")
    found = candidates(cls, 8)
    assert found[0].options == {} and len({each.label for each in found}) == 8
    assert all(1 <= len(each.options) <= 3 for each in found[1:])
    assert [each.options for each in found] == [each.options for each in candidates(cls, 8)]


def test_what_both_seeds_agree_on_is_a_gain():
    """Each of two candidates is the best on half of the instances: half of the single one's gaps remain, however it is chosen."""
    costs = np.full((2, 8, 2), 0.1)
    costs[0, 4:] = costs[1, :4] = 0.3
    apart, same, best = headroom(costs)
    assert (apart.value, same.value, best) == (pytest.approx(0.5), pytest.approx(0.5), 0)


def test_noise_is_no_gain():
    """If the better candidate of a run is the worse one with the other seed, only the flattering figure shows a gain."""
    costs = np.full((2, 8, 2), 0.2)
    costs[0, ::2, 0] = costs[1, 1::2, 0] = costs[1, ::2, 1] = costs[0, 1::2, 1] = 0.1
    apart, same, _ = headroom(costs)
    assert apart.value == pytest.approx(0.2 / 0.15) and same.value == pytest.approx(0.1 / 0.15)


@pytest.mark.long
def test_the_command_continues(tmp_path, capsys):
    """A second call prints the same row without a run."""
    words = ["tsp/smoke", "ils", "--store", str(tmp_path / "runs.db"), "--seconds", "0.1"]
    main([*words, "--instances", "2", "--candidates", "3"])
    first = capsys.readouterr()
    main([*words, "--instances", "2", "--candidates", "3"])
    second = capsys.readouterr()
    (row,) = csv.DictReader(first.out.splitlines())
    assert (row["instances"], row["candidates"]) == ("2", "3") and first.err.count("\n") >= 12
    assert second.out == first.out and not second.err
