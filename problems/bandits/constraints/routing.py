"""Routing: the arms are places on a graph, and the pulls lie on a closed walk from the depot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError, UsageError
from corl.problems.bandits.constraints.constraint import Oracle, PullConstraint, Relaxation

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Routing"]

_MOST = 2_000_000  # states of walks that are looked at (seconds); beyond, each action is an integer program
_COLUMNS = 5_000  # sets of visits that a relaxation has a column for, in every step; beyond, it has flows


@dataclass(frozen=True, eq=False)
class Routing(PullConstraint):
    """At most `budget` pulls, all at places on one closed walk of at most `length` steps from `source` along the edges.

    The walk may come to a place, and use an edge, more than once. The source is an arm like the others, always visited.
    """

    places: int
    """J: every arm is a place."""
    edges: NDArray[np.int64]
    """[m, 2] undirected."""
    source: int
    length: int
    budget: int

    kind = "routing"

    def __post_init__(self) -> None:
        import networkx as nx

        edges = np.asarray(self.edges, np.int64).reshape(-1, 2)
        object.__setattr__(self, "edges", edges)
        if not 0 <= self.source < self.places:
            raise InputError(f"{self.source}; accepted: 0 to {self.places - 1}", field="constraint.source")
        if edges.size and (edges.min() < 0 or edges.max() >= self.places or (edges[:, 0] == edges[:, 1]).any()):
            raise InputError(f"accepted: pairs of different arms, 0 to {self.places - 1}", field="constraint.edges")
        if self.length < 0:
            raise InputError(f"{self.length}; accepted: an integer from 0", field="constraint.length")
        if not 0 <= self.budget <= self.places:
            raise InputError(f"{self.budget} is not accepted; accepted: 0 to {self.places}, the arms", field="constraint.budget")
        if not nx.is_connected(self.graph):
            far = sorted(set(self.graph) - nx.node_connected_component(self.graph, self.source))[0]
            raise InputError(f"the graph is not connected: no way from {self.source} to arm {far}", field="constraint.edges")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J."""
        return self.places

    @cached_property
    def graph(self) -> nx.Graph:
        """As networkx has it."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(range(self.places))
        graph.add_edges_from(self.edges.tolist())
        return graph

    def check(self, action: NDArray[np.int8]) -> None:
        """The shortest closed walk through the source and the arms pulled: a tour of them by shortest paths (Held & Karp)."""
        pulled = [int(arm) for arm in np.flatnonzero(action)]
        if len(pulled) > self.budget:
            raise Infeasible(f"{len(pulled)} pulls, more than the {self.budget} allowed")
        stops = [arm for arm in pulled if arm != self.source]
        if len(stops) > 20:
            raise UsageError(f"a walk through {len(stops)} pulls cannot be checked; accepted: up to 20")
        if (shortest := _shortest_walk(self._distances, self.source, stops)) > self.length:
            raise Infeasible(f"a closed walk to the arms {pulled} takes {shortest} steps, more than {self.length}")

    @cached_property
    def _distances(self) -> dict[int, dict[int, int]]:
        import networkx as nx

        return {node: dict(reached) for node, reached in nx.all_pairs_shortest_path_length(self.graph)}

    @cached_property
    def visits(self) -> NDArray[np.bool_] | None:
        """[V, J] the sets of places of closed walks from the source that no other walk's set contains; None: too many."""
        found = _closed_walks(self.graph, self.source, self.length)
        return None if found is None else _largest(found, self.places)

    def fits(self, actions: NDArray[np.int8]) -> NDArray[np.bool_]:
        """See Constraint.fits; a look at every set of visits."""
        if self.visits is None:
            return super().fits(actions)
        missed = actions.astype(np.float32) @ (~self.visits).T.astype(np.float32)
        return (actions.sum(axis=1, dtype=np.int64) <= self.budget) & (missed == 0.0).any(axis=1)  # type: ignore[no-any-return]

    def make_oracle(self) -> Oracle:
        """A look at every set of visits: its `budget` places of highest gain."""
        if self.visits is None:
            from corl.problems.bandits.constraints.programs import program_oracle

            return program_oracle(self, self._program())
        from corl.problems.bandits.constraints.kernels import best_visits

        visits, budget = self.visits, self.budget

        def best(worth: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(worth)
            actions = np.zeros(gains.shape, np.int8)
            best_visits(gains, visits, budget, actions)
            return actions

        return best

    def relaxation(self) -> Relaxation:
        """z[j]: the chance of a pull; z[J + v]: that the set of visits v is walked. Where those are too many, flows."""
        if self.visits is None or len(self.visits) > _COLUMNS:
            return self._program()
        from scipy.sparse import csr_array

        arms, count = self.places, len(self.visits)
        chance = np.eye(arms, arms + count)
        visited = np.hstack([np.eye(arms), -self.visits.T.astype(np.float64)])
        one = np.concatenate([np.zeros(arms), np.ones(count)])[None, :]
        total = np.concatenate([np.ones(arms), np.zeros(count)])[None, :]
        above = csr_array(np.vstack([chance, visited, one, total]))
        return Relaxation(csr_array(chance), above, np.concatenate([np.ones(arms), np.zeros(arms), [1.0, float(self.budget)]]))

    def _program(self) -> Relaxation:
        """z: a pull of each arm, how often each arc is walked, and a flow on the arcs walked from the source to every pull."""
        from scipy.sparse import csr_array

        arcs = np.concatenate([self.edges, self.edges[:, ::-1]])
        arms, count = self.places, len(arcs)
        size = arms + 2 * count
        walk, flow = np.arange(arms, arms + count), np.arange(arms + count, size)
        out, into = np.zeros((arms, count)), np.zeros((arms, count))
        out[arcs[:, 0], np.arange(count)] = 1.0
        into[arcs[:, 1], np.arange(count)] = 1.0
        others = np.arange(arms) != self.source
        balance, supply, carried = np.zeros((arms, size)), np.zeros((arms, size)), np.zeros((count, size))
        balance[:, walk] = out - into
        supply[:, flow], supply[:, :arms] = into - out, -np.eye(arms)
        carried[np.arange(count), flow], carried[np.arange(count), walk] = 1.0, -float(max(1, self.budget))
        ends = np.zeros((2, size))
        ends[0, walk], ends[1, :arms] = 1.0, 1.0
        chance = np.eye(arms, size)
        above = np.vstack([chance, balance, -balance, supply[others], -supply[others], carried, ends])
        zeros = np.zeros(2 * arms + 2 * int(others.sum()) + count)
        limit = np.concatenate([np.ones(arms), zeros, [float(self.length), float(self.budget)]])
        return Relaxation(csr_array(chance), csr_array(above), limit)

    def to_json(self) -> dict[str, Any]:
        """`edges`, `source`, `length`, `budget`."""
        return {"edges": self.edges.tolist(), "source": self.source, "length": self.length, "budget": self.budget}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], arms: int) -> Routing:
        """The inverse of `to_json`."""
        edges = values.get("edges")
        if not isinstance(edges, list) or not all(isinstance(e, list) and [type(x) for x in e] == [int, int] for e in edges):
            raise InputError("accepted: a list of pairs of arms", field="constraint.edges")
        for field in ("source", "length", "budget"):
            if type(values.get(field)) is not int:
                raise InputError("accepted: an integer", field=f"constraint.{field}")
        return cls(arms, np.array(edges, np.int64).reshape(-1, 2), values["source"], values["length"], values["budget"])


def _shortest_walk(distances: Mapping[int, Mapping[int, int]], source: int, stops: list[int]) -> int:
    """The length of the shortest closed walk from `source` through `stops`, by dynamic programming over sets of stops."""
    if not stops:
        return 0
    best = {(1 << i, i): distances[source][stop] for i, stop in enumerate(stops)}
    for _ in range(len(stops) - 1):
        further: dict[tuple[int, int], int] = {}
        for (seen, last), length in best.items():
            for i, stop in enumerate(stops):
                if not seen >> i & 1:
                    key, total = (seen | 1 << i, i), length + distances[stops[last]][stop]
                    further[key] = min(total, further.get(key, total))
        best = further
    return min(length + distances[stops[last]][source] for (_, last), length in best.items())


def _closed_walks(graph: nx.Graph, source: int, length: int) -> list[int] | None:
    """The sets of places (bits) of closed walks of at most `length` steps; None: too many."""
    import networkx as nx

    back = nx.single_source_shortest_path_length(graph, source)
    near = {node: sorted(graph[node]) for node in graph}
    seen = {(source, 1 << source)}
    layer, closed = [(source, 1 << source)], {1 << source}
    for step in range(1, length + 1):
        following = []
        for node, places in layer:
            for other in near[node]:
                state = (other, places | 1 << other)
                if back[other] <= length - step and state not in seen:
                    seen.add(state)
                    following.append(state)
                    if other == source:
                        closed.add(state[1])
        if len(seen) > _MOST:
            return None
        layer = following
    return sorted(closed)


def _largest(sets: list[int], places: int) -> NDArray[np.bool_]:
    """[V, J] of sets (bits) those that no other one contains, the largest first."""
    from corl.problems.bandits.constraints.kernels import drop_contained

    words = -(-places // 64)
    ordered = sorted(sets, key=int.bit_count, reverse=True)
    bits = np.array([[each >> 64 * w & (1 << 64) - 1 for w in range(words)] for each in ordered], np.uint64)
    keep = np.ones(len(ordered), np.bool_)
    drop_contained(bits, keep)
    kept = bits[keep]
    return np.array([(kept[:, arm // 64] >> np.uint64(arm % 64)) & np.uint64(1) for arm in range(places)], np.bool_).T.copy()
