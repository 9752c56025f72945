"""EAX: children are tours of the length told, runs are reproducible, small instances are solved to optimality."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp.construction.kernels import length_of
from corl.solvers.tsp.eax.ab_cycles import cycles_of, find_cycles
from corl.solvers.tsp.eax.assembly import order_of
from corl.solvers.tsp.eax.breeding import Breeding
from corl.solvers.tsp.eax.population import count_edges, population_of, put_tour
from corl.solvers.tsp.eax.solver import Eax

_KINDS = ["EXACT_2D", "EUC_2D", "CEIL_2D", "ATT", "GEO", "MAN_3D", "MAX_2D", "EXPLICIT"]


def _instance(n, kind, seed, side=90.0):
    rng = np.random.default_rng(seed)
    if kind == "EXPLICIT":
        half = rng.integers(0, int(side), (n, n)).astype(float)
        return TspInstance("x", kind, matrix=half + half.T)
    points = np.trunc(rng.random((n, 3 if "3D" in kind else 2)) * side)
    return TspInstance("x", kind, points=points)


class _Portions(Run):
    """Grants random numbers of iterations, as a machine of changing speed would."""

    def budget(self, most=None):
        left = super().budget(most)
        if left == 0:
            return 0
        cap = min(most or 1 << 30, self.iterations - self._done)
        self._granted = int(self._sizes.integers(1, cap + 1))
        return self._granted


def _solve(instance, iterations, seed=0, portions=None, **options):
    run = (Run if portions is None else _Portions)(Tsp(), instance, iterations=iterations, seed=seed)
    run._sizes = np.random.default_rng(portions)
    run.start()
    Eax(**options).solve(instance, run)
    return run


@settings(max_examples=60, deadline=None)
@given(st.integers(8, 70), st.sampled_from(_KINDS), st.sampled_from([2, 5, 90]), st.integers(0, 2**31), st.sampled_from([1, 2]))
def test_every_tour_of_the_population_stays_a_tour_of_its_length(n, kind, side, seed, stage):
    """After each generation all tours visit every city once and their tracked lengths are the recomputed ones.

    Small sides make duplicate cities and ties. The edge table counts what counting anew finds.
    """
    instance = _instance(n, kind, seed, side)
    run = Run(Tsp(), instance, iterations=10**6, seed=seed)
    breeding = Breeding(instance, run, 6, 2, 5, 0.3)
    breeding.first_tour()
    breeding.start_population(8)
    breeding.most_accepted = 2
    order, position = np.empty(n, np.int32), np.empty(n, np.int32)
    for _ in range(4):
        breeding.generation(stage)
        for links, length in zip(breeding.population.links, breeding.population.lengths):
            order_of(links, order, position)
            np.testing.assert_array_equal(np.sort(order), np.arange(n))
            for i in range(n):
                assert set(links[order[i]]) == {order[i - 1], order[(i + 1) % n]}
            assert length == pytest.approx(length_of(breeding.metric, order), abs=1e-6)
    kept = {(c, o): f for c in range(n) for o, f in breeding.population.edges[c].tolist() if o >= 0 and f > 0}
    count_edges(breeding.population)
    anew = {(c, o): f for c in range(n) for o, f in breeding.population.edges[c].tolist() if o >= 0 and f > 0}
    assert kept == anew or any((breeding.population.edges[c, :, 0] >= 0).all() for c in range(n))


@settings(max_examples=60, deadline=None)
@given(st.integers(5, 60), st.integers(0, 2**31))
def test_ab_cycles_partition_the_edges_that_differ(n, seed):
    """Each edge of A or B alone is in exactly one cycle; in a cycle edges of A and B take turns."""
    rng = np.random.default_rng(seed)
    population = population_of(2, n)
    for p in range(2):
        put_tour(population.links[p], rng.permutation(n).astype(np.int32))
    edges = [{frozenset((c, int(o))) for c in range(n) for o in links[c]} for links in population.links]
    cycles = cycles_of(n)
    count = find_cycles(*population.links, cycles, np.array([seed], np.uint64))
    seen = [[], []]
    for c in range(count):
        cities = cycles.cities[cycles.starts[c] : cycles.starts[c + 1]].tolist()
        assert len(cities) % 2 == 0 and len(cities) >= 4
        for i in range(len(cities)):
            seen[i % 2].append(frozenset((cities[i], cities[(i + 1) % len(cities)])))
    for mine, other, found in zip(edges, edges[::-1], seen):
        assert len(found) == len(set(found)) and set(found) == mine - other
    assert (cycles.reached == -1).all()


@pytest.mark.parametrize("kind", ["EXACT_2D", "EXPLICIT"])
def test_the_size_of_grants_changes_nothing(kind):
    """With the same seed and iterations, random grants give the same tour, bit for bit; another seed takes another path."""
    instance = _instance(120, kind, 4)
    runs = [_solve(instance, 700, 5, portions, population=20) for portions in (None, 1, 2)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.solution, runs[0].solution)
        assert run._done + run._granted == 700
    states = []
    for portions in (None, 3):
        run = (Run if portions is None else _Portions)(Tsp(), instance, iterations=130, seed=5)
        run._sizes = np.random.default_rng(portions)
        run.start()
        breeding = Breeding(instance, run, 10, 2, 30, 0.3)
        breeding.first_tour()
        breeding.start_population(20)
        while breeding.generation(1):
            pass
        states.append((breeding.population.links, breeding.population.lengths, breeding.population.edges, breeding.state))
    for one, other in zip(*states):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", _KINDS)
def test_small_instances_are_solved_to_optimality(kind, seed):
    """On 4 to 9 cities the tour is as short as the shortest of all (brute force)."""
    n = 4 + seed % 6
    instance = _instance(n, kind, seed, 20.0)
    metric = metric_of(instance)
    tours = np.array([(0, *rest) for rest in permutations(range(1, n)) if rest[0] < rest[-1]], np.int32)
    assert _solve(instance, 400).objective == pytest.approx(min(length_of(metric, tour) for tour in tours))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 30])
@pytest.mark.parametrize("shape", ["equal", "line", "clusters", "zeros"])
def test_odd_inputs_give_their_optimum(n, shape):
    """All cities equal, collinear ones, two far heaps of equal cities, a matrix of zeros: the evident optimum."""
    if shape == "zeros":
        instance, optimum = TspInstance("x", "EXPLICIT", matrix=np.zeros((n, n))), 0.0
    else:
        along = {"equal": np.ones(n), "line": np.arange(n) * 3.0, "clusters": np.arange(n) % 2 * 1e6}[shape]
        instance = TspInstance("x", "EXACT_2D", points=np.stack([along, np.zeros(n)], 1))
        optimum = 2.0 * (along.max() - along.min())
    assert _solve(instance, 150).objective == pytest.approx(optimum)


def test_a_warm_start_enters_the_population():
    """Begun from an optimal tour, a run too short to find it has nothing worse in the end, and says so at once."""
    instance = _instance(150, "EXACT_2D", 7)
    good = _solve(instance, 4000).solution
    run = Run(Tsp(), instance, iterations=3, warm_start=good)
    run.start()
    Eax(population=2).solve(instance, run)
    assert run.objective <= Tsp().evaluate(instance, good) + 1e-9


def test_the_first_report_comes_before_any_iteration():
    """A run that is stopped at once still has a tour."""
    instance = _instance(100, "EUC_2D", 1)
    run = Run(Tsp(), instance, iterations=1000)
    run.start()
    run.stop()
    Eax().solve(instance, run)
    assert run.solution is not None


@pytest.mark.parametrize("options", [{"population": 1}, {"candidates": 4}, {"children": 0}, {"noise": 1.5}, {"per_quadrant": -1}])
def test_options_out_of_range_are_refused(options):
    """The message says what is accepted."""
    with pytest.raises(UsageError, match="accepted"):
        Eax(**options)


def test_asymmetric_instances_are_not_accepted():
    """EAX says why, and takes symmetric ones."""
    matrix = np.arange(9.0).reshape(3, 3)
    assert "symmetric" in Eax().accepts(TspInstance("x", "EXPLICIT", matrix=matrix, symmetric=False))
    assert Eax().accepts(_instance(9, "EUC_2D", 0)) == ""


@pytest.mark.long
@pytest.mark.parametrize(("name", "optimum"), [("brg180", 1950), ("att48", 10628), ("gr120", 6942), ("fl417", 11861)])
def test_public_instances_are_solved(name, optimum, data):
    """Known optima of TSPLIB within 15,000 iterations."""
    instance = Tsp().read(data / "tsp" / "tsplib" / f"{name}.tsp")
    assert _solve(instance, 15_000, population=150).objective == optimum
