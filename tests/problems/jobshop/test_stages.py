"""Hybrid flow shops: the text with the machines of each stage, the generator, and the bound of a stage."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from corl import registry
from corl.errors import InputError, UsageError
from corl.files.text import Text
from corl.problems.jobshop.formats import read_text, recognises
from corl.problems.jobshop.generators_hybrid import hybrid
from corl.problems.jobshop.instance import from_jobs
from corl.solvers.jobshop.bounds import lower_bound

STAGES = "3\n2\n2 1\n4 5\n3 2\n6 1\n"


def test_the_text(tmp_path):
    """Each operation has its duration on every machine of its stage; a file is recognised, and no flow shop."""
    instance = read_text(Text(STAGES), "x")
    assert list(instance.rows()) == [[[(0, a), (1, a)], [(2, b)]] for a, b in ((4, 5), (3, 2), (6, 1))]
    assert instance.machines == 3
    (tmp_path / "x.txt").write_text(STAGES)
    assert registry.recognise(tmp_path / "x.txt").name == "jobshop"
    (tmp_path / "y.txt").write_text("3\n2\n2 1\n4 5\n3 2\n")  # three rows for three jobs
    assert registry.recognise(tmp_path / "y.txt").name == "flowshop"
    assert not recognises(STAGES[:-4])


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("0\n2\n2 1\n4 5\n", 1, "jobs"), ("3\n2\n2 0\n4 5\n3 2\n6 1\n", 3, "machines"), (STAGES[:-4], 5, "jobs"),
        (STAGES.replace("3 2", "3 2 1"), 5, "durations"), (STAGES.replace("6 1", "6 -1"), 6, "durations"),
        (STAGES.replace("6 1", "6 x"), 6, "durations"), ("3\n2\n2\n4 5\n", 1, "header"),
    ],
)  # fmt: skip
def test_faults_are_placed(text, line, field):
    """One line with the line of the file, the field and what is accepted."""
    with pytest.raises(InputError) as caught:
        read_text(Text(text, "bad.txt"))
    assert (caught.value.line, caught.value.field) == (line, field) and "\n" not in str(caught.value)


def test_the_generator():
    """As many machines in each stage, identical or with durations of their own."""
    instance = hybrid(jobs=6, stages=3, machines=2, seed=1)
    choices = instance.choice_machine.reshape(6, 3, 2)
    assert (choices == [[0, 1], [2, 3], [4, 5]]).all() and (np.ptp(instance.choice_duration.reshape(18, 2), axis=1) == 0).all()
    unrelated = hybrid(jobs=6, stages=3, machines=2, spread=0.5, seed=1)
    assert np.ptp(unrelated.choice_duration.reshape(18, 2), axis=1).any() and unrelated.choice_duration.min() >= 1
    for options in ({"jobs": 0}, {"machines": 0}, {"stages": 10**6, "jobs": 10}, {"spread": 1.5}):
        with pytest.raises(UsageError, match="accepted"):
            hybrid(**options)


def test_the_bound_of_a_stage():
    """Never above the optimum, by all orders of all stages on identical machines; often equal to it."""
    met = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        durations = random.integers(1, 6, (4, 2)).tolist()
        instance = from_jobs([[[(0, a), (1, a)], [(2, b), (3, b)]] for a, b in durations], 4)
        best = min(_makespan(durations, orders) for orders in itertools.product(itertools.permutations(range(4)), repeat=2))
        assert lower_bound(instance) <= best
        met += lower_bound(instance) == best
    assert met > 4


def _makespan(durations, orders):
    """Of list schedules: in each stage the jobs take the machine that is free first, in the order of the stage."""
    ready = [0] * len(durations)
    for stage, order in enumerate(orders):
        free = [0, 0]
        for j in order:
            k = free.index(min(free))
            ready[j] = free[k] = max(free[k], ready[j]) + durations[j][stage]
    return max(ready)
