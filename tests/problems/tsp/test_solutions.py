"""Tour files and lists of city ids, both ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import Infeasible, InputError
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.solutions import cities_of, read_tour, write_tour

INSTANCE = TspInstance("four", "EXACT_2D", np.random.default_rng(0).random((4, 2)), ids=np.array([40, 10, 30, 20]))
TOUR = "NAME : t\nCOMMENT : Length 5\nTYPE : TOUR\nDIMENSION : 4\nTOUR_SECTION\n10\n20\n30\n40\n-1\nEOF\n"


def read(tmp_path, content):
    path = tmp_path / "f.tour"
    path.write_text(content)
    return read_tour(INSTANCE, path)


@pytest.mark.parametrize("cut", ["", "EOF\n", "-1\nEOF\n"])
@pytest.mark.parametrize("blank", ["\n", " ", "\r\n"])
def test_tour_is_read(tmp_path, cut, blank):
    """File ids become cities 0..n-1; the final -1 and EOF may be missing, and cities may share lines."""
    head, _, data = TOUR.removesuffix(cut).partition("TOUR_SECTION\n")
    data = data if "EOF" in data else data.rstrip().replace("\n", blank)
    tour = read(tmp_path, f"{head}TOUR_SECTION\n{data}")
    assert tour.dtype == np.int32 and tour.tolist() == [1, 3, 2, 0]


@settings(deadline=None)
@given(tour=st.permutations(range(4)))
def test_written_tour_reads_back(tmp_path_factory, tour):
    """What is written is read back, in the instance's own ids."""
    path = tmp_path_factory.getbasetemp() / "w.tour"
    write_tour(INSTANCE, tour, path, ["Length 3.5"])
    assert read_tour(INSTANCE, path).tolist() == tour
    section = path.read_text().split("TOUR_SECTION\n")[1]
    assert section.split() == [*(str(INSTANCE.ids[city]) for city in tour), "-1", "EOF"]


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message"),
    [
        ("TYPE : TOUR", "TYPE : TSP", 3, "TYPE", "'TSP' is not a tour; accepted: TOUR"),
        ("TYPE : TOUR", "EDGE_WEIGHT_TYPE : GEO", 3, "EDGE_WEIGHT_TYPE", "belongs to an instance"),
        ("DIMENSION : 4", "DIMENSION : 5", 4, "DIMENSION", "5, but TOUR_SECTION has 4 cities"),
        ("TOUR_SECTION\n10\n20\n30\n40\n-1\n", "", 4, "TOUR_SECTION", "missing"),
        ("30\n", "x3\n", 8, "X3", "not a known keyword"),
        ("30\n", "3x\n", 8, "TOUR_SECTION", "'3x' is not accepted"),
        ("30\n", "3.5\n", 8, "TOUR_SECTION", "3.5 is no city"),
        ("30\n", "1e300\n", 8, "TOUR_SECTION", r"1e\+300 is no city"),
        ("20\n", "-1\n20\n", 8, "TOUR_SECTION", "more than one tour"),
    ],
)
def test_faults(tmp_path, old, new, line, field, message):
    """Each fault is named with its line and field."""
    assert old in TOUR
    with pytest.raises(InputError, match=message) as error:
        read(tmp_path, TOUR.replace(old, new, 1))
    assert error.value.field == field and (error.value.line == line or not new)  # what is missing has no line of its own


def test_unknown_city_is_infeasible(tmp_path):
    """A city that the instance does not have is named, as an infeasible tour."""
    with pytest.raises(Infeasible, match="city 50 of the tour is not in the instance"):
        read(tmp_path, TOUR.replace("30\n", "50\n"))
    with pytest.raises(Infeasible, match="city 5 "):
        cities_of(INSTANCE, [10, 5])


def test_a_list_that_is_no_tour_is_not_written(tmp_path):
    """write_tour refuses what is no tour."""
    with pytest.raises(Infeasible, match="visited twice"):
        write_tour(INSTANCE, [0, 1, 1, 2], tmp_path / "f")
