"""Set-ups in tabu search: times are those of the judge, estimates are those of their definition, tiny instances are solved."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.jobshop.generators_rules import workshop
from corl.problems.jobshop.instance import Schedule, from_jobs
from corl.problems.jobshop.problem import JobShop
from corl.problems.jobshop.rules import SideConstraints
from corl.rng import random_state
from corl.run import Run
from corl.solvers.jobshop.tabu.exchange import FIRST, choose_exchange, exchange
from corl.solvers.jobshop.tabu.neighbourhood import ESTIMATE, LENGTH, choose_move, feasible, new_scan
from corl.solvers.jobshop.tabu.reassignment import OPERATION, _best_place, choices_of, choose_reassignment, reassign, take
from corl.solvers.jobshop.tabu.selection import new_selection, rebuild, set_sequence, shift, shop_of, update
from corl.solvers.jobshop.tabu.solver import Tabu
from corl.solvers.jobshop.tabu.tardiness_search import late_moves, swap, tardiness
from corl.solvers.jobshop.tabu.windows import longest_path, new_window, open_window, sort_order
from support.families.jobshop_rules import least_cost, make_rules

CLASSIC, FLEXIBLE = ("setups", "families"), ("flexible and setups",)
_INFINITY = 2**40

classic = given(name=st.sampled_from(CLASSIC), jobs=st.integers(4, 8), machines=st.integers(2, 4), seed=st.integers(0, 10**6))
chosen = given(name=st.sampled_from(FLEXIBLE), jobs=st.integers(4, 7), machines=st.integers(2, 4), seed=st.integers(0, 10**6))
any_shop = given(
    name=st.sampled_from(CLASSIC + FLEXIBLE), jobs=st.integers(4, 8), machines=st.integers(2, 4), seed=st.integers(0, 10**6)
)


def drawn(instance, seed):
    """A Shop with random choices taken, the Choices, and a random selection with its makespan."""
    random = np.random.default_rng(seed)
    shop, choices, selection = shop_of(instance), choices_of(instance), new_selection(shop_of(instance))
    take(shop, choices, random.integers(instance.choice_first[:-1], instance.choice_first[1:]).astype(np.int32))
    ahead = [np.sort(random.random(count)) for count in np.diff(instance.first)]  # an order that agrees with the jobs
    set_sequence(shop, np.argsort(np.concatenate(ahead)), selection.sequence)
    return shop, choices, selection, rebuild(shop, selection)


def whole(shop, selection):
    """A window that holds all operations of a selection that is built."""
    window = new_window(len(shop.last), len(shop.first) - 1)
    open_window(shop, selection, window, np.int64(0), np.int64(len(selection.order)))
    return window


def setup(instance, m, x, y):
    """The set-up of machine m between operations x and y, by the instance; an operation N is none."""
    rules, n = instance.rules, instance.operations
    if y >= n:
        return 0
    family = rules.families(instance)
    if x >= n:
        return 0 if rules.first_setups is None else int(rules.first_setups[m, family[y]])
    return int(rules.setups[m, family[x], family[y]])


def earliest_starts(instance, shop, selection):
    """The least starts that satisfy jobs, machines and set-ups, by raising starts until nothing is violated."""
    n, start = instance.operations, [0] * instance.operations
    lines = [selection.sequence[a:b].tolist() for a, b in pairwise(shop.first)]
    for _ in range(n + 1):
        before = list(start)
        for j, (a, b) in enumerate(pairwise(instance.first.tolist())):
            ready = int(instance.release[j])
            for i in range(a, b):
                start[i] = max(start[i], ready)
                ready = start[i] + int(shop.duration[i])
        for m, line in enumerate(lines):
            free, last = 0, n
            for i in line:
                start[i] = max(start[i], free + setup(instance, m, last, i))
                free, last = start[i] + int(shop.duration[i]), i
        if before == start:
            return start
    raise AssertionError("the orders contain a cycle")


def assert_right(instance, shop, selection, value):
    """The value, the times and the links are those of a new computation, which the judge and the definition confirm."""
    n, again = instance.operations, new_selection(shop)
    again.sequence[:] = selection.sequence
    assert rebuild(shop, again) == value
    for field in ("place", "machine_pred", "machine_succ", "end", "to_end"):
        assert getattr(selection, field).tolist() == getattr(again, field).tolist(), field
    start = selection.end[:n].astype(np.int64) - shop.duration
    assert start.tolist() == earliest_starts(instance, shop, selection)
    assert JobShop().evaluate(instance, Schedule(start, shop.machine.copy())) == value
    assert (start + selection.to_end[:n]).max() == value


@settings(deadline=None, max_examples=60)
@any_shop
def test_times_are_the_least(name, jobs, machines, seed):
    """Ends are the earliest, the judge confirms the makespan, and the longest paths to the sink close those from the source."""
    instance = make_rules(name, seed, jobs, machines, 9)
    shop, _, selection, value = drawn(instance, seed)
    assert_right(instance, shop, selection, value)


@settings(deadline=None, max_examples=60)
@classic
def test_moves_update_what_they_change(name, jobs, machines, seed):
    """After each of many moves within a machine, all times are those of a new computation."""
    instance = make_rules(name, seed, jobs, machines, 9)
    shop, _, selection, value = drawn(instance, seed)
    scan, window, random = new_scan(instance.operations), whole(shop, selection), random_state(seed)
    tabu = np.zeros(int(shop.pair[-1]), np.int32)
    for _ in range(25):
        a, b = choose_move(shop, selection, window, scan, tabu, 0, 0, value, random)
        if a < 0:
            break
        value = shift(shop, selection, window, a, b)
        assert_right(instance, shop, selection, value)


def estimate(instance, shop, selection, a, b):
    """The longest path through the places from a to b after the move, with the present times of all other operations."""
    end, to_end = selection.end, selection.to_end
    line = selection.sequence[min(a, b) : max(a, b) + 1].tolist()
    before, after = selection.machine_pred[line[0]], selection.machine_succ[line[-1]]
    line.insert(b - min(a, b), line.pop(a - min(a, b)))
    m, heads, tails = int(shop.machine[line[0]]), [], []
    free, last = int(end[before]), before
    for i in line:
        heads.append(max(int(end[shop.job_pred[i]]), free + setup(instance, m, last, i)))
        free, last = heads[-1] + int(shop.duration[i]), i
    rest, last = int(to_end[after]), after
    for i in reversed(line):
        tails.append(max(int(to_end[shop.job_succ[i]]), rest + setup(instance, m, i, last)) + int(shop.duration[i]))
        rest, last = tails[-1], i
    return max(head + tail for head, tail in zip(heads, reversed(tails)))


@settings(deadline=None, max_examples=60)
@classic
def test_the_best_move_is_chosen(name, jobs, machines, seed):
    """The smallest estimate of all moves within a block of the path, none of which is discarded too early.

    The estimate of a swap of neighbours is at most the makespan after it.
    """
    instance = make_rules(name, seed, jobs, machines, 9)
    shop, _, selection, value = drawn(instance, seed)
    scan, window, tabu = new_scan(instance.operations), whole(shop, selection), np.zeros(int(shop.pair[-1]), np.int32)
    choose_move(shop, selection, window, scan, tabu, 0, 0, value, random_state(seed))
    path = scan.path[: scan.found[LENGTH]].tolist()[::-1]
    ends = [selection.end[i] for i in path]
    assert ends == sorted(ends) and ends[-1] + selection.to_end[shop.job_succ[path[-1]]] == value
    blocks = [[path[0]]]
    for x, y in pairwise(path):
        if selection.machine_pred[y] == x:
            blocks[-1].append(y)
        else:
            blocks.append([y])
    found, least = {}, _INFINITY
    for block in blocks:
        places = [int(selection.place[i]) for i in block]
        for a, b in ((a, b) for a in places for b in places if a != b):
            forward = a < b
            links, times = (shop.job_succ, selection.to_end) if forward else (shop.job_pred, selection.end)
            if feasible(selection.sequence, links, times, shop.duration, a, b):
                found[a, b] = estimate(instance, shop, selection, a, b)
    least = min(found.values(), default=_INFINITY)
    assert scan.found[ESTIMATE] == least
    for (a, b), expected in found.items():
        other = new_selection(shop)
        other.sequence[:] = selection.sequence
        rebuild(shop, other)
        after = shift(shop, other, whole(shop, other), a, b)
        assert after > 0 and (abs(a - b) > 1 or expected <= after)


@settings(deadline=None, max_examples=60)
@chosen
def test_moves_to_other_machines_and_exchanges(name, jobs, machines, seed):
    """After each of many of them, all times are those of a new computation."""
    instance = make_rules(name, seed, jobs, machines, 9)
    shop, choices, selection, value = drawn(instance, seed)
    scan, window, random = new_scan(instance.operations), whole(shop, selection), random_state(seed)
    tabu = np.zeros(int(shop.pair[-1]), np.int32)
    for step in range(20):
        choose_move(shop, selection, window, scan, tabu, 0, 0, value, random)
        path, length = scan.path, scan.found[LENGTH]
        choose_reassignment(shop, selection, choices, path, length, 0, 0, 0, random)
        choose_exchange(shop, selection, choices, path, length, 0, _INFINITY, 0, 0, random)
        if step % 2 and choices.exchange[FIRST] >= 0:
            value = exchange(shop, selection, choices)
        elif choices.found[OPERATION] >= 0:
            v, c, to = choices.found[OPERATION : OPERATION + 3]
            value = update(shop, selection, window, *reassign(shop, selection, choices, np.uint32(v), np.int32(c), to))
        assert_right(instance, shop, selection, value)


@settings(deadline=None, max_examples=60)
@chosen
def test_no_place_is_better(name, jobs, machines, seed):
    """No place on another machine that its times prove free of cycles has a shorter path through the operation."""
    instance = make_rules(name, seed, jobs, machines, 9)
    shop, _, selection, _ = drawn(instance, seed)
    end, rest, p, n = selection.end, selection.to_end, shop.duration, instance.operations
    for v in range(n):
        x, y = int(shop.job_pred[v]), int(shop.job_succ[v])
        for m in np.delete(np.arange(instance.machines), shop.machine[v]):
            line = [n, *selection.sequence[shop.first[m] : shop.first[m + 1]].tolist(), n]
            lengths = {}
            for at, (i, k) in enumerate(pairwise(line)):
                late = i < n and y < n and (i == y or end[i] - p[i] >= end[y])
                early = k < n and x < n and (k == x or end[k] <= end[x] - p[x])
                if not late and not early:
                    head = max(end[x], end[i] + setup(instance, m, i, v))
                    lengths[at] = head + max(rest[y], rest[k] + setup(instance, m, v, k))
            around, to = _best_place(shop.setups, shop, selection, np.uint32(v), m, end[x], rest[y], random_state(seed))
            assert around == min(lengths.values()) == lengths[to - shop.first[m]]


@settings(deadline=None, max_examples=40)
@classic
def test_windows_are_exact(name, jobs, machines, seed):
    """In any window, the makespan of each move is that of a new computation."""
    instance = make_rules(name, seed, jobs, machines, 9)
    n, random = instance.operations, random_state(seed)
    shop, _, selection, value = drawn(instance, seed)
    again, scan, tabu = new_selection(shop), new_scan(n), np.zeros(int(shop.pair[-1]), np.int32)
    window = new_window(instance.jobs, instance.machines)
    sort_order(selection.order, selection.rank, selection.end[:n] - shop.duration)
    first, stop = sorted(int(k) for k in np.random.default_rng(seed).choice(n + 1, 2, replace=False))
    open_window(shop, selection, window, first, stop)
    assert longest_path(shop, selection, window) == value
    for _ in range(10):
        a, b = choose_move(shop, selection, window, scan, tabu, 0, 0, value, random)
        if a < 0:
            break
        value = shift(shop, selection, window, a, b)
        again.sequence[:] = selection.sequence
        assert rebuild(shop, again) == value


@settings(deadline=None, max_examples=40)
@given(jobs=st.integers(4, 7), machines=st.integers(2, 4), seed=st.integers(0, 10**6))
def test_swaps_of_late_jobs(jobs, machines, seed):
    """Each swap on a critical path of a late job has the tardiness that the judge finds, and a second swap undoes it."""
    instance = make_rules("setups and tardiness", seed, jobs, machines, 9)
    instance = replace(instance, due=np.zeros(jobs, np.int64))
    shop, choices, selection, _ = drawn(instance, seed)
    found, n, end = choices.moves, instance.operations, selection.end.copy()
    count = late_moves(shop, selection, choices, instance.due, found, random_state(seed))
    for i in [i for i in found[:count].tolist() if i < n]:
        at = int(selection.place[i]) - 1
        swap(shop, selection, at)
        start = selection.end[:n].astype(np.int64) - shop.duration
        assert start.tolist() == earliest_starts(instance, shop, selection)
        value = JobShop().evaluate(instance, Schedule(start, shop.machine.copy()))
        assert value == tardiness(shop.last, selection.end, instance.due, instance.weight)
        swap(shop, selection, at)
        assert (selection.end == end).all()


def solve(instance, iterations, warm_start=None, **options):
    run = Run(JobShop(), instance, iterations=iterations, seed=0, warm_start=warm_start)
    run.start()
    Tabu(**options).solve(instance, run)
    return run


@pytest.mark.parametrize("name", [*CLASSIC, *FLEXIBLE, "setups and tardiness"])
def test_tiny_instances_are_solved(name):
    """Up to five operations the result is the optimum by enumeration, and the bound is not above it."""
    for seed in range(12):
        instance = make_rules(name, seed)
        run = solve(instance, 600, population=3, cut=30)
        assert run.objective == least_cost(instance) >= run.bound


def test_windows_and_warm_starts():
    """Windows improve the first schedule, and a search from the best schedule reports nothing worse."""
    instance = workshop(jobs=12, machines=8, ask="setups", seed=3)
    run = solve(instance, 3000, population=3, cut=40, window=24)
    assert run.bound <= run.objective < run.trace[0][1]
    assert solve(instance, 1, warm_start=run.solution).objective <= run.objective


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"earliest": np.array([0, 3])}, "release times of operations"),
        ({"unavailable": np.array([[0, 3, 4]])}, "machine calendars"),
        ({"now": 2}, "a time that is now"),
        ({"capacity": np.array([1]), "demand": np.ones((2, 1), np.int64)}, "resources beside machines"),
    ],
)
def test_other_rules_are_refused_by_name(rule, words):
    """Set-ups alone are accepted; with another rule the refusal names that rule."""
    jobs, setups = [[[(0, 2)]], [[(0, 3)]]], np.ones((1, 2, 2), np.int64)
    assert Tabu().accepts(from_jobs(jobs, 1, rules=SideConstraints(setups=setups))) == ""
    assert Tabu().accepts(from_jobs(jobs, 1, rules=SideConstraints(setups=setups, **rule))) == f"it does not support {words}"


def test_earliness_is_refused():
    """Costs of ending early are refused, with set-ups and without."""
    jobs, setups = [[[(0, 2)]], [[(0, 3)]]], np.ones((1, 2, 2), np.int64)
    for rules in (SideConstraints(setups=setups), None):
        instance = from_jobs(jobs, 1, due=[5, 5], objective="earliness_tardiness", rules=rules)
        assert Tabu().accepts(instance) == "it does not support earliness"
