"""Reader and writer of OPLib solution files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.files.opening import writing
from corl.files.text import Text, keyword_parts, quoted
from corl.problems.orienteering.evaluation import check, objective, path_length
from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["nodes_of", "read_solution", "write_solution"]

_KEYWORDS = (
    "NAME", "TYPE", "COMMENT", "DIMENSION", "COST_LIMIT", "ROUTE_NODES", "ROUTE_SCORE", "ROUTE_COST", "NODE_SEQUENCE_SECTION",
    "DEPOT_SECTION", "EOF",
)  # fmt: skip
_REFUSED = dict.fromkeys(
    ("EDGE_WEIGHT_TYPE", "NODE_COORD_SECTION", "NODE_SCORE_SECTION", "EDGE_WEIGHT_SECTION"),
    "belongs to an instance; accepted: a solution, with NODE_SEQUENCE_SECTION",
)
_FIELD = "NODE_SEQUENCE_SECTION"


def read_solution(instance: OrienteeringInstance, path: str | Path) -> NDArray[np.int64]:
    """Return the path in an OPLib solution file as nodes 0..n-1, int64 [k].

    The file lists a closed tour without the return to its start; the returned path contains it. Raises InputError if the file is
    not a solution file, Infeasible for a node that the instance does not have, OSError.
    """
    text = Text.read(path)
    header, sections = keyword_parts(text, _KEYWORDS, _REFUSED)
    if _FIELD not in sections:
        raise text.error("missing; a solution file needs it", line=text.last_line, field=_FIELD)
    part, ids, path_ended = sections[_FIELD], list[int](), False
    for line, token in part.tokens():
        if path_ended:
            raise part.error(f"{quoted(token)} after the -1 that ends the path", line=line, field=_FIELD)
        node = part.integer(token, _FIELD, line)
        path_ended = node == -1
        ids += [] if path_ended else [node]
    if "ROUTE_NODES" in header:
        entry = header["ROUTE_NODES"]
        if text.integer(entry.value, "ROUTE_NODES", entry.line) not in (len(ids), len(set(ids))):
            raise text.error(f"{entry.value}, but {_FIELD} has {len(ids):,} nodes", line=entry.line, field="ROUTE_NODES")
    nodes = nodes_of(instance, ids)
    if instance.closed and (len(nodes) < 2 or nodes[-1] != instance.start):
        nodes = np.append(nodes, instance.start)
    return nodes


def nodes_of(instance: OrienteeringInstance, ids: Iterable[int]) -> NDArray[np.int64]:
    """Return the nodes 0..n-1 with the given ids, int64 [k]. Raises Infeasible for an id that the instance does not have."""
    node_of_id, id_list = {int(node): i for i, node in enumerate(instance.graph.ids)}, list(ids)
    if unknown_ids := [node for node in id_list if node not in node_of_id]:
        raise Infeasible(f"there is no node {str(unknown_ids[0])[:40]}")
    return np.array([node_of_id[node] for node in id_list], np.int64)


def write_solution(instance: OrienteeringInstance, solution: Any, path: str | Path) -> None:
    """Write an OPLib solution file with the instance's ids. Raises Infeasible if `solution` is not feasible."""
    nodes, ids = check(instance, solution), instance.graph.ids
    listed = nodes[:-1] if instance.closed else nodes
    header = {
        "NAME": " ".join(instance.name.split()), "TYPE": "OP", "DIMENSION": instance.n, "COST_LIMIT": f"{instance.limit:.17g}",
        "ROUTE_NODES": len(listed), "ROUTE_SCORE": f"{objective(instance, nodes):.17g}",
        "ROUTE_COST": f"{path_length(instance, nodes):.17g}",
    }  # fmt: skip
    depots = dict.fromkeys(int(ids[node]) for node in (instance.start, instance.end))
    with writing(path) as stream:
        stream.writelines(f"{key} : {value}\n" for key, value in header.items())
        stream.write("\n".join([_FIELD, *map(str, ids[listed].tolist()), "-1"]))
        stream.write("\n".join(["\nDEPOT_SECTION", *map(str, depots), "-1", "EOF\n"]))
