"""Swaps for the weighted tardiness: the pairs are critical for a late job, a swap is what a new computation gives, and undone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.jobshop.evaluation import schedule_of_orders
from corl.problems.jobshop.problem import JobShop
from corl.rng import random_state
from corl.solvers.jobshop.tabu.reassignment import choices_of
from corl.solvers.jobshop.tabu.selection import new_selection, rebuild, set_sequence, shop_of
from corl.solvers.jobshop.tabu.tardiness_search import late_moves, swap, tardiness


def selection_of(instance, seed):
    """A random selection: a random order of all operations that agrees with the jobs, dealt to the machines."""
    shop, done, order = shop_of(instance), dict.fromkeys(range(instance.jobs), 0), []
    for j in np.random.default_rng(seed).permutation(instance.job).tolist():
        order.append(int(instance.first[j]) + done[j])
        done[j] += 1
    selection = new_selection(shop)
    set_sequence(shop, np.array(order), selection.sequence)
    rebuild(shop, selection)
    return shop, selection


def value_of(instance, shop, sequence):
    """The judge's."""
    orders = [sequence[a:b] for a, b in zip(shop.first[:-1], shop.first[1:])]
    schedule = schedule_of_orders(instance, orders)
    return JobShop().evaluate(instance, schedule), schedule.start.tolist()


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(("tardiness", "zeros", "reentrant")),
    jobs=st.integers(1, 7),
    machines=st.integers(1, 4),
    seed=st.integers(0, 10**6),
)
def test_swaps(random_instance, kind, jobs, machines, seed):
    """Every pair found can be swapped: the orders make no cycle, ends and worth are the judge's; a second swap undoes it."""
    instance = random_instance(kind, jobs, machines, seed)
    due = np.random.default_rng(seed).integers(0, 40, instance.jobs)
    weight = np.random.default_rng(seed).integers(0, 5, instance.jobs)
    late = type(instance)(**{**vars(instance), "due": due, "weight": weight, "objective": "weighted_tardiness"})
    shop, selection = selection_of(late, seed)
    found, n, choices = np.zeros(2 * late.operations, np.uint32), late.operations, choices_of(late)
    assert tardiness(shop.last, selection.end, due, weight) == value_of(late, shop, selection.sequence)[0]
    count, sequence, end = (
        late_moves(shop, selection, choices, due, found, random_state(seed)),
        selection.sequence.copy(),
        selection.end.copy(),
    )
    for i in found[:count].tolist():
        at = int(selection.place[i]) - 1
        before = int(sequence[at])
        assert shop.machine[before] == shop.machine[i] and end[before] == end[i] - shop.duration[i]
        swap(shop, selection, at)
        assert selection.sequence[at : at + 2].tolist() == [i, before]
        value, start = value_of(late, shop, selection.sequence)
        assert (selection.end[:n] - shop.duration).tolist() == start
        assert tardiness(shop.last, selection.end, due, weight) == value
        swap(shop, selection, at)
        assert (selection.sequence == sequence).all() and (selection.end == end).all()
    assert not selection.marked.any()


def test_only_late_jobs_count(random_instance):
    """Jobs that are on time give no pairs, and there is nothing to do."""
    instance = random_instance("classic", 6, 4, 1)
    shop, selection = selection_of(instance, 1)
    found, choices = np.zeros(2 * instance.operations, np.uint32), choices_of(instance)
    assert late_moves(shop, selection, choices, np.full(6, 10**6), found, random_state(0)) == 0
    assert late_moves(shop, selection, choices, np.zeros(6, np.int64), found, random_state(0)) > 0
