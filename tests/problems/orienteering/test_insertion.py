"""Plans for the rest of a path: they are legal, what is promised is kept, and the plane may be turned."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.environments.insertion.environment import InsertionEnvironment
from corl.problems.orienteering.environments.insertion.features import insertion
from corl.problems.orienteering.features import nodes
from corl.problems.orienteering.generators import distance
from corl.problems.orienteering.problem import Orienteering


@pytest.mark.parametrize("seeds", [6, pytest.param(12, marks=pytest.mark.long)])
def test_what_is_promised_is_kept(random_instance, seeds):
    """An action collects, with the plan after it, no less than was said of it, also where rounded distances or a matrix break the
    triangle inequality as long as the plan can be gone; and so no less than the plan before in the end."""
    for seed in range(seeds):
        kind = ("EXACT_2D", "EUC_2D", "EXPLICIT")[seed % 3]
        instance = random_instance(12 + seed, kind, seed, closed=seed % 2 == 0)
        environment, random = InsertionEnvironment([instance], 1), np.random.default_rng(seed)
        total, promised = environment.reset([0], [0])[0], 0.0
        while (listed := environment.actions([0])[0])[0] >= 0:
            seen = environment.observe([0])
            assert kind == "EXPLICIT" or seen["best"][0] >= promised - 1e-9, seed
            best = seen["collected"][0, : (listed >= 0).sum()]
            slot = int(random.choice(np.flatnonzero(best >= best.max() - 1e-9)))
            reward = environment.step([0], [0], [listed[slot]])[0]
            promised, total = best[slot] - reward, total + reward
        assert Orienteering().evaluate(instance, environment.solution(0)) == pytest.approx(total)


def test_no_plan_collects_more_than_there_is(random_instance, most):
    """Of small instances, at the start: what is promised is at most the best score."""
    for seed in range(20):
        instance = random_instance(7, ("EXACT_2D", "EUC_2D")[seed % 2], seed)
        environment = InsertionEnvironment([instance], 1)
        base = environment.reset([0], [0])[0]
        if environment.actions([0])[0, 0] >= 0:
            assert base + environment.observe([0])["best"][0] <= most(instance) + 1e-9


@pytest.mark.parametrize("change", ["turn", "mirror", "scale", "scores"])
def test_the_plane_may_be_turned(turned, change):
    """Turned, mirrored, scaled, or scored in other units: the same tokens, along an episode."""
    instances = [distance(size=30, seed=s) for s in range(3)]
    others, units = [turned(each, change) for each in instances], 4.0 if change == "scores" else 1.0
    one, two = (InsertionEnvironment(given, 3) for given in (instances, others))
    rows = np.arange(3)
    for pool in (one, two):
        pool.reset(rows, rows)
    for _ in range(4):
        a, b = insertion(one.observe(rows)), insertion(two.observe(rows))
        assert np.allclose(a.x, b.x, atol=1e-4) and np.allclose(a.pairs, b.pairs, atol=1e-4) and (a.mask == b.mask).all()
        assert np.allclose(units * a.scale, b.scale)
        chosen = one.actions(rows)[:, 0]
        for pool in (one, two):
            pool.step(rows, rows, chosen)


def test_features_know_their_environment():
    """Those of plans refuse an observation without; the others take both."""
    instance = distance(size=20)
    plain, planned = OrienteeringEnvironment([instance], 1), InsertionEnvironment([instance], 1)
    assert nodes(planned.observe([0])).x.shape[1] == 14
    with pytest.raises(UsageError, match="accepted for others: 'nodes'"):
        insertion(plain.observe([0]))
