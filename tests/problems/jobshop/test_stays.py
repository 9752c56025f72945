"""Resumable operations and blocking by hand: swaps, quick proofs, breakdowns, pictures, and models by name."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.errors import Infeasible, UsageError
from corl.modelling import SchedulingModel
from corl.problems.jobshop.drawing import draw, scene
from corl.problems.jobshop.evaluation import ends, objective
from corl.problems.jobshop.feasibility import impossible
from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.instance import JobShopInstance, Schedule, from_jobs
from corl.problems.jobshop.rescheduling import reschedule
from corl.problems.jobshop.rules import SideConstraints
from corl.solvers.jobshop.auto import choose

CROSSING = [[[(0, 3)], [(1, 2)]], [[(1, 3)], [(0, 2)]]]
AROUND = [[[(m, 2)], [((m + 1) % 3, 2)]] for m in range(3)]
BLOCKING = np.array([True, False] * 3)


def blocking(jobs, swap, **rules) -> JobShopInstance:
    rules = {"blocking": BLOCKING[: 2 * len(jobs)], "swap": swap, **rules}
    return from_jobs(jobs, len(jobs), rules=SideConstraints(**rules))


@pytest.mark.parametrize(("jobs", "apart"), [(CROSSING, 10), (AROUND, 8)])
def test_swaps(jobs, apart):
    """Jobs that move around a cycle at one time need `swap`; without, they go one after the other."""
    length, together = jobs[0][0][0][1], jobs[0][0][0][1] + 2
    start = np.array([0, length] * len(jobs))
    machine = np.array([operation[0][0] for job in jobs for operation in job])
    assert objective(blocking(jobs, True), (start, machine)) == together
    with pytest.raises(Infeasible, match=f"exchange machines at {length}; accepted: moves to free machines"):
        objective(blocking(jobs, False), (start, machine))
    for swap, best in ((True, together), (False, apart)):
        for solver, limit in (("cp-sat", {"time_limit": 20}), ("annealing", {"iterations": 300})):
            assert corl.solve(blocking(jobs, swap), solver=solver, **limit).objective == best


def test_a_chain_of_moves_is_no_swap():
    """One job may come when another one leaves, and so on, as long as the first of them goes to a free machine."""
    chain = from_jobs([[[(0, 2)], [(1, 2)]], [[(1, 2)], [(2, 2)]]], 3, rules=SideConstraints(blocking=BLOCKING[:4]))
    assert objective(chain, (np.array([0, 2, 0, 2]), np.array([0, 1, 1, 2]))) == 4


def test_fixed_operations_that_block():
    """What stays on a machine rules out what is fixed there; `annealing` and `dispatch` refuse such instances by name."""
    fixed = {"fixed_start": np.array([0, 9, -1, 5]), "fixed_machine": np.array([0, 1, -1, 0])}
    instance = blocking(CROSSING, False, **fixed)
    assert "is fixed at 5; the job of operation 0 of job 0 stays on its machine until 9" in impossible(instance)
    possible = blocking(CROSSING, False, fixed_start=np.array([0, -1, -1, -1]), fixed_machine=np.array([0, -1, -1, -1]))
    assert corl.solve(possible, solver="cp-sat", time_limit=20).objective == 10
    assert choose(possible, 0.1, None) == "cp-sat"
    for solver in ("annealing", "dispatch"):
        with pytest.raises(UsageError, match="jobs that block their machines together with operations that are frozen"):
            corl.solve(possible, solver=solver, iterations=5)


def test_a_breakdown_interrupts():
    """A resumable operation that runs on the machine goes on after it, and what follows is free; another one starts again."""
    for resumable in (True, False):
        rules = SideConstraints(resumable=np.array([resumable] * 4))
        instance = from_jobs(CROSSING, 2, rules=rules)
        plan = Schedule(np.array([0, 3, 0, 3]), np.array([0, 1, 1, 0], np.int32))
        changed = reschedule(instance, plan, 2, down=[(0, 6)], frozen_until=4)
        assert changed.rules.fixed_start.tolist() == ([0, -1, 0, -1] if resumable else [-1, -1, 0, -1])
        result = corl.solve(changed, solver="cp-sat", time_limit=20)
        assert result.objective == (9 if resumable else 11)
        assert ends(changed, result.solution)[0] == (7 if resumable else 9)


@pytest.mark.parametrize("ask", ["calendars,resumable", "blocking", "calendars,families,resumable,swap"])
def test_pictures(ask):
    """Bars, and what lies in them or after them, are drawn and named; the scene has the same ends as the judge."""
    from matplotlib.figure import Figure

    instance = workshop(jobs=14, machines=3, ask=ask, seed=1)
    schedule = corl.solve(instance, solver="dispatch", iterations=3).solution
    axes = Figure().add_subplot()
    draw(instance, schedule, axes)
    draw(instance, None, Figure().add_subplot())
    legend = axes.get_xlabel()
    assert ("blocks its machine" in legend) == ("resumable" not in ask or "swap" in ask)
    assert ("an operation stops" in legend) == ("resumable" in ask)
    boxes = [box for box in scene(instance, schedule).boxes if box[5] >= 0]
    assert [start + length for start, _, length, *_ in boxes] == ends(instance, schedule).tolist()


def test_a_model_by_name():
    """The flags of jobs become those of operations; plans have the ends of the judge."""
    model = SchedulingModel(swap=True)
    model.add_job("a", [("saw", 3), ("mill", 2)], blocking=True, resumable=True)
    model.add_job("b", [("mill", 3), ("saw", 2)], blocking=True)
    model.set_unavailable("saw", 2, 4)
    rules = model.instance().rules
    assert rules.swap and rules.blocking.tolist() == [True, False] * 2 and rules.resumable.tolist() == [True] * 2 + [False] * 2
    plan = model.solve(solver="cp-sat", time_limit=20)
    assert plan.result.objective == 7 and [(each.start, each.end) for each in plan.job("a")] == [(0, 5), (5, 7)]
