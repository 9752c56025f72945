"""Moves to other machines and exchanges: what they update is what a new computation gives, the chosen one is the best."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.jobshop.evaluation import schedule_of_orders
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.solvers.jobshop.tabu.exchange import ESTIMATE, FIRST, FIRST_CHOICE, SECOND, SECOND_CHOICE, choose_exchange, exchange
from corl.solvers.jobshop.tabu.neighbourhood import LENGTH, choose_move, new_scan
from corl.solvers.jobshop.tabu.reassignment import OPERATION, _best_place, choices_of, choose_reassignment, reassign, take
from corl.solvers.jobshop.tabu.selection import new_selection, rebuild, set_sequence, shop_of, update
from corl.solvers.jobshop.tabu.tardiness_search import _other_choice, _random_place, late_moves, move, tardiness
from corl.solvers.jobshop.tabu.windows import new_window, open_window

KINDS = ("flexible", "flexible tardiness")  # the latter with durations of zero
shapes = given(kind=st.sampled_from(KINDS), jobs=st.integers(1, 7), machines=st.integers(2, 5), seed=st.integers(0, 10**6))

pairs = given(kind=st.sampled_from(KINDS), jobs=st.integers(2, 7), machines=st.integers(2, 5), seed=st.integers(0, 10**6))
_INFINITY = 2**40


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


def schedule_in(instance, shop, choices, selection):
    """The judge's schedule of the orders, which are on the machines that the choices say."""
    schedule = schedule_of_orders(instance, [selection.sequence[a:b] for a, b in pairwise(shop.first)])
    assert schedule.machine.tolist() == instance.choice_machine[choices.taken].tolist() == shop.machine.tolist()
    assert instance.choice_duration[choices.taken].tolist() == shop.duration.tolist()
    return schedule


def assert_right(shop, selection):
    """Links and times are those of a new computation, and the order is topological."""
    anew, n = new_selection(shop), len(selection.order)
    anew.sequence[:] = selection.sequence
    value = rebuild(shop, anew)
    for field in ("place", "machine_pred", "machine_succ", "end"):
        assert getattr(selection, field).tolist() == getattr(anew, field).tolist(), field
    assert selection.rank[selection.order].tolist() == list(range(n)) and not selection.marked.any()
    for i in range(n):
        for x in (shop.job_pred[i], selection.machine_pred[i]):
            assert x >= n or selection.rank[x] < selection.rank[i]
    return value, anew.to_end.tolist()


@settings(deadline=None, max_examples=80)
@shapes
def test_moves_update_what_they_change(random_instance, kind, jobs, machines, seed):
    """After each of many moves: the schedule is the judge's, all times and links are those of a new computation."""
    instance = random_instance(kind, jobs, machines, seed)
    shop, choices, selection, value = drawn(instance, seed)
    scan, random, window = new_scan(instance.operations), random_state(seed), whole(shop, selection)
    tabu = np.zeros(int(shop.pair[-1]), np.int32)
    for _ in range(40):
        choose_move(shop, selection, window, scan, tabu, 0, 0, value, random)
        choose_reassignment(shop, selection, choices, scan.path, scan.found[LENGTH], 2, 0, 0, random)
        if choices.found[OPERATION] < 0:
            break
        v, c, to = choices.found[OPERATION : OPERATION + 3]
        value = update(shop, selection, window, *reassign(shop, selection, choices, np.uint32(v), np.int32(c), to))
        assert choices.taken[v] == c
        assert (value, selection.to_end.tolist()) == assert_right(shop, selection)
        schedule = schedule_in(instance, shop, choices, selection)
        assert schedule.start.tolist() == (selection.end[: instance.operations] - shop.duration).tolist()


@settings(deadline=None, max_examples=80)
@shapes
def test_no_place_is_better(random_instance, kind, jobs, machines, seed):
    """The one that is found is the least of all places of a machine, by the heads and tails of the schedule."""
    instance = random_instance(kind, jobs, machines, seed)
    shop, _, selection, _ = drawn(instance, seed)
    end, rest, n = selection.end, selection.to_end, instance.operations
    for v in range(n):
        head, tail = end[shop.job_pred[v]], rest[shop.job_succ[v]]
        for m in np.delete(np.arange(instance.machines), shop.machine[v]):
            line = [n, *selection.sequence[shop.first[m] : shop.first[m + 1]].tolist(), n]
            places = [max(end[x], head) + max(rest[y], tail) for x, y in pairwise(line)]
            around, to = _best_place(None, shop, selection, np.uint32(v), m, head, tail, random_state(seed))
            assert around == min(places) == places[to - shop.first[m]]


@settings(deadline=None, max_examples=80)
@shapes
def test_moves_are_undone(random_instance, kind, jobs, machines, seed):
    """Moves for the tardiness: worth what the judge says, with the right ends; the move back restores them."""
    instance = random_instance(kind, jobs, machines, seed)
    due, weight = np.random.default_rng(seed).integers(0, 40, jobs), np.random.default_rng(seed).integers(0, 5, jobs)
    late = type(instance)(**{**vars(instance), "due": due, "weight": weight, "objective": "weighted_tardiness"})
    shop, choices, selection, _ = drawn(late, seed)
    found, n, random = choices.moves, late.operations, random_state(seed)
    moves = found[: late_moves(shop, selection, choices, due, found, random)].tolist()
    taken, sequence, end = choices.taken.copy(), selection.sequence.copy(), selection.end.copy()
    for v in (np.uint32(entry - n) for entry in moves if entry >= n):
        c, place = _other_choice(choices, v, random), int(selection.place[v])
        to = _random_place(shop, selection, v, choices.machine[c], random)
        if to < 0:
            continue
        move(shop, selection, choices, v, c, to)
        assert choices.taken[v] == c != taken[v]
        assert_right(shop, selection)
        schedule = schedule_in(late, shop, choices, selection)
        assert JobShop().evaluate(late, schedule) == tardiness(shop.last, selection.end, due, weight)
        move(shop, selection, choices, v, taken[v], place + (selection.place[v] < place))
        assert (choices.taken == taken).all() and (selection.sequence == sequence).all() and (selection.end == end).all()


def test_what_moved_stays_for_a_while(random_instance):
    """An operation that must not move is left, unless there is no other, or its move would be the best of all."""
    instance = random_instance("flexible", 6, 4, 1)
    shop, choices, selection, value = drawn(instance, 1)
    scan, random, window = new_scan(instance.operations), random_state(0), whole(shop, selection)
    choose_move(shop, selection, window, scan, np.zeros(int(shop.pair[-1]), np.int32), 0, 0, value, random)
    free = (shop, selection, choices, scan.path, scan.found[LENGTH], 0, 5)
    choose_reassignment(*free, 0, random)
    first = int(choices.found[OPERATION])
    choices.tabu[first] = 9
    choose_reassignment(*free, 0, random)
    assert int(choices.found[OPERATION]) not in (-1, first)
    choose_reassignment(*free, 10**6, random)
    assert int(choices.found[OPERATION]) == first
    choices.tabu[:] = 9
    choose_reassignment(*free, 0, random)
    assert int(choices.found[OPERATION]) == -1 and choices.found[OPERATION + 4] > 0


def critical_path(shop, selection, value, random):
    """The operations of a critical path."""
    scan, tabu = new_scan(len(selection.order)), np.zeros(int(shop.pair[-1]), np.int32)
    choose_move(shop, selection, whole(shop, selection), scan, tabu, 0, 0, value, random)
    return scan.path[: scan.found[LENGTH]].copy()


def estimates(shop, selection, choices, path, weight):
    """The estimates of all allowed exchanges of an operation of `path`, by (operation, operation), from their definition."""
    n, end, tail, found = len(shop.duration), selection.end, selection.to_end, {}
    for v in path.tolist():
        for w in range(n):
            on = [{int(choices.machine[c]): c for c in range(choices.first[i], choices.first[i + 1])} for i in (v, w)]
            if shop.machine[w] == shop.machine[v] or shop.machine[w] not in on[0] or shop.machine[v] not in on[1]:
                continue
            after = selection.machine_succ[w]
            if w in (shop.job_pred[v], shop.job_succ[v]) or (after < n and end[after] <= end[shop.job_pred[v]]):
                continue
            taken, longest, fits, added = (on[0][int(shop.machine[w])], on[1][int(shop.machine[v])]), 0, True, 0
            for i, place, c in ((v, w, taken[0]), (w, v, taken[1])):
                before, after = (
                    (shop.job_pred[i], selection.machine_pred[place]),
                    (shop.job_succ[i], selection.machine_succ[place]),
                )
                path_length = max(end[x] for x in before) + choices.duration[c] + max(tail[y] for y in after)
                longest, added = max(longest, int(path_length)), added + int(choices.duration[c] - shop.duration[i])
                starts = [[int(end[x] - shop.duration[x]) for x in group if x < n] for group in (before, after)]
                fits &= max(starts[0], default=-1) < min(starts[1], default=_INFINITY)
            if fits:
                found[v, w] = longest + added * weight // 2
    return found


@settings(deadline=None, max_examples=80)
@pairs
def test_exchanges_are_schedules(random_instance, kind, jobs, machines, seed):
    """After each of many exchanges, the judge confirms the schedule and its makespan, and two operations changed machines."""
    instance = random_instance(kind, jobs, machines, seed)
    instance = type(instance)(**{**vars(instance), "due": None, "objective": "makespan"})
    shop, choices, selection, value = drawn(instance, seed)
    random = random_state(seed)
    for _ in range(20):
        path, before = critical_path(shop, selection, value, random), choices.taken.copy()
        choose_exchange(shop, selection, choices, path, len(path), 1, _INFINITY, 0, 0, random)
        if choices.exchange[FIRST] < 0:
            break
        value = exchange(shop, selection, choices)
        assert (value, selection.to_end.tolist()) == assert_right(shop, selection)
        assert JobShop().evaluate(instance, schedule_in(instance, shop, choices, selection)) == value
        v, c, w, d = choices.exchange[[FIRST, FIRST_CHOICE, SECOND, SECOND_CHOICE]]
        assert sorted(np.flatnonzero(choices.taken != before)) == sorted((v, w))
        assert (choices.taken[v], choices.taken[w]) == (c, d)


@settings(deadline=None, max_examples=80)
@pairs
def test_the_best_exchange_is_chosen(random_instance, kind, jobs, machines, seed):
    """Without a weight, the chosen exchange has the smallest estimate of all that the definition allows."""
    instance = random_instance(kind, jobs, machines, seed)
    shop, choices, selection, value = drawn(instance, seed)
    random = random_state(seed)
    path = critical_path(shop, selection, value, random)
    expected = estimates(shop, selection, choices, path, 0)
    choose_exchange(shop, selection, choices, path, len(path), 0, _INFINITY, 0, 0, random)
    if not expected:
        assert choices.exchange[FIRST] < 0
    else:
        best, pair = min(expected.values()), (int(choices.exchange[FIRST]), int(choices.exchange[SECOND]))
        assert choices.exchange[ESTIMATE] == best == expected[pair]


def test_tabu_operations_are_not_exchanged(random_instance):
    """An exchange of a tabu operation is not chosen, unless its estimate is below the best makespan."""
    instance = random_instance("flexible", 7, 4, 3)
    shop, choices, selection, value = drawn(instance, 3)
    random = random_state(0)
    path = critical_path(shop, selection, value, random)
    free = (shop, selection, choices, path, len(path), 0, _INFINITY, 5)
    choose_exchange(*free, 0, random)
    first = int(choices.exchange[FIRST])
    assert first >= 0
    choices.tabu[:] = 9
    choose_exchange(*free, 0, random)
    assert int(choices.exchange[FIRST]) < 0
    choose_exchange(*free, 10**6, random)
    assert int(choices.exchange[FIRST]) >= 0
