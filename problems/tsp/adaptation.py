"""TSP instances from Python objects: arrays of coordinates, matrices, networkx graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError, kind_of
from corl.problems.tsp.instance import TspInstance

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["adapt_array", "adapt_graph"]

_ACCEPTED = "coordinates [n, 2] or [n, 3], a matrix [n, n], or a networkx graph"


def adapt_array(data: Any) -> TspInstance:
    """Return the instance of an array: coordinates [n, 2 or 3], or a square matrix of distances; city ids are 0..n-1.

    Coordinates give unrounded Euclidean distances (EXACT_2D, EXACT_3D). A matrix gives EXPLICIT distances, and an ATSP unless it
    is symmetric. A 2 x 2 or 3 x 3 array is taken for a matrix; for so few points use TspInstance(edge_weight_type="EXACT_2D",
    points=...). Raises InputError.
    """
    try:
        given = np.asarray(data)
    except (TypeError, ValueError, OverflowError):  # ragged lists
        given = np.zeros(0, object)
    array = np.array(given, np.float64) if given.dtype.kind in "biuf" else None
    if array is None:
        raise InputError(f"{kind_of(data)} that is no array of numbers; accepted: {_ACCEPTED}")
    if array.ndim != 2 or not len(array) or (array.shape[0] != array.shape[1] and array.shape[1] not in (2, 3)):
        raise InputError(f"an array of shape {list(array.shape)}; accepted: {_ACCEPTED}")
    ids = np.arange(len(array))
    if array.shape[0] != array.shape[1]:
        return TspInstance("array", f"EXACT_{array.shape[1]}D", points=array, ids=ids)
    return _from_matrix("array", array, ids)


def adapt_graph(graph: nx.Graph) -> TspInstance:
    """Return the instance of a networkx graph, which is one of two kinds.

    Either the graph is complete, with distances in the attribute `weight` of its edges; a two-dimensional `pos` of its nodes
    is then used for drawing only. Or it has no edges, and the attribute `pos` of its nodes gives Euclidean distances. A DiGraph
    gives an ATSP unless its weights are symmetric.

    If all nodes are integers, the nodes are the instance's ids. Otherwise the ids are 0..n-1 in the graph's order of nodes, and
    the nodes as texts are the instance's `names`. Raises InputError.
    """
    nodes = list(graph)
    if not nodes:
        raise InputError("the graph has no nodes; accepted: at least one")
    numbered = all(isinstance(node, (int, np.integer)) and abs(int(node)) < 2**53 for node in nodes)
    ids = np.array(nodes, np.int64) if numbered else np.arange(len(nodes))
    name, names = str(graph.name or "graph"), None if numbered else tuple(map(str, nodes))
    if names is not None and len(set(names)) < len(nodes):
        raise InputError("two nodes have the same text; accepted: nodes with different texts", field="nodes")
    points = _positions(graph, nodes)
    if graph.number_of_edges() == 0 and points is not None:
        return TspInstance(name, f"EXACT_{points.shape[1]}D", points=points, ids=ids, names=names)
    display = points if points is not None and points.shape[1] == 2 else None
    return replace(_from_matrix(name, _weights(graph, nodes), ids, display), names=names)


def _from_matrix(
    name: str, matrix: NDArray[np.float64], ids: NDArray[np.int64], display: NDArray[np.float64] | None = None
) -> TspInstance:
    """Return the EXPLICIT instance of a matrix, whose diagonal is set to 0 in place."""
    np.fill_diagonal(matrix, 0.0)  # the diagonal has no meaning; a NaN there would make the matrix unequal to its transpose
    symmetric = bool(np.array_equal(matrix, matrix.T))
    return TspInstance(name, "EXPLICIT", matrix=matrix, symmetric=symmetric, ids=ids, display=display)


def _weights(graph: nx.Graph, nodes: list[Any]) -> NDArray[np.float64]:
    """Return the matrix of the edges' `weight`, float64 [n, n]; of parallel edges the least weight counts.

    Raises InputError, naming the first edge that is missing or whose weight is no finite number.
    """
    place = {node: i for i, node in enumerate(nodes)}
    matrix = np.full((len(nodes), len(nodes)), np.nan)
    directed = graph.is_directed()
    for u, v, weight in graph.edges(data="weight"):
        if isinstance(weight, bool) or not isinstance(weight, (int, float, np.integer, np.floating)) or not np.isfinite(weight):
            raise InputError(f"edge ({u!r}, {v!r}) has weight {weight!r}; accepted: a finite number", field="weight")
        i, j = place[u], place[v]
        matrix[i, j] = np.fmin(matrix[i, j], weight)
        if not directed:
            matrix[j, i] = matrix[i, j]
    np.fill_diagonal(matrix, 0.0)
    if (missing := np.isnan(matrix)).any():
        i, j = divmod(int(missing.argmax()), len(nodes))
        accepted = "a complete graph with weights, or nodes with pos and no edges"
        raise InputError(f"edge ({nodes[i]!r}, {nodes[j]!r}) is missing; accepted: {accepted}", field="edges")
    return matrix


def _positions(graph: nx.Graph, nodes: list[Any]) -> NDArray[np.float64] | None:
    """Return `pos` of all nodes, float64 [n, 2 or 3]; None if no node has one. Raises InputError for an invalid one."""
    found = [graph.nodes[node].get("pos") for node in nodes]
    if all(position is None for position in found):
        return None
    for node, position in zip(nodes, found):
        try:
            array = np.asarray(position, np.float64)
        except (TypeError, ValueError):
            array = np.zeros(0)
        if array.shape not in ((2,), (3,)) or array.shape != np.shape(found[0]):
            raise InputError(f"node {node!r} has pos {position!r}; accepted: two or three numbers, as many for all", field="pos")
    return np.array(found, np.float64)
