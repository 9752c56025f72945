"""The judge: against pure Python, against published values, against the solvers' metric."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import Infeasible
from corl.jit import kernel
from corl.problems.tsp.evaluation import check, edge_lengths, objective
from corl.problems.tsp.formats import read_instance
from corl.problems.tsp.instance import EDGE_WEIGHT_TYPES, TspInstance
from corl.problems.tsp.metric import distance, metric_of
from corl.problems.tsp.solutions import read_tour

KINDS = (*EDGE_WEIGHT_TYPES, "ATSP")


def radians(x):
    """TSPLIB 95, section 2.3, word by word."""
    degrees = int(x)
    return 3.141592 * (degrees + 5.0 * (x - degrees) / 3.0) / 180.0


def plain_distance(instance, i, j):
    """The distances of TSPLIB 95 in plain Python."""
    kind = instance.edge_weight_type
    if kind == "EXPLICIT":
        return float(instance.matrix[i, j])
    a, b = instance.points[i].tolist(), instance.points[j].tolist()
    difference = [abs(x - y) for x, y in zip(a, b)]
    root = math.sqrt(sum(d * d for d in difference))
    if kind.startswith("EXACT"):
        return root
    if kind.startswith("EUC"):
        return int(root + 0.5)
    if kind == "CEIL_2D":
        return math.ceil(root)
    if kind.startswith("MAN"):
        return int(sum(difference) + 0.5)
    if kind.startswith("MAX"):
        return max(int(d + 0.5) for d in difference)
    if kind == "ATT":
        r = math.sqrt((difference[0] ** 2 + difference[1] ** 2) / 10.0)
        t = int(r + 0.5)
        return t + 1 if t < r else t
    assert kind == "GEO"
    return int(unrounded_geo(a, b))


def unrounded_geo(a, b):
    """The GEO distance before it is cut to an integer."""
    q1 = math.cos(radians(a[1]) - radians(b[1]))
    q2 = math.cos(radians(a[0]) - radians(b[0]))
    q3 = math.cos(radians(a[0]) + radians(b[0]))
    return 6378.388 * math.acos(max(-1.0, min(1.0, 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)))) + 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_length_is_the_sum_of_the_documents_formulas(random_instance, kind, n, seed):
    """The vectorised judge agrees with the document's formulas in plain Python: exactly, but for the order of the sum."""
    instance = random_instance(kind, n, seed)
    tour = np.random.default_rng(seed).permutation(n)
    expected = sum(plain_distance(instance, int(tour[k - 1]), int(tour[k])) for k in range(n)) if n > 1 else 0.0
    assert objective(instance, tour) == pytest.approx(expected, rel=1e-12, abs=0)


@kernel
def all_distances(metric, n):
    """The n x n distances as the solvers see them."""
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = distance(metric, i, j)
    return out


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 12))
@pytest.mark.parametrize("kind", KINDS)
def test_metric_agrees_with_the_judge(random_instance, kind, seed, n):
    """The kernels' distance is the judge's, to the bit; for GEO, whose formula differs, unless it falls on an integer."""
    instance = random_instance(kind, n, seed)
    i, j = np.nonzero(~np.eye(n, dtype=bool))
    judged, seen = edge_lengths(instance, i, j), all_distances(metric_of(instance), n)[i, j]
    if kind == "GEO":
        for k in np.flatnonzero(judged != seen):
            exact = unrounded_geo(instance.points[i[k]], instance.points[j[k]])
            assert abs(exact - round(exact)) < 1e-3 and abs(judged[k] - seen[k]) == 1
    else:
        assert np.array_equal(judged, seen)


@pytest.mark.parametrize(("name", "length"), [("pcb442", 221_440), ("gr666", 423_710), ("att532", 309_636)])
def test_canonical_tours(data, name, length):
    """TSPLIB 95's own check (section 2): the lengths of the tours 1, 2, ..., n."""
    instance = read_instance(data / "tsp" / "tsplib" / f"{name}.tsp")
    assert objective(instance, np.arange(instance.n)) == length


def test_published_optimal_tours(data):
    """Every published optimal tour has the published optimal length."""
    folder = data / "tsp"
    lines = (folder / "tsplib" / "solutions.txt").read_text().splitlines()
    optimal = {key.strip(): int(value.split()[0]) for key, _, value in (line.partition(":") for line in lines) if value}
    checked = 0
    for path in sorted((folder / "tsplib_opt_tours").glob("*.opt.tour")):
        name = path.name.removesuffix(".opt.tour")
        file = folder / "tsplib" / f"{name}.tsp"
        if file.exists():
            instance = read_instance(file)
            assert objective(instance, read_tour(instance, path)) == optimal[name], name
            checked += 1
    assert checked >= 29


@pytest.mark.parametrize(
    ("tour", "message"),
    [
        ([0, 1, 2], "city 40 is not visited; the tour has 3 of 4 cities"),
        ([0, 1, 2, 1], "city 20 is visited twice, at positions 2 and 4"),
        ([0, 1, 2, 3, 0], "city 10 is visited twice, at positions 1 and 5"),
        ([0, 1, 2, 4], "position 4 of the tour is city index 4; accepted: 0 to 3"),
        ([0, -1, 2, 3], "position 2 of the tour is city index -1"),
        ([0.0, 1.0, 2.0, 3.0], "integers, not of float64"),
        ([True, False], "integers, not of bool"),
        ([[0, 1], [2, 3]], r"not an array of shape \[2, 2\]"),
        ([[0, 1], [2]], "a tour is a list of cities"),
        ([], "integers|not visited"),
        (None, "a tour is a list of cities"),
        ("abc", "a tour is a list of cities"),
    ],
)
def test_first_fault_is_named(tour, message):
    """What is no tour is Infeasible, and the message names the first fault in the file's ids."""
    instance = TspInstance("x", "EXACT_2D", np.random.default_rng(0).random((4, 2)), ids=np.array([10, 20, 30, 40]))
    with pytest.raises(Infeasible, match=message):
        objective(instance, tour)


@given(st.permutations(range(8)), st.sampled_from([np.int8, np.uint16, np.int32, np.int64]))
def test_every_permutation_is_a_tour(tour, dtype):
    """Any permutation, of any integer type, is accepted and comes back as int64."""
    instance = TspInstance("x", "EXACT_2D", np.zeros((8, 2)))
    checked = check(instance, np.array(tour, dtype))
    assert checked.dtype == np.int64 and checked.tolist() == tour


def test_one_and_two_cities():
    """One city needs no way; two need there and back, in a matrix each way's own."""
    assert objective(TspInstance("x", "GEO", np.zeros((1, 2))), [0]) == 0.0
    two = TspInstance("x", "EXPLICIT", matrix=np.array([[9.0, 1.0], [2.0, 9.0]]), symmetric=False)
    assert objective(two, [1, 0]) == 3.0
