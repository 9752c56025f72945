"""Paths of an earlier version of an instance: unknown nodes are left out, and nodes that make the path too long."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.orienteering.evaluation import path_length
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.routing.edge_weights import edge_lengths
from corl.tolerance import keeps

__all__ = ["shortened_path"]


def shortened_path(instance: OrienteeringInstance, value: Any, as_json: bool) -> tuple[NDArray[np.int64], str]:
    """Return a feasible path that follows a given one, and a note on what is left out.

    Unknown nodes and second visits are left out. If the path is too long, so is the node with the least score for the length that
    it adds, again and again.

    Args:
        instance: The instance.
        value: A list or an array of nodes, or its JSON form.
        as_json: Whether `value` lists ids.

    Raises:
        Infeasible: `value` is no list of nodes, or no node except start and end remains.
    """
    listed = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(node, (int, np.integer)) for node in listed):
        raise Infeasible("a path is a list of nodes")
    labels = {int(label): node for node, label in enumerate(instance.graph.ids)} if as_json else {k: k for k in range(instance.n)}
    known = [labels[int(node)] for node in listed if int(node) in labels]
    between = list(dict.fromkeys(node for node in known if node not in (instance.start, instance.end)))
    ends = len(known) - sum(node not in (instance.start, instance.end) for node in known)
    unknown = len(listed) - len(between) - ends
    path, before = np.array([instance.start, *between, instance.end], np.int64), len(between)
    while len(path) > 2 and not keeps(path_length(instance, path), instance.limit):
        path = np.delete(path, 1 + int(_value_of_length(instance, path).argmin()))
    if len(path) == 2:
        raise Infeasible("no node remains between start and end")
    notes = [f"{_visits(unknown)} to nodes that are unknown or visited before"] * (unknown > 0)
    notes += [f"{_visits(before + 2 - len(path))} for which the path would be too long"] * (before + 2 > len(path))
    return path, f"left out: {', '.join(notes)}" if notes else ""


def _visits(count: int) -> str:
    return "1 visit" if count == 1 else f"{count} visits"


def _value_of_length(instance: OrienteeringInstance, path: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the score of each node between the ends, divided by the length that the path would lose without the node."""

    def lengths(tails: NDArray[np.int64], heads: NDArray[np.int64]) -> NDArray[np.float64]:
        graph = instance.graph
        return edge_lengths(graph.edge_weight_type, graph.points, graph.matrix, tails, heads)

    legs = lengths(path[:-1], path[1:])
    saved = legs[:-1] + legs[1:] - lengths(path[:-2], path[2:])
    return np.where(saved > 0, instance.scores[path[1:-1]] / np.where(saved > 0, saved, 1.0), np.inf)
