"""Generators: the published instances from the published seeds, and valid instances from any."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.jobshop.generators import GENERATORS, demirkol, flexible, mixed, taillard, tardiness
from corl.problems.jobshop.problem import JobShop

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "instances" / "jobshop"
SHARED = ROOT.parent / "shared" / "data" / "jobshop"
JOBSHOP = JobShop()


def test_taillard_by_hand():
    """The first durations and the first job's machines of ta01, as published."""
    instance = taillard(jobs=15, machines=15, time_seed=840612802, machine_seed=398197754)
    assert instance.choice_duration[:15].tolist() == [94, 66, 10, 53, 26, 15, 65, 82, 10, 27, 93, 92, 96, 70, 83]
    assert (instance.choice_machine[:15] + 1).tolist() == [7, 13, 5, 8, 4, 3, 11, 12, 9, 15, 10, 14, 6, 1, 2]


def test_shipped_instances_are_the_published_ones():
    """Every published file of shared data that is shipped as seeds comes out of them to the bit; all 158 can be made."""
    paths = sorted(SHIPPED.glob("*.json"))
    assert len([path for path in paths if path.stem.startswith("ta")]) == 80
    assert len([path for path in paths if path.stem.startswith("dmu")]) == 78
    if not SHARED.is_dir():
        pytest.skip("the shared data is not beside the checkout")
    compared = 0
    for path in paths:
        published = SHARED / "instances" / f"{path.stem}.txt"
        made = JOBSHOP.read(path)
        assert made.name == path.stem
        if published.is_file():
            read = JOBSHOP.read(published)
            assert np.array_equal(made.choice_machine, read.choice_machine)
            assert np.array_equal(made.choice_duration, read.choice_duration)
            compared += 1
    assert compared > 130


def test_shipped_seeds_are_the_published_ones():
    """The seeds in the shipped files are those of the published tables."""
    if not SHARED.is_dir():
        pytest.skip("the shared data is not beside the checkout")
    with open(SHARED / "taillard_seeds.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            given = json.loads((SHIPPED / f"{row['instance']}.json").read_text())["parameters"]
            assert given == {key: int(row[key]) for key in ("jobs", "machines", "time_seed", "machine_seed")}


def test_what_is_drawn():
    """Ranges and shapes are as documented."""
    two = demirkol(jobs=30, machines=7, two_sets=True, seed=3)
    assert set(np.unique(two.choice_duration)) <= set(range(1, 201))
    visits = two.choice_machine.reshape(30, 7)
    assert (np.sort(visits) == np.arange(7)).all() and (visits[:, :3] < 3).all() and (visits[:, 3:] >= 3).all()
    many = flexible(jobs=50, machines=6, operations=4, choices=2, seed=1)
    assert np.diff(many.first).min() == 1 and np.diff(many.first).max() == 7
    assert set(np.diff(many.choice_first)) == {1, 2, 3}
    shapes = {(made.jobs, made.machines) for made in (mixed(size=7, seed=seed) for seed in range(40))}
    assert shapes == {(7, 4), (7, 5), (7, 6), (7, 7)}
    assert {mixed(size=60, seed=seed).machines for seed in range(60)} == set(range(15, 21))
    late = tardiness(jobs=10, machines=3, tightness=1.5, latest_release=20, seed=2)
    work = np.add.reduceat(late.choice_duration, late.first[:-1])
    assert np.array_equal(late.due, late.release + np.floor(1.5 * work)) and late.weight.tolist() == [4, 4] + [2] * 6 + [1, 1]
    dated, plain = flexible(tightness=1.5, seed=1), flexible(seed=1)
    assert np.array_equal(dated.due, np.floor(1.5 * np.add.reduceat(plain.shortest, plain.first[:-1])))
    assert dated.objective == late.objective and np.array_equal(dated.choice_duration, plain.choice_duration)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("taillard", {"jobs": 0}),
        ("taillard", {"machines": 0}),
        ("taillard", {"jobs": 10**4, "machines": 10**4}),
        ("taillard", {"time_seed": 0}),
        ("taillard", {"machine_seed": 2**31}),
        ("demirkol", {"lehmer_seed": 0}),
        ("tardiness", {"tightness": -1.0}),
        ("tardiness", {"latest_release": -1}),
        ("mixed", {"size": 50_001}),
        ("flexible", {"choices": 7}),
        ("flexible", {"operations": 0}),
        ("flexible", {"spread": 2.0}),
        ("flexible", {"tightness": -0.1}),
    ],
)
def test_wrong_parameters(kind, options):
    """Out of range: a UsageError that says what is accepted."""
    with pytest.raises(UsageError, match="accepted"):
        GENERATORS[kind](**options)
