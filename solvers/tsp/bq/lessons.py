"""What tsp.bq learns from: optimal tours, and optimal ends of tours that the policy itself began (DAgger).

A policy that imitates optimal tours alone never sees what its own mistakes leave behind (Ross, Gordon & Bagnell, AISTATS 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.generators import uniform
from corl.solvers.tsp.bq.subpaths import Paths, States, draw
from corl.solvers.tsp.bq.teacher import path_of, tour_of

if TYPE_CHECKING:
    from corl.networks.policy import Policy
    from corl.problems.tsp.instance import TspInstance

__all__ = ["Instances", "Lessons", "generated"]

Instances: TypeAlias = Callable[[int, np.random.Generator], "list[TspInstance]"]
"""How many, random -> new instances in the plane."""

_LEAST_LEFT = 8  # cities that are left when an own beginning is completed


def generated(smallest: int, largest: int, count: int, random: np.random.Generator) -> list[TspInstance]:
    """`count` uniform instances, their sizes log-uniform."""
    low, high = np.log(smallest), np.log(largest + 1)
    sizes, names = np.exp(random.uniform(low, high, count)).astype(int), random.integers(0, 2**31, count)
    return [uniform(size=int(n), edge_weight_type="EXACT_2D", seed=int(name)) for n, name in zip(sizes, names)]


class Lessons:
    """A growing store of paths; everything in it follows from the seed and, for own ones, from the policy."""

    def __init__(self, instances: Instances, random: np.random.Generator) -> None:
        self.instances, self.random = instances, random
        self.points = np.zeros((0, 3))
        self.size = np.zeros(0, np.int64)
        self.closed = np.zeros(0, np.bool_)
        self._tours: Paths | None = None
        self._own: Paths | None = None

    def add_tours(self, count: int) -> None:
        """Solve so many new instances."""
        instances = self.instances(count, self.random)
        self._append([(_points(instance)[tour_of(instance, seed)], True) for seed, instance in enumerate(instances)])

    def add_own(self, policy: Policy, count: int, stops: int) -> None:
        """Let the policy build so many new tours together, half of them greedily, half by sampling; complete each at random
        moments, `stops` times."""
        instances = self.instances(count, self.random)
        environment = TspEnvironment(instances, count)
        rows = np.arange(count)
        environment.reset(rows, rows, self.random.integers(0, 2**62, count, dtype=np.uint64))
        sizes = np.array([instance.n for instance in instances])
        moments = self.random.integers(1, (sizes - _LEAST_LEFT)[:, None], (count, stops))
        found = []
        for visited in range(1, int(moments.max()) + 1):
            for row in rows[(moments == visited).any(axis=1)]:
                points = _left(environment, row, visited)
                found.append((points[path_of(points, visited)], False))
            live = rows[moments.max(axis=1) > visited]
            if len(live):
                environment.step(live, live, self._chosen(policy, environment, live))
        self._append(found)

    def draw(self, rows: int, own: float, nearest: int, around: int) -> States:
        """`rows` random states, a share `own` of them from own beginnings, if there are any."""
        paths = self._paths()
        parts = [draw(paths[0], rows - int(own * rows) if paths[1] is not None else rows, nearest, around, self.random)]
        if paths[1] is not None:
            parts.append(draw(paths[1], int(own * rows), nearest, around, self.random))
        seen = {key: np.concatenate([part.observation[key] for part in parts]) for key in parts[0].observation}
        return States(seen, *(np.concatenate([part[i] for part in parts]) for i in (1, 2)))

    def _chosen(self, policy: Policy, environment: TspEnvironment, live: NDArray[np.int64]) -> NDArray[np.int32]:
        logits, _ = policy.on(environment).evaluate(live)
        noise = self.random.gumbel(size=logits.shape) * (live % 2 == 1)[:, None]
        slots = (logits + noise).argmax(axis=1)
        return environment.actions(live)[np.arange(len(live)), slots]

    def _append(self, found: list[tuple[NDArray[np.float64], bool]]) -> None:
        flat = np.zeros((sum(len(points) for points, _ in found), 3))
        flat[:, :2] = np.concatenate([points[:, :2] for points, _ in found])
        self.points = np.concatenate([self.points, flat])
        self.size = np.concatenate([self.size, [len(points) for points, _ in found]])
        self.closed = np.concatenate([self.closed, [closed for _, closed in found]])
        self._tours = self._own = None

    def _paths(self) -> tuple[Paths, Paths | None]:
        """The tours, and the own paths if there are any."""
        if self._tours is None:
            first = np.cumsum(self.size) - self.size
            halves = [Paths(self.points, first[here], self.size[here], self.closed[here]) for here in (self.closed, ~self.closed)]
            self._tours, self._own = halves[0], halves[1] if len(halves[1].size) else None
        return self._tours, self._own

    def state_dict(self) -> dict[str, Any]:
        """Arrays, and the state of the generator."""
        return {"points": self.points, "size": self.size, "closed": self.closed, "random": self.random.bit_generator.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self.points, self.size = np.array(state["points"]), np.array(state["size"])
        self.closed, self.random.bit_generator.state = np.array(state["closed"]), state["random"]
        self._tours = self._own = None


def _points(instance: TspInstance) -> NDArray[np.float64]:
    assert instance.points is not None  # it is uniform in the plane
    return instance.points


def _left(environment: TspEnvironment, row: int, visited: int) -> NDArray[np.float64]:
    """What is left of a row's tour: origin, the unvisited cities, destination."""
    state = environment.state
    n = state.graphs.size[state.instance[row]]
    order = state.order[row, :n]
    cities = np.concatenate([order[visited - 1 :], order[:1]])
    return np.asarray(state.graphs.points[state.graphs.points_first[state.instance[row]] + cities])
