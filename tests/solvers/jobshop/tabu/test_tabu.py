"""Tabu search: optimal on tiny instances, the same for the same seed, whatever the chunks."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.jobshop.generators import flexible, taillard, tardiness
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.run import Run
from corl.solvers.jobshop.tabu.solver import Tabu

KINDS = ("classic", "ragged", "reentrant", "zeros", "dates", "flexible", "tardiness", "flexible tardiness")


def solve(instance, iterations, seed=0, warm_start=None, workers=1, **options):
    run = Run(JobShop(), instance, iterations=iterations, seed=seed, warm_start=warm_start, workers=workers)
    run.start()
    Tabu(**options).solve(instance, run)
    return run


@settings(deadline=None, max_examples=40)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 10**6))
def test_tiny_instances_are_solved(random_instance, least, kind, seed):
    """Up to six operations the result is optimal, and the bound below it."""
    instance = random_instance(kind, 2, 3, seed)
    if instance.operations > 6:
        return
    run = solve(instance, 600, population=3, cut=30)
    assert run.objective == least(instance) >= run.bound


def test_six_by_six():
    """The 6 x 6 instance of Fisher and Thompson (1963), whose optimum is 55."""
    machines = ["201354", "124503", "235014", "102345", "214503", "135042"]
    times = ["1 3 6 7 3 6", "8 5 10 10 10 4", "5 4 8 9 1 7", "5 5 5 3 8 9", "9 3 5 4 3 1", "3 3 9 10 4 1"]
    rows = [[[pair] for pair in zip(map(int, m), map(int, t.split()))] for m, t in zip(machines, times)]
    assert solve(from_jobs(rows, 6), 3000).objective == 55.0


@pytest.mark.chance
def test_better_than_its_start():
    """On 15 x 15 a few thousand moves save a tenth of the best dispatching rule's makespan, at least."""
    run = solve(taillard(jobs=15, machines=15, time_seed=840612802, machine_seed=398197754), 5000)
    first = run.trace[0][1]
    assert run.bound == 1168 and run.objective <= 1290 < 0.9 * first * 1.05


def test_chunks_do_not_matter(monkeypatch):
    """The same iterations end in the same schedule, whatever the size of the chunks, through restarts and relinking."""
    instance, found = taillard(jobs=8, machines=6, seed=3), []
    budget = Run.budget
    for most in (1, 7, 10**6):
        monkeypatch.setattr(Run, "budget", lambda self, cap=10**6, m=most: budget(self, min(cap, m)))
        run = solve(instance, 1500, seed=4, population=3, cut=60)
        found.append((run.objective, run.solution.start.tolist(), [step[1] for step in run.trace][-1]))
        monkeypatch.undo()
    assert found[0] == found[1] == found[2]


def test_windows(monkeypatch):
    """In windows of a fifth of the operations: the same bits whatever the chunks, and an eighth less than the best rule gives."""
    instance, found = taillard(jobs=12, machines=10, seed=3), []
    budget = Run.budget
    for most in (7, 10**6):
        monkeypatch.setattr(Run, "budget", lambda self, cap=10**6, m=most: budget(self, min(cap, m)))
        run = solve(instance, 4000, seed=4, population=3, cut=40, window=24)
        found.append((run.objective, run.solution.start.tolist()))
        monkeypatch.undo()
    assert found[0] == found[1] and run.bound <= run.objective <= run.trace[0][1] * 7 / 8


def test_warm_starts_are_kept():
    """The search begins at the user's schedule: nothing worse is reported, and ties at time zero make no cycle."""
    instance = taillard(jobs=10, machines=8, seed=1)
    good = solve(instance, 3000).solution
    again = solve(instance, 1, warm_start=good)
    assert again.objective <= JobShop().evaluate(instance, good)
    later = good._replace(start=good.start + 10**12)
    assert solve(instance, 50, warm_start=later).objective <= again.objective


def test_zero_durations_and_one_machine():
    """Nothing to do at all, and a single machine, end at the bound."""
    idle = from_jobs([[[(0, 0)], [(1, 0)]], [[(1, 0)], [(0, 0)]]], 2)
    assert solve(idle, 50).objective == 0.0
    queue = from_jobs([[[(0, 3)]], [[(0, 4)]]], 1, release=[2, 0])
    run = solve(queue, 50)
    assert run.objective == run.bound == 7.0 and run.optimal


def test_refusals():
    """What it cannot do is refused by name; options out of range too."""
    assert "pairs" in Tabu().accepts(taillard(jobs=20_000, machines=1))
    jobs = 5000
    dates = {"due": [0] * jobs, "weight": [10**6] * jobs, "objective": "weighted_tardiness"}
    assert "beyond" in Tabu().accepts(from_jobs([[[(0, 2 * 10**5)]]] * jobs, 1, **dates))
    assert Tabu().accepts(from_jobs([[[(0, 2 * 10**4)]]] * jobs, 1, **dates)) == ""
    assert Tabu().accepts(taillard()) == ""
    for options in ({"population": -1}, {"cut": -1}, {"tenure": -1}):
        with pytest.raises(UsageError, match="accepted"):
            Tabu(**options)


def test_workers_with_iterations_share_nothing():
    """The same seed gives the same bits with three workers too, and nothing worse than the first of them alone."""
    instance = taillard(jobs=8, machines=6, seed=3)
    runs = [solve(instance, 1500, seed=4, population=3, cut=60, workers=workers) for workers in (1, 3, 3)]
    assert runs[1].solution.start.tolist() == runs[2].solution.start.tolist()
    assert runs[1].objective == runs[2].objective <= runs[0].objective


def test_workers_share_a_population():
    """With a target, one member of the team reaches it, through restarts from what all have found, and all end."""
    instance = taillard(jobs=6, machines=5, seed=2)
    best = solve(instance, 4000, population=3, cut=60).objective
    run = Run(JobShop(), instance, time_limit=600.0, target=best, workers=3)
    run.start()
    Tabu(population=3, cut=60).solve(instance, run)
    assert run.objective <= best and run.limit in ("target", "optimal")
    assert not any(thread.name.startswith("ThreadPool") for thread in threading.enumerate())


@pytest.mark.chance
@pytest.mark.parametrize("workers", [1, 2])
def test_flexible_ones_get_better(workers):
    """Reassignment saves a tenth of the best rule's makespan; the same seed gives the same bits; a warm start is kept."""
    instance = flexible(jobs=10, machines=6, seed=1)
    one, two = (solve(instance, 2500, population=2, cut=400, workers=workers) for _ in range(2))
    assert one.solution.start.tolist() == two.solution.start.tolist()
    assert one.bound <= one.objective <= 0.9 * one.trace[0][1]
    again = solve(instance, 1, warm_start=one.solution)
    assert again.objective <= one.objective


@pytest.mark.chance
@pytest.mark.parametrize(
    "instance",
    [tardiness(jobs=10, machines=6, seed=1), flexible(jobs=10, machines=6, tightness=1.0, seed=1)],
    ids=["classic", "flexible"],
)
def test_tardiness_gets_better(instance):
    """A quarter less than the best rule's weighted tardiness at least, and the same seed gives the same bits."""
    one, two = (solve(instance, 1500, population=3, cut=200) for _ in range(2))
    assert one.solution.start.tolist() == two.solution.start.tolist()
    assert one.bound <= one.objective <= 0.75 * one.trace[0][1]
    again = solve(instance, 1, warm_start=one.solution)
    assert again.objective <= one.objective
