"""corl.solvers.tsp.asymmetric: tours, bounds and reproducibility of the ATSP search."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.rng import random_state
from corl.run import Run
from corl.solvers.tsp.asymmetric import search as asymmetric
from corl.solvers.tsp.asymmetric.arcs import Arcs
from corl.solvers.tsp.asymmetric.local_search import iterate, or_three_opt, start_tours
from corl.solvers.tsp.exact.dynamic_programming import shortest_tour
from corl.solvers.tsp.tours.array_tour import set_order

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "tsp" / "atsp"


def atsp(matrix):
    return TspInstance("a", "EXPLICIT", matrix=np.asarray(matrix, float), symmetric=False)


def random_matrix(n, seed, kind="integers"):
    r = np.random.default_rng([n, seed])
    return r.integers(-50, 1000, (n, n)).astype(float) if kind == "integers" else r.random((n, n)) * r.random()


def search(instance, seed=0, most=None, **limits):
    """A finished run; with `most`, every grant of the budget is at most that."""
    run = Run(Tsp(), instance, seed=seed, **limits)
    if most is not None:
        budget = run.budget
        run.budget = lambda **cap: budget(most=min(most, cap.get("most", most)))  # type: ignore[method-assign]
    run.start()
    asymmetric.search(instance, metric_of(instance), run, seed)
    return run


@given(st.integers(1, 12), st.integers(0, 1000), st.sampled_from(["integers", "floats"]))
@settings(deadline=None, max_examples=40)
def test_optimal_on_small_instances(n, seed, kind):
    """The search meets the dynamic programme on up to 12 cities, and its bound is never above."""
    instance = atsp(random_matrix(n, seed, kind))
    optimum = Tsp().evaluate(instance, shortest_tour(metric_of(instance), n))
    run = search(instance, iterations=4000)
    assert run.objective == pytest.approx(optimum, rel=1e-9, abs=1e-12)
    assert run.bound <= run.objective


@pytest.mark.parametrize("matrix", [np.zeros((30, 30)), np.full((10, 10), -7.0), np.kron(np.ones((6, 6)), random_matrix(5, 1))])
@pytest.mark.parametrize("iterations", [300, 4000])
def test_degenerate_matrices(matrix, iterations):
    """All arcs equal, and cities six times the same: a tour comes out by either method."""
    run = search(atsp(matrix), iterations=iterations)
    assert run.bound <= run.objective
    if np.ptp(matrix) == 0:
        assert run.objective == len(matrix) * matrix[0, 1] and run.limit == "optimal"


@pytest.mark.parametrize("iterations", [500, 4000])
def test_same_seed_same_tour_whatever_the_chunks(iterations):
    """Iterated local search (500) and crossover (4000) take the same path in grants of 1, of 7 and as the clock has it."""
    instance = atsp(random_matrix(60, 3, "floats"))
    runs = [search(instance, seed=5, most=most, iterations=iterations) for most in (1, 7, None, None)]
    for other in runs[1:]:
        assert np.array_equal(runs[0].solution, other.solution)
        assert runs[0].bound == other.bound


def test_seeds_differ():
    """Another seed takes another path."""
    instance = atsp(random_matrix(80, 4, "floats"))
    assert search(instance, seed=1, iterations=50).objective != search(instance, seed=2, iterations=50).objective


def test_tracked_gains_equal_lengths():
    """What iterate says it gained is the difference of lengths, start_tours' lengths are those of its tours, tours stay tours."""
    n = 100
    arcs = Arcs.of(random_matrix(n, 5, "floats"), 10)
    arcs.find_candidates()
    tours, lengths = np.empty((3, n), np.int32), np.empty(3)
    state = random_state(1)
    search = or_three_opt(n)
    start_tours(arcs.metric, arcs.near, arcs.near_cost, search, tours, lengths, 1e-12, state)
    assert lengths == pytest.approx([arcs.length(tour) for tour in tours])
    set_order(search.tour, tours[0])
    best = tours[0].copy()
    gain = iterate(arcs.metric, arcs.near, arcs.near_cost, search, best, state, 16, 1e-12, 2000)
    assert gain > 0 and arcs.length(search.tour.order) == pytest.approx(lengths[0] - gain)
    assert arcs.length(best) == pytest.approx(lengths[0] - gain)
    assert np.array_equal(np.sort(best), np.arange(n))
    assert np.array_equal(search.tour.order[search.tour.position], np.arange(n))


def test_warm_start_is_kept():
    """The result is never worse than the tour given."""
    instance = atsp(random_matrix(150, 7, "floats"))
    good = search(instance, iterations=3000).solution
    run = search(instance, iterations=3, warm_start=good)
    assert run.objective <= Tsp().evaluate(instance, good)


@pytest.mark.parametrize(("name", "optimum"), [("ft53", 6905), ("ftv70", 1950), ("kro124p", 36230)])
def test_published_optima(name, optimum):
    """TSPLIB's optima are found within some thousand matings."""
    file = DATA / f"{name}.atsp"
    if not file.exists():
        pytest.skip("TSPLIB files are not beside the checkout")
    run = search(Tsp().read(file), iterations=20_000)
    assert run.objective == optimum and run.bound <= optimum
