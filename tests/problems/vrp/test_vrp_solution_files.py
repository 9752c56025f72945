"""Solutions of vehicle routing, in .sol files and JSON: read back; what is wrong is one line with its place."""

from __future__ import annotations

import pytest

from corl.errors import Infeasible, InputError
from corl.problems.vrp.problem import Vrp

VRP = Vrp()
MATRIX = """DIMENSION : 3
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : FULL_MATRIX
CAPACITY : 10
EDGE_WEIGHT_SECTION
0 1 2
3 0 4
5 6 0
DEMAND_SECTION
1 4
2 0
3 6
DEPOT_SECTION
2
-1
"""


def matrix(folder):
    """An instance of two clients, 1 and 3; the depot is 2."""
    (folder / "file.vrp").write_text(MATRIX)
    return VRP.read(folder / "file.vrp")


def test_solution_files(tmp_path):
    """Clients are numbered from 1 whatever the ids; JSON has the ids; the cost is written; unknown clients are infeasible."""
    instance = matrix(tmp_path)
    routes = VRP.from_json(instance, [[3], [1]])
    assert [route.visits.tolist() for route in routes] == [[2], [1]] and VRP.to_json(instance, routes) == [[3], [1]]
    VRP.write_solution(instance, routes, tmp_path / "a.sol")
    assert (tmp_path / "a.sol").read_text() == "Route #1: 2\nRoute #2: 1\nCost 14\n"
    assert VRP.to_json(instance, VRP.read_solution(instance, tmp_path / "a.sol")) == [[3], [1]]
    (tmp_path / "b.sol").write_text("Route #1: 1 3\n")
    with pytest.raises(Infeasible, match="client 3 of the solution is not in the instance; it has 1 to 2"):
        VRP.read_solution(instance, tmp_path / "b.sol")
    (tmp_path / "b.sol").write_text("Route 1: one\n")
    with pytest.raises(InputError, match=r"b.sol:1: Route: 'one' is not accepted"):
        VRP.read_solution(instance, tmp_path / "b.sol")
    (tmp_path / "b.sol").write_text("nothing\n")
    with pytest.raises(InputError, match="no route"):
        VRP.read_solution(instance, tmp_path / "b.sol")


@pytest.mark.parametrize("value", [None, {}, [1], [[1.0]], [{"visits": [1]}], [{"vehicle": 1, "visits": [1]}], [[True]]])
def test_json_that_is_no_solution(tmp_path, value):
    """An InputError, of one line."""
    with pytest.raises(InputError):
        VRP.from_json(matrix(tmp_path), value)


def test_unknown_clients_in_json(tmp_path):
    """A client that there is not makes it infeasible, however large the number."""
    with pytest.raises(Infeasible, match="route 1 visits 'a', which is not in the instance"):
        VRP.from_json(matrix(tmp_path), [["a"]])
    with pytest.raises(Infeasible, match="route 1 visits '9', which is not in the instance"):
        VRP.from_json(matrix(tmp_path), [[9]])
    with pytest.raises(Infeasible):
        VRP.from_json(matrix(tmp_path), [[10**50]])
