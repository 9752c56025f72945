"""EAX goes on with as many tours as converge in the time that is left, whatever the machine."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp.eax.breeding import Breeding
from corl.solvers.tsp.eax.pace import Pace


def _asked(seconds: float, limit: float, bound: float | None = None) -> int:
    """What is left of 100 tours of length 1000 that become 1 shorter in each generation, which takes so long."""
    pace, left = Pace(1000.0, 0.0, bound), 100
    for generation in range(1, 5):
        left = pace.fitting(left, 1000.0 - generation, generation * seconds, limit - generation * seconds)
    return left


def test_tours_are_given_up_where_generations_are_slow():
    """Half the speed leaves fewer of them, and where there is time for all of them all stay."""
    assert _asked(0.1, 10.0) == 100
    assert 60 <= _asked(0.3, 10.0) < 100
    assert _asked(0.6, 10.0) < 0.6 * _asked(0.3, 10.0)


def test_a_bound_tells_how_far_there_is_to_go():
    """Tours that are nearly as short as a bound need less time."""
    assert _asked(0.6, 10.0, bound=990.0) == 100


def test_tours_that_no_longer_become_shorter_stay():
    """A population whose mean stands still is not asked to go on with fewer."""
    pace = Pace(1000.0, 0.0, None)
    assert [pace.fitting(100, 1000.0, float(k), 1.0) for k in range(1, 9)] == [100] * 8


@pytest.mark.parametrize("kind", ["EXACT_2D", "EXPLICIT"])
def test_the_best_tours_stay(kind):
    """Of a population that is cut the shortest tours are left, at least 20 of them, and their edges are counted."""
    points = np.random.default_rng(3).random((60, 2)) * 100.0
    matrix = np.rint(np.linalg.norm(points[:, None] - points, axis=2))
    instance = TspInstance("x", kind, **({"matrix": matrix} if kind == "EXPLICIT" else {"points": points}))
    breeding = Breeding(instance, Run(Tsp(), instance, iterations=10**6), 6, 2, 5, 0.3)
    breeding.first_tour()
    breeding.start_population(40)
    lengths = np.sort(breeding.population.lengths)
    breeding.pace = Pace(1e9, 0.0, None)
    breeding.pace.fitting = lambda size, *_: 30
    assert breeding.fit(40) == 30
    np.testing.assert_array_equal(np.sort(breeding.population.lengths), lengths[:30])
    assert np.maximum(breeding.population.edges[:, :, 1], 0).sum() == 60 * 2 * 30
    breeding.pace.fitting = lambda size, *_: 3
    assert breeding.fit(30) == 20
    assert breeding.generation(1) and breeding.generation(2)


def test_iterations_are_not_paced():
    """With iterations given the clock decides nothing, and a run is reproducible."""
    instance = TspInstance("x", "EXACT_2D", points=np.random.default_rng(1).random((50, 2)))
    both = {"iterations": 9, "time_limit": 9.0}
    for limits, paced in (({"iterations": 100}, False), ({"time_limit": 9.0}, True), (both, False)):
        assert Breeding(instance, Run(Tsp(), instance, **limits), 6, 2, 5, 0.3).paced == paced
