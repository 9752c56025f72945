"""Vehicle routing as a decision process: what is legal, in which order decisions come, what networks see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.vrp.features import PAIRS, TOKENS, routes
from corl.problems.vrp.generators import solomon, uniform, x
from corl.problems.vrp.instance import Vehicles
from corl.problems.vrp.problem import Vrp

VRP = Vrp()


def test_actions_are_all_that_fit():
    """With room for all: the clients that can be served next, by this vehicle or a new one, nearest first; then 0."""
    instance = uniform(size=12, optional=0.3, seed=5)
    environment, random = VRP.environment([instance], 2, 10**6), np.random.default_rng(0)
    environment.reset([0], [0])
    left, load, at = set(range(1, 13)), 0.0, 0
    while left:
        offered = environment.actions([0])[0]
        offered = offered[offered >= 0].tolist()
        away = instance.distances_from(at)
        near = sorted(left, key=lambda client: away[client])
        capacity = instance.vehicles.capacity[0]
        expected = [client for client in near if load + instance.demand[client] <= capacity]
        expected += [instance.n + client for client in near] if at else []
        expected += [0] if not any(instance.required[client] for client in left) else []
        assert offered == expected
        action = int(random.choice([action for action in offered if action]))
        environment.step([0], [0], [action])
        at = action % instance.n
        load = instance.demand[at] + (load if action < instance.n else 0.0)
        left.remove(at)
    assert environment.actions([0])[0, 0] == -1


@pytest.mark.parametrize("action", [0, -1, 13, 14, 26, 3, 10**6])
def test_what_is_not_legal(action):
    """Going home at the start, the depot, unknown and visited clients, leaving out who is required."""
    environment = VRP.environment([uniform(size=12)], 1)
    environment.reset([0], [0])
    if action == 3:
        environment.step([0], [0], [3])
    with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
        environment.step([0], [0], [action])


def test_what_does_not_fit_is_not_legal():
    """A vehicle that is full, or that would be late, cannot go on; a new one can."""
    tight = replace(uniform(size=4, seed=1), vehicles=Vehicles(np.array([9.0])), demand=np.array([0.0, 6, 6, 3, 6]))
    environment = VRP.environment([tight], 1)
    environment.reset([0], [0])
    environment.step([0], [0], [1])
    with pytest.raises(UsageError, match="action 2 is not legal"):
        environment.step([0], [0], [2])
    assert environment.step([0], [0], [tight.n + 2])[0] < 0
    assert set(environment.actions([0])[0]) >= {3, tight.n + 3, tight.n + 4} and 4 not in environment.actions([0])[0]


def test_what_the_process_does_not_know(random_vrp):
    """Several depots, several types, too few vehicles, clients out of reach: refused by name."""
    plain = uniform(size=6)
    with pytest.raises(UsageError, match="uniform-6: 3 vehicles; the decision process needs as many as clients"):
        VRP.environment([replace(plain, vehicles=Vehicles(np.array([30.0]), 3))], 1)
    with pytest.raises(UsageError, match="2 vehicle types; the decision process knows one"):
        VRP.environment([replace(plain, vehicles=Vehicles(np.array([30.0, 40.0])))], 1)
    two = replace(plain, depots=2, demand=np.array([0.0, 0, 1, 1, 1, 1, 1]), required=None, prize=None)
    with pytest.raises(UsageError, match="2 depots; the decision process knows one"):
        VRP.environment([two], 1)
    far = replace(plain, vehicles=Vehicles(np.array([30.0]), max_distance=0.1))
    with pytest.raises(UsageError, match=r"client \d cannot be served by a separate vehicle"):
        VRP.environment([plain, far], 1)
    with pytest.raises(UsageError, match="3 vehicles"):
        VRP.decisions(replace(plain, vehicles=Vehicles(np.array([30.0]), 3)), [])


def test_an_unfinished_row_has_no_solution():
    """Until it is known who is left out."""
    environment = VRP.environment([uniform(size=3, optional=1.0)], 1)
    environment.reset([0], [0])
    with pytest.raises(UsageError, match="row 0 has decided on 0 of 3 clients"):
        environment.solution(0)
    environment.step([0], [0], [0])
    assert environment.solution(0) == [] and environment.actions([0])[0, 0] == -1


def test_decisions_come_fullest_first():
    """Routes by load, each beginning at its end nearer to the depot; with windows in their own direction."""
    instance = uniform(size=5, seed=2)
    instance = replace(instance, demand=np.array([0.0, 1, 2, 3, 4, 5]))
    away = instance.distances_from(0)
    first, second = ([4, 5] if away[4] < away[5] else [5, 4]), ([1, 2, 3] if away[1] < away[3] else [3, 2, 1])
    second[0] += instance.n
    assert VRP.decisions(instance, [[3, 2, 1], [4, 5]]).tolist() == first + second
    timed = replace(instance, earliest=np.zeros(6), latest=np.full(6, 99.0))
    assert VRP.decisions(timed, [[5, 4], [1, 2, 3]]).tolist() == [5, 4, 1 + 6, 2, 3]


@pytest.mark.parametrize(
    "made", [uniform(size=20, optional=0.5), x(size=20), solomon(size=20, kind="C")], ids=lambda made: made.name
)
def test_features(made):
    """Tokens are of the sizes told, and the same in other units of length."""
    doubled = replace(
        made, points=2 * made.points, prize=2 * made.prize, service=None if made.service is None else 2 * made.service,
        earliest=None if made.earliest is None else 2 * made.earliest, latest=None if made.latest is None else 2 * made.latest,
        edge_weight_type="EXACT_2D", scale=1,
    )  # fmt: skip
    plain = replace(made, edge_weight_type="EXACT_2D", scale=1)
    seen = []
    for each in (plain, doubled):
        environment = VRP.environment([each], 1, 8)
        environment.reset([0], [0])
        environment.step([0], [0], [environment.actions([0])[0, 0]])
        seen.append(routes(environment.observe([0])))
    one, two = seen
    assert one.x.shape == (1, 10, TOKENS) and one.pairs.shape == (1, 10, 10, PAIRS)
    assert np.allclose(one.x, two.x, atol=1e-5) and np.allclose(one.pairs, two.pairs, atol=1e-5)
    assert np.allclose(2 * one.scale, two.scale)


def test_no_matrix_for_coordinates():
    """The pool of a large instance with coordinates holds its lists and little more."""
    environment = VRP.environment([uniform(size=5000)], 1)
    assert sum(array.nbytes for array in (*environment.state[1:], *environment.state.graphs)) < 5001 * (4 * 128 + 200)
    environment.reset([0], [0])
    assert (environment.actions([0])[0] >= 0).all()


def test_the_miniature_is_of_the_same_kind(random_vrp):
    """Its first clients, with the same vehicles, windows and distances."""
    for made in (uniform(size=40, optional=0.2), solomon(size=40), x(size=40), random_vrp(3, 5)):
        small = VRP.miniature(made)
        assert small.clients == min(12, made.clients) and small.edge_weight_type == made.edge_weight_type
        assert np.array_equal(small.demand, made.demand[: small.n]) and small.windows == made.windows
