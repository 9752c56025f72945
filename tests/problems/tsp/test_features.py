"""Features of the plane: the same after every motion of the plane, in the unit of the instance, and never NaN."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl import registry
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.features import PAIRS, SHOWN, TOKENS, plane
from corl.problems.tsp.generators import uniform
from corl.problems.tsp.instance import TspInstance


def after(instance, steps, nearest=32, seed=0):
    """The tokens of a tour begun with random cities of those listed, and their environment."""
    environment = TspEnvironment([instance], 1, nearest)
    environment.reset([0], [0])
    random = np.random.default_rng(seed)
    for _ in range(steps):
        offered = environment.actions([0])[0]
        environment.step([0], [0], [random.choice(offered[offered >= 0][:3])])
    return plane(environment.observe([0])), environment


@settings(deadline=None, max_examples=20)
@given(st.integers(3, 90), st.integers(0, 80), st.floats(0, 6.3), st.booleans(), st.floats(1e-3, 1e3), st.integers(0, 99))
def test_motions_of_the_plane_change_nothing(n, steps, angle, mirrored, factor, seed):
    """Turned, mirrored, moved and scaled cities have the same features; the unit scales with them.

    Of two cities both edges are in every tree, and what others would cost more is rounding.
    """
    points = np.random.default_rng(seed).random((n, 2))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = factor * (points * [1, -1 if mirrored else 1]) @ turn + [3.0, -7.0]
    steps = min(steps, n - 2)
    (a, _), (b, _) = (after(TspInstance("t", "EXACT_2D", given), steps) for given in (points, moved))
    np.testing.assert_array_equal(a.mask, b.mask)
    np.testing.assert_allclose(b.scale, factor * a.scale, rtol=1e-6)
    np.testing.assert_allclose(b.x, a.x, atol=2e-3)
    np.testing.assert_allclose(b.pairs, a.pairs, atol=2e-3)


@pytest.mark.parametrize("kind", ["EXACT_2D", "EUC_3D", "GEO", "ATT"])
@pytest.mark.parametrize("n", [2, 3, 25, 70])
def test_every_state_has_finite_features(kind, n):
    """At every step of a tour, for every kind of coordinates; at most SHOWN slots are seen, and the nearest are among them."""
    instance = uniform(size=n, edge_weight_type=kind, seed=4)
    environment = TspEnvironment([instance], 1)
    environment.reset([0], [0])
    for _ in range(n - 1):
        tokens = plane(environment.observe([0]))
        offered = (environment.actions([0])[0] >= 0).sum()
        assert np.isfinite(tokens.x).all() and np.isfinite(tokens.pairs).all() and (tokens.scale > 0).all()
        assert tokens.mask[0, :-2].sum() == min(SHOWN, offered) and tokens.mask[0, : min(SHOWN, offered)].all()
        assert tokens.x.shape[2] == TOKENS and tokens.pairs.shape[3] == PAIRS
        environment.step([0], [0], environment.actions([0])[:, 0])
    assert np.isfinite(plane(environment.observe([0])).x).all()  # the episode is over


@pytest.mark.parametrize("points", [np.zeros((40, 2)), np.repeat(np.eye(2), 20, axis=0)])
def test_cities_in_one_place(points):
    """All cities in one or two places: no division by zero."""
    tokens, _ = after(TspInstance("t", "EXACT_2D", points), 3)
    assert np.isfinite(tokens.x).all() and np.isfinite(tokens.pairs).all() and (tokens.scale > 0).all()


def test_distances_serve_as_well_as_coordinates():
    """A matrix of the same distances gives the same features, as long as all cities have slots."""
    instance = uniform(size=25, edge_weight_type="EXACT_2D", seed=2)
    apart = np.sqrt(((instance.points[:, None] - instance.points[None]) ** 2).sum(-1))
    environment = TspEnvironment([instance], 1)
    environment.reset([0], [0])
    seen = environment.observe([0])
    cities = seen["cities"]
    by_matrix = {"mask": seen["mask"], "remaining": seen["remaining"], "distances": apart[cities[:, :, None], cities[:, None, :]]}
    a, b = plane(seen), plane(by_matrix)
    np.testing.assert_allclose(b.x, a.x, atol=1e-5)
    np.testing.assert_allclose(b.pairs, a.pairs, atol=1e-5)


def test_the_unit_is_close_to_what_remains():
    """With all remaining cities in sight, `scale` bounds the shortest remaining path from below, and closely."""
    from corl.solvers.tsp.eax.solver import Eax

    instance = uniform(size=50, edge_weight_type="EXACT_2D", seed=7)
    tokens, environment = after(instance, 25)
    order, t = environment.state.order[0], environment.state.visited[0]
    way = instance.points[[order[t - 1], *(int(step[0]) for step in Eax().complete(environment, 0, 1000, 0)), order[0]]]
    length = np.sqrt((np.diff(way, axis=0) ** 2).sum(-1)).sum()
    assert 0.95 * length < tokens.scale[0] <= length * (1 + 1e-9)


@pytest.mark.parametrize("window", [12, 32])
def test_a_window_shows_so_many_slots(window):
    """Features "plane-N" show the N nearest cities, with the relaxation of all that the environment lists: the tokens that two
    windows share have the same features but those that count the tokens."""
    problem = registry.problem("tsp")
    environment = TspEnvironment([uniform(size=60, seed=1)], 1)
    environment.reset([0], [0])
    seen, usual = (problem.features[name](environment.observe([0])) for name in (f"plane-{window}", "plane"))
    assert seen.mask[0, :-2].sum() == window and seen.mask[0, :window].all()
    shared = min(window, SHOWN)
    same = [k for k in range(TOKENS) if k not in (20, 21, 22, 23, 24, 25)]
    np.testing.assert_array_equal(seen.x[0, :shared, same], usual.x[0, :shared, same])
    np.testing.assert_array_equal(seen.pairs[0, :shared, :shared], usual.pairs[0, :shared, :shared])


def test_plane_takes_the_nearest_surroundings_and_plane_far_all_of_them():
    """Of 100 cities, `plane` knows of an outside beyond 56 of those that remain, `plane-far` of none beyond 128."""
    _, environment = after(uniform(size=100, seed=3), 5)
    features = registry.problem("tsp").features
    seen = environment.observe([0])
    cut = {**seen, "surroundings": seen["surroundings"][:, :24]}
    outside = 15  # the distance to it
    for one, other in zip(plane(seen).arrays().values(), plane(cut).arrays().values()):
        np.testing.assert_array_equal(one, other)
    assert (plane(seen).x[0, :SHOWN, outside] > 0.0).all()
    assert not features["plane-far"](seen).x[0, :, outside].any()
