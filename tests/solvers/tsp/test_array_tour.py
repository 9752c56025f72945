"""An array tour: changes are what was asked for, and undoing restores the array bit for bit."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.tsp.evaluation import objective
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.solvers.tsp.tours.array_tour import array_tour, forget, log_is_full, rearrange, reverse_path, set_order, undo
from corl.solvers.tsp.tours.city_queue import city_queue, clear, enqueue, next_in_queue
from corl.solvers.tsp.tours.double_bridge import bridge_cost, bridge_ends, exchange


def _is_tour(tour):
    cities = np.arange(len(tour.order))
    return (np.sort(tour.order) == cities).all() and (tour.order[tour.position] == cities).all()


@given(st.integers(4, 40), st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=80, deadline=None)
def test_a_reversed_path_is_the_path_backwards(n, seed, changes):
    """In the direction asked for, whichever side of the tour is turned in the array; undoing restores it."""
    rng = np.random.default_rng(seed)
    tour = array_tour(n)
    set_order(tour, rng.permutation(n).astype(np.int32))
    before, forward = tour.order.copy(), True
    for _ in range(changes):
        order = tour.order if forward else tour.order[::-1]
        i, size = int(rng.integers(n)), int(rng.integers(1, n))
        rolled = np.roll(order, -i)
        expected = np.concatenate((rolled[:size][::-1], rolled[size:]))
        forward = reverse_path(tour, rolled[0], rolled[size - 1], forward)
        found = tour.order if forward else tour.order[::-1]
        at = int(np.flatnonzero(found == expected[0])[0])
        assert (np.roll(found, -at) == expected).all() and _is_tour(tour)
    undo(tour, 0)
    assert (tour.order == before).all() and _is_tour(tour)


@given(st.integers(4, 40), st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_pieces_are_written_in_their_new_order(n, seed, changes):
    """Round the end of the array too, a single piece turned round; undoing to a mark takes back what came after it."""
    rng = np.random.default_rng(seed)
    tour = array_tour(n, 5)
    orders, marks = [tour.order.copy()], [0]
    for _ in range(changes):
        count = int(rng.integers(1, 4))
        cuts = np.sort(rng.choice(np.arange(n + 1), count + 1, replace=False))
        sizes, ranks = np.diff(cuts), rng.permutation(count)
        tour.pieces[:count, 0], tour.pieces[:count, 1] = (cuts[:count] - cuts[0])[ranks], sizes[ranks]
        tour.pieces[:count, 2] = rng.random(count) < 0.5 if count > 1 else 1
        given_pieces, start = tour.pieces[:count].copy(), int(rng.integers(n))
        old = np.roll(tour.order, -start)
        rearrange(tour, start, count)
        pieces = [old[o : o + s][:: -1 if r else 1] for o, s, r in given_pieces]
        assert (np.roll(tour.order, -start) == np.concatenate([*pieces, old[sizes.sum() :]])).all()
        orders.append(tour.order.copy())
        marks.append(int(tour.logged[0]))
    for order, mark in zip(orders[::-1], marks[::-1]):
        undo(tour, mark)
        assert (tour.order == order).all() and _is_tour(tour)


def test_a_full_log_says_so_in_time():
    """A rearrangement of all pieces always fits as long as the log is not full; forgetting empties it."""
    tour = array_tour(30, 3)
    while not log_is_full(tour, 0):
        exchange(tour, 3, 1, 2, 3)
    assert len(tour.log) - 11 < tour.logged[0] <= len(tour.log)
    forget(tour)
    assert not log_is_full(tour, 100)


@pytest.mark.parametrize("n", [8, 20])
def test_the_double_bridge_costs_what_it_says(n):
    """A B C D becomes A D C B at every place, round the end too; its cost is the difference of the lengths."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(1).random((n, 2)))
    metric, ends = metric_of(instance), np.empty(8, np.int32)
    for start, b, c, d in itertools.product(range(n), (1, 2), (1, 2), (1, 3)):
        tour = array_tour(n, 3)
        old = np.roll(tour.order, -start)
        bridge_ends(tour.order, start, b, c, d, ends)
        exchange(tour, start, b, c, d)
        stretches = np.split(old, np.cumsum([b, c, d]))
        assert (np.roll(tour.order, -start) == np.concatenate([stretches[k] for k in (2, 1, 0, 3)])).all()
        assert ends.tolist() == [old[-1], *(stretch[k] for stretch in stretches[:3] for k in (0, -1)), old[b + c + d]]
        assert bridge_cost(metric, ends) == pytest.approx(objective(instance, tour.order) - objective(instance, np.arange(n)))


@given(st.integers(1, 9), st.lists(st.integers(-1, 8), max_size=60))
@settings(deadline=None)
def test_the_queue_is_first_in_first_out(n, calls):
    """Beside a list of its own: each city at most once, in the order in which they came; -1 takes the first out."""
    queue, model = city_queue(n), []
    for call in calls:
        if call < 0:
            if model:
                assert next_in_queue(queue) == model.pop(0)
        elif call < n:
            enqueue(queue, call)
            model += [call] * (call not in model)
        assert queue.ring[1] == len(model) and set(np.flatnonzero(queue.queued)) == set(model)
    clear(queue)
    assert queue.ring[1] == 0 and not queue.queued.any()
