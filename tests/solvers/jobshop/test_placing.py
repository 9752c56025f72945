"""Placing units into gaps: what is built is feasible and worth what is claimed, with every rule; annealing finds small optima."""

from __future__ import annotations

import math

import numpy as np
import pytest

import corl
from corl.errors import UsageError
from corl.problems.jobshop.generators import flexible, taillard, tardiness
from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.rules import SideConstraints
from corl.rng import random_state
from corl.run import Run
from corl.solvers.jobshop.auto import choose
from corl.solvers.jobshop.dispatch.dispatcher import Dispatcher
from corl.solvers.jobshop.dispatch.rules import RULES, rules_for
from corl.solvers.jobshop.dispatch.solver import Dispatch
from corl.solvers.jobshop.placing import placer
from corl.solvers.jobshop.placing.building import MISSING, decode
from corl.solvers.jobshop.placing.placer import Annealing, Placer
from corl.solvers.jobshop.placing.shop import unsupported
from corl.solvers.jobshop.placing.solver import JobShopAnnealing
from support.families import jobshop_rules as cases

EVERYTHING = "setups,calendars,breakdown,nowait,running,releases,choices,windows"


def solved(instance, iterations, seed=0):
    run = Run(JobShop(), instance, iterations=iterations, seed=seed)
    run.start()
    JobShopAnnealing().solve(instance, run)
    return run


@pytest.mark.parametrize("name", cases.RULES)
def test_small_instances_are_solved_to_the_optimum(name):
    """Three seeds each; where there is no solution, none is reported."""
    missed = 0
    for seed in range(3):
        instance = cases.make_rules(name, seed)
        if unsupported(instance):
            continue
        best, run = cases.least_cost(instance), solved(instance, 3000)
        if best == math.inf:
            assert run.solution is None
        else:
            assert run.objective >= best
            missed += run.objective > best
    several = 1 + ("windows" in name and ("resumable" in name or "blocking" in name))
    assert missed <= several * (
        "wait" in name or "earliness" in name or "windows" in name
    )  # sequences alone do not hold all of these


@pytest.mark.parametrize("name", cases.RULES)
def test_what_is_built_is_feasible_and_worth_what_is_claimed(name):
    """Eight jobs: every dispatching rule, both kinds of schedules, and random orders."""
    built = 0
    for seed in range(4):
        instance = cases.make_rules(name, seed, jobs=8, machines=3, longest=9)
        if unsupported(instance):
            continue
        placer, random = Placer(instance), np.random.default_rng(seed)
        if not placer.possible:
            continue
        order = placer.sequence.copy()
        for rule in rules_for(instance):
            for active in (False, True):
                value = placer.dispatch(rule, 0.1, active, random_state(seed))
                if value < np.inf:
                    built += 1
                    assert JobShop().evaluate(instance, placer.schedule()) == value
                    again = decode(placer.shop, placer.base, placer.plan, placer.fixed, placer.sequence, placer.greedy)
                    assert again == value
        for _ in range(10):
            sequence = random.permutation(order)
            value = decode(placer.shop, placer.base, placer.plan, placer.fixed, sequence, placer.greedy)
            if value < MISSING:
                built += 1
                assert JobShop().evaluate(instance, placer.schedule()) == value
    assert built > 20 or ("blocking" in name and "frozen" in name)


@pytest.mark.parametrize("make", [taillard, tardiness, flexible])
def test_instances_without_rules(make):
    """They are a special case: annealing takes them, and is feasible."""
    instance = make(jobs=6, machines=4, seed=1)
    assert solved(instance, 2000).objective <= corl.solve(instance, solver="dispatch", iterations=10).objective


def test_chunks_do_not_change_the_trajectory():
    """So many changes at once or one by one: the same bits; another seed, others."""
    instance = workshop(jobs=8, machines=4, ask=EVERYTHING, seed=1)
    found = []
    for chunk, seed in ((400, 1), (7, 1), (400, 2)):
        placer = Placer(instance)
        placer.dispatch(2, 0.0, False, random_state(0))
        search, done = Annealing(placer, placer.greedy, seed), 0
        while done < 400:
            search.step(min(chunk, 400 - done))
            done += chunk
        found.append((search.value, search.schedule().start.tolist()))
    assert found[0] == found[1] != found[2]


def test_setups_choose_the_machine_before_what_is_fixed():
    """Without waiting, the machine that is named first leaves no time for a set-up: the other one is taken."""
    setups = np.zeros((2, 2, 2), int)
    setups[0, 0, 1] = 2
    rules = SideConstraints(
        no_wait=np.array([False, True]), family=np.array([0, 1]), setups=setups,
        fixed_start=np.array([-1, 5]), fixed_machine=np.array([-1, 0]),
    )  # fmt: skip
    run = solved(from_jobs([[[(0, 1), (1, 1)], [(0, 2)]]], 2, rules=rules), 10)
    assert run.solution.start.tolist() == [4, 5] and run.solution.machine.tolist() == [1, 0]


def test_a_warm_start_is_followed():
    """The order is that of the user's schedule, with its machines, so that the search begins there or better."""
    instance = workshop(jobs=10, machines=5, ask="families,choices,tardiness", seed=3)
    first = solved(instance, 4000, seed=1)
    placer = Placer(instance)
    requested = placer.adopt_order(first.solution)
    assert (placer.shop.machine[requested] == first.solution.machine).all()
    assert decode(placer.shop, placer.base, placer.plan, placer.fixed, placer.sequence, requested) <= 1.2 * first.objective
    again = corl.solve(instance, solver="annealing", iterations=10, warm_start=first.solution)
    assert again.objective <= first.objective


def test_dispatching_with_rules():
    """Rules that make sense are tried, others are refused; noise goes on; what does not fit is not reported."""
    instance = workshop(jobs=10, machines=5, ask=EVERYTHING, seed=1)
    run = Run(JobShop(), instance, iterations=100)
    Dispatch(noise=0.3).solve(instance, run)
    plain = min(Dispatcher(instance).run(rule, 0.0, random_state(0)) for rule in range(len(RULES)))
    assert run.objective <= plain
    assert "due dates" in Dispatch(rule="edd").accepts(workshop(ask="setups"))


@pytest.mark.parametrize("ask", ["setups", "calendars", "windows"])
def test_who_takes_rules(ask):
    """`auto` chooses one that does; the others refuse by name."""
    small, middling, large = (workshop(jobs=jobs, machines=5, ask=ask) for jobs in (3, 30, 80))
    search = "tabu" if ask == "setups" else "annealing"
    assert choose(small, 10.0, None) == "cp-sat" and choose(large, 10.0, None) == choose(small, None, 100) == search
    assert choose(middling, 5.0, None) == search and choose(middling, 10.0, None) == ("tabu" if ask == "setups" else "cp-sat")
    for solver in ("slim", "cp-agent"):
        with pytest.raises(UsageError, match="it does not support"):
            corl.solve(small, solver=solver, iterations=10)
    for name in JobShop.environments:
        if name == "floor" and ask != "windows":
            assert len(JobShop().environment([small], 1, name=name).actions([0])) == 1
            continue
        with pytest.raises(UsageError, match="does not support"):
            JobShop().environment([small], 1, name=name)


def test_grants_do_not_change_annealing():
    """One change at a time, or all at once: the same schedule, across the tries before a cooling."""
    instance, found = workshop(jobs=6, machines=3, ask="setups,choices", seed=3), []
    for grants in ([1] * 300, [7, 93, 150, 50], [300]):
        made = Placer(instance)
        made.order_by_heads()
        search = Annealing(made, made.greedy, 5)
        for units in grants:
            search.step(units)
        found.append((search.value, search.schedule().start.tolist()))
    assert found[0] == found[1] == found[2]


def test_dispatching_stops(monkeypatch):
    """Dispatching ends unfinished when the run is over; otherwise the number of units placed between two checks has no effect."""
    instance = workshop(jobs=40, machines=12, ask="setups")
    checks = []
    assert Placer(instance).dispatch(0, 0.0, False, random_state(0), lambda: checks.append(0) or True) == math.inf
    whole = Placer(instance).dispatch(0, 0.0, False, random_state(0))
    monkeypatch.setattr(placer, "_UNITS_PER_CHECK", 7)
    assert len(checks) == 1 and Placer(instance).dispatch(0, 0.0, False, random_state(0)) == whole < math.inf
