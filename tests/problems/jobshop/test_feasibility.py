"""Fixed operations that break a rule by themselves: the reason is given at once; those that do not are left to the solvers."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.problems.jobshop.feasibility import impossible
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.rules import FOREVER, SideConstraints

TWO = [[[(0, 3)], [(1, 2)]], [[(0, 2)], [(1, 2)]]]
ONE = [[[(0, 2)], [(1, 1), (2, 3)], [(0, 2)]]]
NO_WAIT = {"no_wait": [False, True, True]}
SET_UP = {"setups": [[[0, 2], [2, 0]]] * 2, "first_setups": [[1, 1], [0, 0]]}


def made(jobs, fixed, rules):
    """jobs with fixed = {operation: (machine, start)}."""
    o, machines = sum(map(len, jobs)), 1 + max(m for job in jobs for operation in job for m, _ in operation)
    start, machine = np.full(o, -1), np.full(o, -1)
    for i, (m, at) in fixed.items():
        start[i], machine[i] = at, m
    kinds = {"no_wait": bool}
    arrays = {name: value if name == "now" else np.array(value, kinds.get(name, np.int64)) for name, value in rules.items()}
    return from_jobs(
        jobs, machines, release=[1] * len(jobs), rules=SideConstraints(fixed_start=start, fixed_machine=machine, **arrays)
    )


@pytest.mark.parametrize(
    ("jobs", "fixed", "rules", "reason"),
    [
        (TWO, {0: (0, 0)}, {}, "operation 0 of job 0 is fixed at 0; it may start from 1"),
        (TWO, {1: (1, 5)}, {"earliest": [0, 6, 0, 0]}, "operation 1 of job 0 is fixed at 5; it may start from 6"),
        (TWO, {0: (0, 2)}, {"unavailable": [[0, 4, FOREVER]]}, "and its machine is not available until it ends at 5"),
        (TWO, {0: (0, 2), 2: (0, 4)}, {}, "operation 0 of job 0 and operation 0 of job 1 are fixed at the same time"),
        (TWO, {0: (0, 2), 1: (1, 4)}, {}, "operation 1 of job 0 is fixed at 4; the operations before it end at 5"),
        (TWO, {1: (1, 3)}, {}, "operation 1 of job 0 is fixed at 3; the operations before it end at 4"),
        (TWO, {1: (1, 5)}, {"now": 3}, "operation 1 of job 0 is fixed at 5; the operations before it end at 6"),
        (TWO, {1: (1, 5)}, {"unavailable": [[0, 3, 4]]}, "is fixed at 5; the operations before it end at 7"),
        (TWO, {1: (1, 5), 2: (0, 2)}, {}, "is fixed at 5; the operations before it end at 7"),
        (TWO, {0: (0, 1)}, {"unavailable": [[1, 5, FOREVER]]}, "operation 1 of job 0 does not fit into any time"),
        (TWO, {0: (0, 1), 2: (0, 5)}, SET_UP, "operation 0 of job 1 is fixed at 5; its machine is set up for it at 6"),
        (TWO, {2: (0, 1), 0: (0, 6)}, SET_UP | {"unavailable": [[0, 4, 5]]}, "is fixed at 6; its machine is set up for it at 7"),
        (TWO, {0: (0, 1)}, SET_UP | {"first_setups": [[2, 2], [0, 0]]}, "is fixed at 1; its machine is set up for it at 2"),
        (ONE, {0: (0, 1), 2: (0, 5)}, NO_WAIT, "operation 2 of job 0 is fixed at 5; without waiting it starts at 4 or 6"),
        (ONE, {0: (0, 1), 1: (1, 4)}, NO_WAIT, "operation 1 of job 0 is fixed at 4; without waiting it starts at 3"),
        (ONE, {1: (1, 2)}, NO_WAIT, "operation 1 of job 0 is fixed at 2; the operations before it end"),
        (ONE, {0: (0, 1)}, NO_WAIT | {"unavailable": [[1, 3, 9], [2, 5, 9]]}, "operation 1 of job 0 cannot follow"),
    ],
)  # fmt: skip
def test_the_reason_is_given(jobs, fixed, rules, reason):
    """Releases, breaks, other fixed operations, precedence, set-ups and waiting; every solver says it, at once."""
    instance = made(jobs, fixed, rules)
    assert reason in impossible(instance)
    for solver in ("annealing", "dispatch", "cp-sat"):
        result = corl.solve(instance, solver=solver, time_limit=20)
        assert (result.status, result.limit) == ("infeasible", "infeasible") and reason in result.reason


@pytest.mark.parametrize(
    ("jobs", "fixed", "rules", "best"),
    [
        (TWO, {0: (0, 3), 2: (0, 1)}, {}, 8),
        (TWO, {0: (0, 3), 2: (0, 8)}, SET_UP, 12),
        (ONE, {0: (0, 1), 2: (0, 6)}, NO_WAIT, 8),
        (ONE, {1: (2, 4)}, NO_WAIT, 9),
        (ONE, {2: (0, 7)}, NO_WAIT | {"unavailable": [[1, 6, 9]]}, 9),
        ([[[(0, 2)]], [[(0, 0)]], [[(0, 0)]]], {0: (0, 3), 1: (0, 3), 2: (0, 5)}, {}, 5),
        ([[[(0, 1)]], [[(0, 1)]], [[(0, 1)]]], {0: (0, 1), 1: (0, 4)},
         {"setups": [[[0, 9, 0], [9, 0, 9], [9, 0, 0]]]}, 5),
    ],
)  # fmt: skip
def test_what_has_a_schedule_is_solved(jobs, fixed, rules, best):
    """Choices that make a run without waiting meet what is fixed, operations of no length beside others, set-ups by a third."""
    instance = made(jobs, fixed, rules)
    assert impossible(instance) == ""
    for solver, limit in (("annealing", {"iterations": 200}), ("cp-sat", {"time_limit": 20})):
        assert corl.solve(instance, solver=solver, **limit).objective == best


BREAK = SideConstraints(unavailable=np.array([[0, 0, 5]]))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [({"objective": "earliness_tardiness", "due": [3]}, "earliness"), ({"rules": BREAK}, "machine calendars")],
)
def test_tabu_refuses_rules_by_name(arguments, word):
    """As every solver without side constraints."""
    instance = from_jobs([[[(0, 1)]]], 1, **arguments)
    for solver in ("tabu", "slim", "cp-agent"):
        with pytest.raises(corl.UsageError, match=f"it does not support {word}"):
            corl.solve(instance, solver=solver, iterations=10)
