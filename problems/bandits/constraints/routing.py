"""Routing: the arms are places of a graph, and those pulled lie on one closed walk of limited length from a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.errors import Infeasible, InputError, UsageError
from corl.fields import Array, Integer, Object
from corl.problems.bandits.constraints.constraint import Fields, Oracle, PullConstraint, Relaxation, Rooms

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Routing"]

_MAX_STATES = 2_000_000  # explored states of walks (walks.py); with more, each action is found by an integer program
_MAX_COLUMNS = 5_000  # sets of visited places, each a column of the relaxation; with more, the relaxation is a flow model


@dataclass(frozen=True, eq=False)
class Routing(PullConstraint):
    """At most `budget` pulls, all at places on one closed walk of at most `length` steps from `source` along the edges.

    The walk may visit a place and use an edge more than once. The source is an arm, too, and every walk visits it.
    """

    places: int
    """J, the number of places; each is an arm."""
    edges: NDArray[np.int64]
    """[m, 2] undirected edges, pairs of places."""
    source: int
    """The place where the walk begins and ends."""
    length: int
    """The maximum number of steps of the walk; a step follows one edge."""
    budget: int
    """The maximum number of pulls."""

    kind = "routing"
    form = Object({"edges": Array(Array(Integer(), 2, 2)), "source": Integer(), "length": Integer(), "budget": Integer()})

    def __post_init__(self) -> None:
        import networkx as nx

        edges = np.asarray(self.edges, np.int64).reshape(-1, 2)
        object.__setattr__(self, "edges", edges)
        if not 0 <= self.source < self.places:
            raise InputError(f"{self.source}; accepted: 0 to {self.places - 1}", field="constraint.source")
        if edges.size and (edges.min() < 0 or edges.max() >= self.places or (edges[:, 0] == edges[:, 1]).any()):
            raise InputError(f"accepted: pairs of different arms, 0 to {self.places - 1}", field="constraint.edges")
        if not 0 <= self.length < 2**31:
            raise InputError(f"{self.length}; accepted: an integer from 0 to {2**31 - 1:,}", field="constraint.length")
        if not 0 <= self.budget <= self.places:
            raise InputError(f"{self.budget} is not accepted; accepted: 0 to {self.places}, the arms", field="constraint.budget")
        if not nx.is_connected(self.graph):
            far = sorted(set(self.graph) - nx.node_connected_component(self.graph, self.source))[0]
            raise InputError(f"the graph is not connected: no way from {self.source} to arm {far}", field="constraint.edges")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J, the number of arms."""
        return self.places

    @cached_property
    def graph(self) -> nx.Graph:
        """The graph in networkx."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(range(self.places))
        graph.add_edges_from(self.edges.tolist())
        return graph

    def check(self, action: NDArray[np.int8]) -> None:
        """See Constraint.check. Computes a shortest tour of the source and the pulled arms (Held & Karp) over shortest paths."""
        pulled = [int(arm) for arm in np.flatnonzero(action)]
        if len(pulled) > self.budget:
            raise Infeasible(f"{len(pulled)} pulls, more than the {self.budget} allowed")
        stops = [arm for arm in pulled if arm != self.source]
        if len(stops) > 20:
            raise UsageError(f"a walk through {len(stops)} pulls cannot be checked; accepted: up to 20")
        if not _can_walk(self._distances, self.source, stops, self.length):
            raise Infeasible(f"a closed walk to the arms {pulled} takes more than {self.length} steps")

    @cached_property
    def _distances(self) -> dict[int, dict[int, int]]:
        """The number of steps of a shortest path between any two places."""
        import networkx as nx

        return {node: dict(reached) for node, reached in nx.all_pairs_shortest_path_length(self.graph)}

    @cached_property
    def visits(self) -> NDArray[np.bool_] | None:
        """The maximal sets of places on closed walks from the source, bool [V, J]; None if there are too many."""
        from corl.problems.bandits.constraints.walks import largest_visits

        enough = 2 * self.places  # steps along a spanning tree and back
        return largest_visits(self.graph, self.source, min(self.length, enough), _MAX_STATES)

    def make_oracle(self) -> Oracle:
        """Return an oracle that evaluates every maximal set of visits by its `budget` places of largest gain."""
        if self.visits is None:
            from corl.problems.bandits.constraints.programs import program_oracle

            return program_oracle(self, self._program())
        from corl.problems.bandits.constraints.kernels import best_visits, by_decreasing_gain

        visits, budget = self.visits, self.budget

        def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(level_values)
            actions = np.zeros(gains.shape, np.int8)
            best_visits(gains, by_decreasing_gain(gains), visits, budget, actions)
            return actions

        return best

    def relaxation(self) -> Relaxation:
        """Return the relaxation: z[j] is the probability that arm j is pulled, z[J + v] that the walk visits set v of `visits`.

        If there are too many sets, return that of `_program`.
        """
        if self.visits is None or len(self.visits) > _MAX_COLUMNS:
            return self._program()
        from scipy.sparse import csr_array

        arms, count = self.places, len(self.visits)
        chance = np.eye(arms, arms + count)
        visited = np.hstack([np.eye(arms), -self.visits.T.astype(np.float64)])
        one_set = np.concatenate([np.zeros(arms), np.ones(count)])[None, :]
        pulls = np.concatenate([np.ones(arms), np.zeros(count)])[None, :]
        inequalities = csr_array(np.vstack([chance, visited, one_set, pulls]))
        return Relaxation(
            csr_array(chance), inequalities, np.concatenate([np.ones(arms), np.zeros(arms), [1.0, float(self.budget)]])
        )

    def _program(self) -> Relaxation:
        """Return an integer program of walks.

        z holds the pulls, the number of times that the walk uses each arc, and a flow on the arcs used, which brings one unit
        from the source to every pull, so that all pulls are on one connected walk.
        """
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
        limits = np.zeros((2, size))
        limits[0, walk], limits[1, :arms] = 1.0, 1.0
        chance = np.eye(arms, size)
        inequalities = np.vstack([chance, balance, -balance, supply[others], -supply[others], carried, limits])
        zeros = np.zeros(2 * arms + 2 * int(others.sum()) + count)
        limit = np.concatenate([np.ones(arms), zeros, [float(self.length), float(self.budget)]])
        return Relaxation(csr_array(chance), csr_array(inequalities), limit)

    def rooms(self) -> Rooms:
        """Return one room per maximal set of visits: one unit for each place visited, and the budget. See Constraint.rooms."""
        if self.visits is None:
            raise UsageError(f"the walks of {self.length} steps have more than {_MAX_STATES:,} states: too many to list")
        needs = np.concatenate([np.eye(self.places), np.ones((self.places, 1))], axis=1)
        budgets = np.full((len(self.visits), 1), self.budget)
        return Rooms(needs.astype(np.int64), np.concatenate([self.visits, budgets], axis=1).astype(np.int64))

    def to_json(self) -> dict[str, Any]:
        """Return `edges`, `source`, `length` and `budget`."""
        return {"edges": self.edges.tolist(), "source": self.source, "length": self.length, "budget": self.budget}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Routing:
        """Return the constraint, as the inverse of `to_json`."""
        edges = [edge.integers(2) for edge in fields["edges"].entries()]
        source, length, budget = (fields[key].integer() for key in ("source", "length", "budget"))
        return cls(arms, np.array(edges, np.int64).reshape(-1, 2), source, length, budget)


def _can_walk(distances: Mapping[int, Mapping[int, int]], source: int, stops: list[int], most: int) -> bool:
    """Return whether a closed walk from `source` through all `stops` takes at most `most` steps.

    Dynamic programming over subsets: `best` maps (set of stops visited, as bits; last stop) to the fewest steps.
    """
    best = {(0, source): 0}
    for _ in stops:
        extended: dict[tuple[int, int], int] = {}
        for (visited, last), length in best.items():
            seconds_left()
            for i, stop in enumerate(stops):
                if not visited >> i & 1:
                    key, total = (visited | 1 << i, stop), length + distances[last][stop]
                    if total + distances[stop][source] <= most and total < extended.get(key, total + 1):
                        extended[key] = total
        best = extended
    return bool(best)
