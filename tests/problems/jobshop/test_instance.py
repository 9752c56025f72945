"""JobShopInstance: what is accepted, what follows from it."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import InputError
from corl.problems.jobshop.instance import HORIZON, JobShopInstance, from_jobs


def test_flat_arrays():
    """Jobs, operations and choices are numbered in order; the classic case has one choice an operation."""
    instance = from_jobs([[[(0, 3)], [(1, 2), (2, 5)]], [[(2, 4)]]], 3)
    assert (instance.jobs, instance.operations, instance.flexible) == (2, 3, True)
    assert instance.first.tolist() == [0, 2, 3] and instance.choice_first.tolist() == [0, 1, 3, 4]
    assert instance.job.tolist() == [0, 0, 1]
    assert instance.shortest.tolist() == [3, 2, 4] and instance.longest.tolist() == [3, 5, 4]
    assert instance.choices(1) == [(1, 2), (2, 5)] and list(instance.rows()) == [[[(0, 3)], [(1, 2), (2, 5)]], [[(2, 4)]]]
    assert instance.horizon == 12 and instance.release.tolist() == [0, 0] and instance.weight.tolist() == [1, 1]


def build(**changes):
    """A valid instance of two jobs with some fields changed."""
    fields = {
        "name": "x",
        "machines": 2,
        "first": [0, 1, 2],
        "choice_first": [0, 1, 2],
        "choice_machine": [0, 1],
        "choice_duration": [3, 4],
    }
    return JobShopInstance(**fields | changes)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"machines": 0}, "machines"),
        ({"objective": "flowtime"}, "objective"),
        ({"objective": "weighted_tardiness"}, "due"),
        ({"first": [0, 2]}, None),
        ({"first": [0, 0, 2]}, "first"),
        ({"first": [0, 2, 1]}, "first"),
        ({"first": [0]}, "first"),
        ({"first": [1, 2]}, "first"),
        ({"first": [0, 1, 3]}, "first"),
        ({"first": [[0, 1, 2]]}, "first"),
        ({"first": [0.0, 1.0, 2.0]}, "first"),
        ({"choice_first": [0, 1, 1]}, "choice_first"),
        ({"choice_machine": [0, 2]}, "choice_machine"),
        ({"choice_machine": [0, -1]}, "choice_machine"),
        ({"choice_duration": [3, -1]}, "choice_duration"),
        ({"choice_duration": [3]}, "choice_duration"),
        ({"choice_duration": [HORIZON, HORIZON]}, "durations"),
        ({"first": [0, 1], "choice_first": [0, 2], "choice_machine": [1, 1]}, "choice_machine"),
        ({"release": [0]}, "release"),
        ({"release": [0, -1]}, "release"),
        ({"weight": [1, -1]}, "weight"),
        ({"due": [1, -1]}, "due"),
        ({"due": [1, [2]]}, "due"),
        ({"first_machine": 2}, "first_machine"),
    ],
)
def test_wrong_fields_are_named(changes, field):
    """An array of the wrong shape, kind or range is an InputError that names the field; a change that is none is accepted."""
    if field is None:
        assert build(**changes).jobs == 1
        return
    with pytest.raises(InputError) as caught:
        build(**changes)
    assert caught.value.field == field and "\n" not in str(caught.value)


@pytest.mark.parametrize("jobs", [[], [[]], [[[]]], [[[(0, 1, 2)]]], [[["a"]]], [[[(0, 2**70)]]]])
def test_from_jobs_refuses(jobs):
    """Nothing at all, empty jobs or operations, and what is no pair of integers."""
    with pytest.raises(InputError):
        from_jobs(jobs, 2)


def test_arrays_are_typed():
    """Whatever integers are given, kernels see int32 and int64 in one piece."""
    instance = build(choice_duration=np.array([3, 4], np.uint8)[::-1], release=[5, 6])
    assert instance.choice_duration.dtype == np.int32 and instance.choice_duration.flags.c_contiguous
    assert instance.release.dtype == np.int64
