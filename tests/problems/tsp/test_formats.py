"""TSPLIB instance files: every layout, exact round trips, and nothing but InputError for anything else."""

from __future__ import annotations

import itertools
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import InputError
from corl.files.text import Text
from corl.problems.tsp.formats import read_instance, read_text, write_instance
from corl.problems.tsp.instance import COORDINATE_TYPES, EDGE_WEIGHT_TYPES, LARGEST, TspInstance
from corl.routing.matrices import LAYOUTS, entries, entry_at

PLANE = """NAME : five
TYPE : TSP (M.~Hofmeister)
COMMENT : first line
COMMENT : second line
DIMENSION : 5
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
 7 0 0
 3 1e1 -0.5
 5 .25 3.
 1 2 2
 9 1.0E+02 7
EOF
"""
MATRIX = """NAME: three
TYPE: ATSP
DIMENSION: 3
EDGE_WEIGHT_TYPE: EXPLICIT
EDGE_WEIGHT_FORMAT: FULL_MATRIX
EDGE_WEIGHT_SECTION
9999 1 2
3 9999
4 5 6 9999
DISPLAY_DATA_SECTION
1 0 0
3 1 1
2 0.5 2
EOF
"""
SYMMETRIC = MATRIX.replace("ATSP", "TSP").replace("3 9999", "1 9999").replace("4 5 6", "4 2 4")


def read(content):
    return read_text(Text(content, "f.tsp"), "f")


def fault(content):
    """The InputError that reading `content` raises; its message is one line."""
    with pytest.raises(InputError) as error:
        read(content)
    assert "\n" not in str(error.value) and str(error.value).startswith("f.tsp")
    return error.value


def same(a, b):
    """Whether two instances agree to the bit."""
    arrays = ("points", "matrix", "ids", "display")
    return all(
        (x is None) == (y is None) and (x is None or (x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()))
        for x, y in ((getattr(a, name), getattr(b, name)) for name in arrays)
    ) and (a.name, a.edge_weight_type, a.symmetric, a.comment) == (b.name, b.edge_weight_type, b.symmetric, b.comment)


def test_coordinates():
    """Ids in any order, floats in any notation, remarks after TYPE, several comments."""
    instance = read(PLANE)
    assert (instance.name, instance.comment, instance.symmetric) == ("five", "first line\nsecond line", True)
    assert instance.ids.tolist() == [7, 3, 5, 1, 9]
    assert instance.points.tolist() == [[0, 0], [10, -0.5], [0.25, 3], [2, 2], [100, 7]]


def test_matrix():
    """Numbers wrapped anyhow, the diagonal ignored; row i is city i, whatever the order of the display section."""
    instance = read(MATRIX)
    assert instance.matrix.tolist() == [[0, 1, 2], [3, 0, 4], [5, 6, 0]] and not instance.symmetric
    assert instance.ids.tolist() == [1, 2, 3] and instance.display.tolist() == [[0, 0], [0.5, 2], [1, 1]]
    assert read(SYMMETRIC).symmetric
    assert not read(SYMMETRIC.replace("TYPE: TSP", "TYPE: ATSP")).symmetric


def test_display_of_other_cities_than_1_to_n():
    """Where the ids are not 1..n, the display section tells which city a row of the matrix is."""
    assert read(MATRIX.replace("1 0 0", "8 0 0")).ids.tolist() == [8, 3, 2]


def test_written_matrix_is_in_the_order_of_its_cities(tmp_path):
    """Ids that permute 1..n are kept by permuting the matrix, since row i of a file is city i."""
    matrix = np.arange(9.0).reshape(3, 3)
    given_ids = np.array([2, 3, 1])
    write_instance(TspInstance("x", "EXPLICIT", matrix=matrix, symmetric=False, ids=given_ids), tmp_path / "f")
    again = read_instance(tmp_path / "f")
    where = {int(city): k for k, city in enumerate(again.ids)}
    for i, j in itertools.permutations(range(3), 2):
        assert again.matrix[where[given_ids[i]], where[given_ids[j]]] == matrix[i, j]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("wrap", [1, 3, 1000])
def test_every_layout(layout, n, wrap):
    """Each layout of a symmetric matrix, written out by the document's definition, gives that matrix back."""
    matrix = np.random.default_rng(n).integers(1, 100, (n, n))
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T + np.diag(np.full(n, 77))
    pairs = list(itertools.product(range(n), repeat=2))  # row by row
    if layout.endswith("COL"):
        pairs = [(i, j) for j, i in pairs]  # column by column
    strict = "DIAG" not in layout
    inside = {
        "FULL": lambda i, j: True,
        "UPPER": lambda i, j: i < j or (i == j and not strict),
        "LOWER": lambda i, j: i > j or (i == j and not strict),
    }[layout.split("_")[0]]
    chosen = [(i, j) for i, j in pairs if inside(i, j)]
    assert len(chosen) == entries(layout, n)
    for i, j in itertools.permutations(range(n), 2):
        assert chosen[entry_at(layout, i, j, n)] in ((i, j), (j, i))
    numbers = [str(matrix[i, j]) for i, j in chosen]
    lines = "\n".join(" ".join(numbers[k : k + wrap]) for k in range(0, len(numbers), wrap))
    head = f"TYPE: TSP\nDIMENSION: {n}\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: {layout}\nEDGE_WEIGHT_SECTION\n"
    np.fill_diagonal(matrix, 0)
    assert np.array_equal(read(head + lines + "\nEOF\n").matrix, matrix)


COORDINATE = st.one_of(
    st.floats(-LARGEST, LARGEST), st.integers(-(10**12), 10**12).map(float), st.sampled_from([0.0, -0.0, 5e-324, 0.1, 1e-7])
)
LINE = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=20)


@st.composite
def instances(draw):
    """An instance of any kind, with odd names, comments, ids and display coordinates."""
    kind, n = draw(st.sampled_from(EDGE_WEIGHT_TYPES)), draw(st.integers(1, 5))
    name = draw(LINE.filter(bool))
    comment = "\n".join(draw(st.lists(LINE.filter(bool), max_size=2)))

    def array(columns):
        return np.array(draw(st.lists(COORDINATE, min_size=n * columns, max_size=n * columns)), np.float64).reshape(n, columns)

    display = array(2) if draw(st.booleans()) else None
    ids = np.array(draw(st.lists(st.integers(10, 2**53), min_size=n, max_size=n, unique=True)))
    if kind != "EXPLICIT":
        return TspInstance(name, kind, array(COORDINATE_TYPES[kind]), ids=ids, display=display, comment=comment)
    matrix, symmetric = array(n), draw(st.booleans())
    matrix = np.triu(matrix) + np.triu(matrix, 1).T if symmetric else matrix
    ids = ids if display is not None else None
    return TspInstance(name, kind, matrix=matrix, symmetric=symmetric, ids=ids, display=display, comment=comment)


@settings(deadline=None, max_examples=200)
@given(instance=instances())
def test_written_files_read_back_to_the_bit(tmp_path_factory, instance):
    """write, then read, gives the same instance: coordinates, matrix, ids, display, name, comment."""
    path = tmp_path_factory.getbasetemp() / "written.tsp"
    write_instance(instance, path)
    assert same(read_instance(path), instance)


@pytest.mark.parametrize("folder", ["tsplib", "atsp"])
def test_benchmark_files(data, tmp_path, folder):
    """Every TSPLIB file at hand is read, or refused by name; and read again the same after it was written."""
    refused = []
    for path in sorted((data / "tsp" / folder).glob("*.*tsp")):
        try:
            instance = read_instance(path)
        except InputError as error:
            refused.append((path.stem, error.field))
            continue
        assert instance.symmetric == (path.suffix == ".tsp")
        write_instance(instance, tmp_path / "f.tsp")
        assert same(read_instance(tmp_path / "f.tsp"), instance), path.name
    assert refused == ([("linhp318", "FIXED_EDGES_SECTION")] if folder == "tsplib" else [])


def test_malformed_files(data):
    """The malformed files at hand, made for vehicle routing, are all refused in one line that names the file."""
    paths = sorted((data / "malformed").glob("*.txt"))
    assert len(paths) >= 6
    for path in paths:
        with pytest.raises(InputError) as error:
            read_instance(path)
        assert error.value.file == str(path) and error.value.line and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("DIMENSION : 5", "DIMENSION : 1000000000", 5, "DIMENSION", "an integer from 1 to"),
        ("DIMENSION : 5", "DIMENSION : 9000000", 5, "DIMENSION", "9,000,000 cities cannot be in a file of"),
        ("DIMENSION : 5", "DIMENSION : five", 5, "DIMENSION", "accepted: an integer"),
        ("DIMENSION : 5", "DIMENSION : 0", 5, "DIMENSION", "accepted: an integer from 1"),
        ("DIMENSION : 5", "DIMENSION : 6", 12, "NODE_COORD_SECTION", "5 lines of coordinates; DIMENSION says 6"),
        ("DIMENSION : 5", "DIMENSION : 4", 12, "NODE_COORD_SECTION", "5 lines of coordinates; DIMENSION says 4"),
        ("DIMENSION : 5\n", "", 12, "DIMENSION", "missing"),
        ("EUC_2D", "EUC_4D", 6, "EDGE_WEIGHT_TYPE", "'EUC_4D' is not known; accepted: EUC_2D, EUC_3D"),
        ("EUC_2D", "XRAY1", 6, "EDGE_WEIGHT_TYPE", "crystallography distances are not supported; accepted: EUC_2D"),
        ("EUC_2D", "SPECIAL", 6, "EDGE_WEIGHT_TYPE", "defined outside the file"),
        ("EDGE_WEIGHT_TYPE : EUC_2D\n", "", 12, "EDGE_WEIGHT_TYPE", "missing; accepted: EUC_2D"),
        ("EUC_2D", "EUC_3D", 8, "NODE_COORD_SECTION", "'7 0 0' is not accepted; accepted: 4 numbers on a line"),
        ("EUC_2D", "EXPLICIT", 13, "EDGE_WEIGHT_FORMAT", "missing; accepted: FULL_MATRIX"),
        ("TSP (M", "ATSP (M", 6, "EDGE_WEIGHT_TYPE", "accepted for TYPE ATSP: EXPLICIT"),
        ("TSP (M", "SOP (M", 2, "TYPE", "sequential ordering problems .* accepted: TSP, ATSP"),
        ("TSP (M", "HCP (M", 2, "TYPE", "Hamiltonian cycle problems"),
        ("TSP (M", "CVRP (M", 2, "TYPE", "vehicle routing"),
        ("TSP (M", "TOUR (M", 2, "TYPE", "this is a tour"),
        (" 3 1e1", " 7 1e1", 9, "NODE_COORD_SECTION", "city 7 is given twice"),
        (" 3 1e1", " 3.5 1e1", 9, "NODE_COORD_SECTION", "3.5 is no city number"),
        ("1e1 -0.5", "nan -0.5", 9, "NODE_COORD_SECTION", "'nan' is not accepted; accepted: a number"),
        ("1e1 -0.5", "1e13 -0.5", 9, "NODE_COORD_SECTION", "coordinates up to 1e\\+12"),
        (" 3 1e1", " 3", 9, "NODE_COORD_SECTION", "accepted: 3 numbers on a line"),
        ("NODE_COORD_SECTION\n", "", 7, "", "'7 0 0' is not accepted"),
        ("EOF", "FIXED_EDGES_SECTION\n1 2\n-1\nEOF", 13, "FIXED_EDGES_SECTION", "not supported"),
        ("EOF", "EDGE_DATA_SECTION\n1 2\n-1\nEOF", 13, "EDGE_DATA_SECTION", "not complete"),
        ("EOF", "DEMAND_SECTION\n1 2\nEOF", 13, "DEMAND_SECTION", "vehicle routing"),
        ("EOF", "EDGE_WEIGHT_SECTION\n1 2\nEOF", 13, "EDGE_WEIGHT_SECTION", "come from coordinates"),
        ("EOF", "DISPLAY_DATA_SECTION\n7 0 0\n3 0 0\n5 0 0\n1 0 0\n8 0 0\nEOF", 18, "DISPLAY_DATA_SECTION", "city 8 is not in"),
    ],
)
def test_faults_of_coordinate_files(old, new, line, field, message):
    """Each fault is named with its line, its field and what is accepted."""
    assert old in PLANE
    error = fault(PLANE.replace(old, new, 1))
    assert (error.line, error.field or "") == (line, field), error
    assert re.search(message, str(error)), error


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("4 5 6 9999", "4 5 6", 9, "EDGE_WEIGHT_SECTION", "8 numbers; FULL_MATRIX of 3 cities has 9"),
        ("4 5 6 9999", "4 5 6 9999 1", 9, "EDGE_WEIGHT_SECTION", "10 numbers; FULL_MATRIX"),
        ("4 5 6 9999", "4 5 1e17 9999", 9, "EDGE_WEIGHT_SECTION", "1e\\+17 is too large; accepted: up to 1e\\+12"),
        ("4 5 6 9999", "4 5 x 9999", 9, "EDGE_WEIGHT_SECTION", "'x' is not accepted"),
        ("FULL_MATRIX", "FUNCTION", 5, "EDGE_WEIGHT_FORMAT", "a function is no matrix; accepted: FULL_MATRIX, UPPER_ROW"),
        ("FULL_MATRIX", "UPPER_ROW", 8, "EDGE_WEIGHT_SECTION", "9 numbers; UPPER_ROW of 3 cities has 3"),
        ("ATSP", "TSP", 8, "EDGE_WEIGHT_SECTION", "row 2, column 1 is 3, the entry across 1; accepted for such: TYPE ATSP"),
        ("EDGE_WEIGHT_SECTION", "", 12, "EDGE_WEIGHT_SECTION", "missing|not accepted"),
        ("2 0.5 2", "1 0.5 2", 13, "DISPLAY_DATA_SECTION", "city 1 is given twice"),
    ],
)
def test_faults_of_matrix_files(old, new, line, field, message):
    """The same for matrices; the entry that spoils the symmetry of a TSP is named."""
    assert old in MATRIX
    error = fault(MATRIX.replace(old, new, 1))
    assert (error.line, error.field) == (line, field) or new == "", error
    assert re.search(message, str(error)), error


@pytest.mark.parametrize(
    "kind", ["EUC_2D", "EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX", "EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW"]
)
@pytest.mark.parametrize("n", [10**9, 10**7, 10**5, 2**63, 10**400])
def test_claims_allocate_nothing(kind, n):
    """A file that claims many cities is refused with no array made for the claim, whatever it is that it claims."""
    content = f"DIMENSION: {n}\nEDGE_WEIGHT_TYPE: {kind}\nNODE_COORD_SECTION\n1 1 1\nEDGE_WEIGHT_SECTION\n1\nEOF"
    tracemalloc.start()
    try:
        fault(content)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


TOKENS = st.sampled_from(
    ["nan", "inf", "1e308", "-1", "0", "1e-320", "9" * 40, "TYPE", "EOF", "DIMENSION : 3", "DIMENSION : 1000000000", "é", "_"]
    + [":", "EDGE_WEIGHT_SECTION", "NODE_COORD_SECTION", "EDGE_WEIGHT_TYPE : GEO", "EDGE_WEIGHT_FORMAT : LOWER_COL", "\x0b"]
)  # fmt: skip
