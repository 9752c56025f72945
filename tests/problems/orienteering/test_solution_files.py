"""OPLib's solution files: what they mean, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from corl import registry
from corl.errors import Infeasible, InputError
from corl.problems.orienteering.instance import OrienteeringInstance

HEAD = "NAME : s\nTYPE : OP\nDIMENSION : 3\nCOST_LIMIT : 30\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 3 4\n3 6 0\n"
SCORES = "NODE_SCORE_SECTION\n1 0\n2 5\n3 2\nDEPOT_SECTION\n"
SOLUTION = (
    "NAME : s\nTYPE : OP\nROUTE_NODES : 3\nROUTE_SCORE : 7\nNODE_SEQUENCE_SECTION\n1\n3\n2\n-1\nDEPOT_SECTION\n1\n-1\nEOF\n"
)


def instance(folder: Path, depots: str = "1\n-1\nEOF\n") -> OrienteeringInstance:
    path = folder / "s.oplib"
    path.write_text(f"{HEAD}{SCORES}{depots}", encoding="utf-8")
    return registry.problem("orienteering").read(path)


def solution(folder: Path, content: str) -> Path:
    (folder / "s.sol").write_text(content, encoding="utf-8")
    return folder / "s.sol"


def test_a_closed_tour_is_listed_without_its_return(tmp_path: Path):
    """With the return it is the same tour."""
    problem, loop = registry.problem("orienteering"), instance(tmp_path)
    for content in (SOLUTION, SOLUTION.replace("2\n-1", "2\n1\n-1").replace("NODES : 3", "NODES : 4")):
        nodes = problem.read_solution(loop, solution(tmp_path, content))
        assert nodes.tolist() == [0, 2, 1, 0] and problem.evaluate(loop, nodes) == 7


def test_a_path_is_listed_whole(tmp_path: Path):
    """From the first node of DEPOT_SECTION to the second; nothing is added to it."""
    problem, path = registry.problem("orienteering"), instance(tmp_path, "1\n2\n-1\nEOF\n")
    nodes = problem.read_solution(path, solution(tmp_path, SOLUTION))
    assert nodes.tolist() == [0, 2, 1] and problem.evaluate(path, nodes) == 7
    problem.write_solution(path, nodes, tmp_path / "again.sol")
    assert problem.read_solution(path, tmp_path / "again.sol").tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("old", "new", "line", "field"),
    [
        ("NODE_SEQUENCE_SECTION\n1\n3\n2\n-1\n", "", 8, "NODE_SEQUENCE_SECTION"),
        ("3\n2\n", "3\n2.5\n", 8, "NODE_SEQUENCE_SECTION"),
        ("2\n-1", "2\n-1\n3", 10, "NODE_SEQUENCE_SECTION"),
        ("NODES : 3", "NODES : 5", 3, "ROUTE_NODES"),
        ("ROUTE_SCORE", "ROUTE_SCOR", 4, "ROUTE_SCOR"),
        ("DEPOT_SECTION", "NODE_COORD_SECTION", 10, "NODE_COORD_SECTION"),
    ],
)
def test_faults(tmp_path: Path, old: str, new: str, line: int, field: str):
    """Each is named with its line and keyword."""
    assert old in SOLUTION
    with pytest.raises(InputError) as error:
        registry.problem("orienteering").read_solution(instance(tmp_path), solution(tmp_path, SOLUTION.replace(old, new, 1)))
    assert (error.value.line, error.value.field) == (line, field)


def test_a_node_that_there_is_not(tmp_path: Path):
    """It is no solution, by the node's own number."""
    with pytest.raises(Infeasible, match="there is no node 9"):
        registry.problem("orienteering").read_solution(
            instance(tmp_path), solution(tmp_path, SOLUTION.replace("3\n2", "3\n9", 1))
        )
