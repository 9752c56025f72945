"""Instance files: OPLib's extension of TSPLIB, and JSON.

OPLib  a TSPLIB file of TYPE OP with COST_LIMIT, NODE_SCORE_SECTION (id and score) and DEPOT_SECTION (the node where a tour starts
       and ends, or the start and the end of a path; then -1)
JSON   {"problem": "orienteering", "name": "small", "points": [[0, 0], [3, 4], [6, 0]], "scores": [0, 5, 3], "limit": 12.5,
       "start": 0, "end": 2}, in any units. Distances are Euclidean and not rounded unless "edge_weight_type" says otherwise;
       "matrix" instead of "points" gives all distances. Nodes are numbered from 0 unless "ids" are given. By default the path
       starts at the first node and ends where it starts.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.fields import Array, Choice, Constant, Integer, Number, Object, String, document
from corl.files.json_instances import Field, heading, read_object
from corl.files.json_values import dumps
from corl.files.opening import plain_name, writing
from corl.files.text import Text, keyword_parts, quoted
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.tsp import formats as tsplib
from corl.problems.tsp.instance import COORDINATE_TYPES, LARGEST, TspInstance

__all__ = ["SCHEMAS", "from_json_value", "read_instance", "read_text", "recognises", "write_instance"]

_JSON_HEAD = re.compile(r'\s*\{.*?"problem"\s*:\s*"orienteering"', re.DOTALL)
_TYPE_LINE = re.compile(r"^\s*TYPE\s*:?\s*OP\b", re.IGNORECASE | re.MULTILINE)
_OPLIB_KEYWORD = re.compile(r"^\s*(COST_LIMIT|NODE_SCORE_SECTION)\b", re.IGNORECASE | re.MULTILINE)
_REQUIRED = ("COST_LIMIT", "NODE_SCORE_SECTION", "DEPOT_SECTION")
_KEYWORDS = (*tsplib.KEYWORDS, *_REQUIRED)
_VEHICLES = "belongs to a vehicle routing problem, which is no orienteering problem; accepted: TYPE OP"
_REFUSED = dict.fromkeys(("CAPACITY", "VEHICLES", "DISTANCE", "DEMAND_SECTION", "TIME_WINDOW_SECTION"), _VEHICLES)
_INSTANCE = Object(
    {"scores": Array(Number(), 1), "limit": Number(0)},
    {
        "problem": Constant("orienteering"), "name": String(), "comment": String(),
        "edge_weight_type": Choice([*COORDINATE_TYPES, "EXPLICIT"]), "points": Array(Array(Number(), 2, 3), 1),
        "matrix": Array(Array(Number(), 1), 1), "ids": Array(Integer(), 1), "start": Integer(), "end": Integer(),
    },
)  # fmt: skip
_POINTS_OR_MATRIX = {"oneOf": [{"properties": {key: {"type": "array"}}, "required": [key]} for key in ("points", "matrix")]}
SCHEMAS = {
    "instance": document("corl orienteering instance", _INSTANCE) | _POINTS_OR_MATRIX,
    "solution": document("corl orienteering solution: nodes in order, start and end listed, in the file's ids", Array(Integer())),
}


def recognises(head: str) -> bool:
    """Return whether `head` is the beginning of a JSON file (its key "problem" first) or an OPLib file of this problem."""
    return bool(_JSON_HEAD.match(head) or _TYPE_LINE.search(head) or _OPLIB_KEYWORD.search(head))


def read_instance(path: str | Path) -> OrienteeringInstance:
    """Return the instance in a file, whose format is determined by its content.

    Raises InputError with file, line, field and what is accepted, or OSError.
    """
    return read_text(Text.read(path), plain_name(path).stem)


def read_text(text: Text, name: str = "") -> OrienteeringInstance:
    """Return the instance in a text; `name` replaces a missing name. Raises InputError."""
    if text.content.lstrip()[:1] in ("{", "["):
        return read_object(text, lambda field: from_json_value(field, name))
    header, sections = keyword_parts(text, _KEYWORDS, _REFUSED)
    file_type = header.get("TYPE")
    if file_type is not None and (file_type.value.split() or [""])[0].upper() != "OP":
        raise text.error(f"{quoted(file_type.value)} is not accepted; accepted: OP", line=file_type.line, field="TYPE")
    for keyword in _REQUIRED:
        if keyword not in header and keyword not in sections:
            raise text.error("missing; an orienteering problem needs it", line=text.last_line, field=keyword)
    header.pop("TYPE", None)  # without its type and the keywords of OP, the file is one of a symmetric TSP
    graph = tsplib.instance_of(text, header, sections, name)
    limit_entry = header["COST_LIMIT"]
    limit = text.number(limit_entry.value, "COST_LIMIT", limit_entry.line, 0.0, LARGEST)
    node_of_id = {int(node): i for i, node in enumerate(graph.ids)}
    scores = _scores(sections["NODE_SCORE_SECTION"], node_of_id)
    start, end = _depots(sections["DEPOT_SECTION"], node_of_id)
    try:
        return OrienteeringInstance(graph, scores, limit, start, end, graph.name, graph.comment)
    except InputError as error:
        raise text.error(error.reason, field=error.field) from None


def _scores(part: Text, node_of_id: dict[int, int]) -> NDArray[np.float64]:
    """Return the scores that a section gives in lines `id score`, float64 [n]. Raises InputError.

    node_of_id: The index of the node with each id.
    """
    field = "NODE_SCORE_SECTION"
    node_scores = np.full(len(node_of_id), np.nan)
    for row, (node, score) in enumerate(part.table(field, 2).tolist()):
        at = node_of_id.get(int(node), -1) if node == int(node) else -1
        if at < 0:
            raise part.error(f"there is no node {node:.10g}", line=part.row_line(row), field=field)
        if not 0.0 <= score <= LARGEST:
            message = f"a score of {score:g} is not accepted; accepted: 0 to {LARGEST:g}"
            raise part.error(message, line=part.row_line(row), field=field)
        if node_scores[at] == node_scores[at]:
            raise part.error(f"node {int(node)} is given twice", line=part.row_line(row), field=field)
        node_scores[at] = score
    if (missing := np.isnan(node_scores)).any():
        node = list(node_of_id)[int(missing.argmax())]
        raise part.error(f"node {node} has no score", line=part.last_line, field=field)
    return node_scores


def _depots(part: Text, node_of_id: dict[int, int]) -> tuple[int, int]:
    """Return the indices of start and end; `node_of_id` is the index of the node with each id. Raises InputError."""
    field, nodes = "DEPOT_SECTION", []
    for line, token in part.tokens():
        node = part.integer(token, field, line)
        if node == -1:
            break
        if node not in node_of_id:
            raise part.error(f"there is no node {node}", line=line, field=field)
        nodes.append(node_of_id[node])
    if not 1 <= len(nodes) <= 2:
        message = f"{len(nodes)} nodes; accepted: the start, or start and end, then -1"
        raise part.error(message, line=part.first_line, field=field)
    return nodes[0], nodes[-1]


# -------------------------------------------------------------------- JSON
def from_json_value(field: Field, name: str = "") -> OrienteeringInstance:
    """Return the instance in a JSON object; `name` replaces a missing name. Raises InputError, naming the key."""
    record = field.record(_INSTANCE)
    name, comment = heading(record, "orienteering", name)
    if ("points" in record) == ("matrix" in record):
        raise record["points"].error("accepted: either points or a matrix")
    points = matrix = None
    if "points" in record:
        edge_type = record.get("edge_weight_type", "EXACT_2D").choice(COORDINATE_TYPES)
        points = record["points"].numbers(None, COORDINATE_TYPES[edge_type])
        n = len(points)
    else:
        edge_type = record.get("edge_weight_type", "EXPLICIT").choice(("EXPLICIT",))
        n = len(record["matrix"].entries())
        matrix = record["matrix"].numbers(n, n)
    ids = record.get("ids", list(range(n))).integers(n)
    graph = TspInstance(name, edge_type, points, matrix, ids=ids)
    node_of_id = {node: k for k, node in enumerate(ids.tolist())}
    start = record.get("start", int(ids[0]))
    start_node, end_node = _node(start, node_of_id), _node(record.get("end", start.value), node_of_id)
    scores = record["scores"].numbers(None)
    return OrienteeringInstance(graph, scores, record["limit"].number(), start_node, end_node, name, comment)


def _node(field: Field, node_of_id: dict[int, int]) -> int:
    """Return the index of the node whose id a field contains. Raises InputError."""
    if (node := field.integer()) not in node_of_id:
        raise field.error(f"there is no node {node}; accepted: the id of a node")
    return node_of_id[node]


# -------------------------------------------------------------------- the writer
def write_instance(instance: OrienteeringInstance, path: Path) -> None:
    """Write JSON if the name ends in .json or .json.gz, otherwise OPLib; `read_instance` returns an identical instance.

    Like TSPLIB, OPLib has no ids of nodes if distances are a matrix: the nodes are then numbered by row, from 1.
    """
    graph = instance.graph
    if plain_name(path).suffix.lower() == ".json":
        head: dict[str, Any] = {"problem": "orienteering", "name": instance.name}
        head |= {"comment": instance.comment} if instance.comment else {}
        head |= {"edge_weight_type": graph.edge_weight_type, "limit": instance.limit, "ids": graph.ids.tolist()}
        head |= {key: int(graph.ids[node]) for key, node in (("start", instance.start), ("end", instance.end))}
        head |= {"points": graph.points.tolist()} if graph.points is not None else {"matrix": graph.matrix.tolist()}  # type: ignore[union-attr]
        with writing(path) as stream:
            stream.write(dumps(head | {"scores": instance.scores.tolist()}) + "\n")
        return
    ids = graph.ids if graph.points is not None else np.arange(1, instance.n + 1)
    relabelled = TspInstance(instance.name, graph.edge_weight_type, graph.points, graph.matrix, ids=ids, comment=instance.comment)
    text = io.StringIO()
    tsplib.write_text(relabelled, text)
    lines = text.getvalue().rstrip("\n").split("\n")
    at = next(k for k, line in enumerate(lines) if line.startswith("TYPE"))
    lines[at : at + 1] = ["TYPE : OP", f"COST_LIMIT : {_numeral(instance.limit)}"]
    end = lines.pop()
    lines += ["NODE_SCORE_SECTION", *(f"{node} {_numeral(score)}" for node, score in zip(ids, instance.scores.tolist()))]
    lines += ["DEPOT_SECTION", *dict.fromkeys(str(ids[node]) for node in (instance.start, instance.end)), "-1", end, ""]
    with writing(path) as stream:
        stream.write("\n".join(lines))


def _numeral(value: float) -> str:
    """Return a number as text that reads back exactly, without a fraction if it is an integer."""
    return str(int(value)) if value.is_integer() else repr(value)
