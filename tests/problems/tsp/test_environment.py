"""The TSP as a decision process: the k nearest cities are listed, and equal reduced states look the same."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.tsp.assignment import assignment_of
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.evaluation import edge_lengths
from corl.problems.tsp.instance import EDGE_WEIGHT_TYPES
from corl.problems.tsp.problem import Tsp

KINDS = (*EDGE_WEIGHT_TYPES, "ATSP")
TSP = Tsp()


def unvisited(environment, row):
    """The cities that a row may go to, by the state."""
    state = environment.state
    n = state.graphs.size[state.instance[row]]
    return sorted(state.order[row, state.visited[row] : n].tolist())


def distances(instance, origin, cities):
    """From one city to some, by the judge."""
    return edge_lengths(instance, np.full(len(cities), origin), np.asarray(cities))


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(2, 40),
    nearest=st.integers(1, 12),
    seed=st.integers(0, 999),
    played=st.integers(0, 39),
)
def test_actions_are_the_nearest(random_instance, kind, n, nearest, seed, played):
    """The K nearest unvisited cities are listed, nearest first, however many of the neighbour list are gone."""
    instance = random_instance(kind, n, seed)
    environment = TspEnvironment([instance], 1, nearest)
    random = np.random.default_rng(seed)
    environment.reset([0], [0])
    for _ in range(min(played, n - 2)):
        options = unvisited(environment, 0)
        environment.step([0], [0], [options[0] if random.random() < 0.5 else random.choice(options)])
    origin = environment.state.order[0, environment.state.visited[0] - 1]
    rest = unvisited(environment, 0)
    (listed,) = environment.actions([0])
    listed = listed[listed >= 0]
    assert len(set(listed)) == len(listed) == min(nearest, len(rest)) and set(listed) <= set(rest)
    found, all_of_them = distances(instance, origin, listed), distances(instance, origin, rest)
    if instance.matrix is not None and n > 1:  # by reduced cost
        prices = assignment_of(instance.matrix).into
        found, all_of_them = found - prices[listed], all_of_them - prices[rest]
    all_of_them.sort()
    assert np.allclose(found, all_of_them[: len(found)], rtol=1e-12, atol=1.0 if kind == "GEO" else 1e-9)


def test_start_city_is_by_key(random_instance):
    """Without keys tours start at city 0, with keys at key % n: as many starts as there are keys."""
    environment = TspEnvironment([random_instance("EUC_2D", 5, 1)], 7)
    environment.reset(range(7), 0)
    assert environment.state.order[:, 0].tolist() == [0] * 7
    environment.reset(range(7), 0, np.arange(7))
    assert environment.state.order[:, 0].tolist() == [0, 1, 2, 3, 4, 0, 1]


def test_observation(random_instance):
    """Slots are the actions, then origin and destination; coordinates and distance blocks are those of the slots' cities."""
    instances = [random_instance("EXACT_2D", 7, 1), random_instance("ATSP", 5, 2)]
    environment = TspEnvironment(instances, 2, width=3)
    environment.reset([0, 1], [0, 1])
    environment.step([0, 1], [0, 1], [2, 4])
    seen, actions = environment.observe([0, 1]), environment.actions([0, 1])
    assert np.array_equal(seen["cities"][:, :3], actions)
    assert seen["cities"][:, 3].tolist() == [2, 4] and seen["cities"][:, 4].tolist() == [0, 0]
    assert np.array_equal(seen["mask"], seen["cities"] >= 0) and seen["remaining"].tolist() == [5, 3]
    assert np.array_equal(seen["coordinates"][0, :, :2], instances[0].points[seen["cities"][0]])
    assert not seen["coordinates"][1].any() and not seen["distances"][0].any()
    cities = seen["cities"][1]
    assert np.array_equal(seen["distances"][1], instances[1].matrix[np.ix_(cities, cities)])


def test_observation_of_the_end(random_instance):
    """At the end only origin and destination are left; where all instances are planar there is no distance block."""
    environment = TspEnvironment([random_instance("EUC_2D", 4, 1)], 1)
    environment.reset([0], [0])
    for city in (1, 3, 2):
        environment.step([0], [0], [city])
    seen = environment.observe([0])
    assert seen["mask"].tolist() == [[False, False, False, True, True]] and seen["remaining"].tolist() == [0]
    assert "distances" not in seen and not seen["coordinates"][0, :3].any()
    assert environment.solution(0).tolist() == [0, 1, 3, 2]


def test_equal_reduced_states_look_the_same(random_instance):
    """Two partial tours with the same ends and the same cities left, reached by other ways, have the same observation (BQ)."""
    environment = TspEnvironment([random_instance("EXACT_2D", 20, 1)], 2, width=6)
    environment.reset([0, 1], 0)
    for pair in zip((5, 9, 12, 3), (12, 5, 9, 3)):
        environment.step([0, 1], [0, 1], pair)
    a, b = environment.observe([0]), environment.observe([1])
    assert all(np.array_equal(a[key], b[key]) for key in a)


def test_coordinates_need_no_matrix():
    """The pool of a large planar instance takes memory in proportion to its cities."""
    instance = TSP.generators["uniform"](size=20_000)
    environment = TspEnvironment([instance], 1, width=5)
    assert sum(array.nbytes for array in (*environment.state.graphs, *environment.state[1:])) < 200 * instance.n
    environment.reset([0], [0])
    assert (environment.actions([0]) >= 0).all()
