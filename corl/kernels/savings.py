"""The savings algorithm for capacitated routes, and its basic step, the joining of two paths at their ends.

G. Clarke and J. Wright, Scheduling of vehicles from a central depot to a number of delivery points, Operations Research 12, 1964.

Paths over nodes 0..n - 1 are held in three arrays:

    links  integer [n, 2]: the neighbours of a node on its path, -1 for none; the first slot is filled first
    degree integer [n]: how many neighbours a node has, at most 2; an end has 0 or 1
    far    integer [n]: for an end of a path, its other end; a single node is its own
"""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["join_ends", "merge_routes"]


@kernel(inline=True, borrow=True)
def join_ends(links: Any, far: Any, a: Any, b: Any) -> None:
    """Join two different paths at an end of each.

    Args:
        links, far: see above; both in place.
        a, b: ends of different paths, which become neighbours.
    """
    links[a, 0 if links[a, 0] < 0 else 1] = b
    links[b, 0 if links[b, 0] < 0 else 1] = a
    end_a, end_b = far[a], far[b]
    far[end_a], far[end_b] = end_b, end_a


@kernel(borrow=True)
def merge_routes(
    pairs: Any, saved: Any, count: Any, capacity: Any, links: Any, degree: Any, far: Any, load: Any, cost: Any
) -> Any:
    """Merge routes at pairs of clients, in the given order, wherever both are ends of different routes whose loads fit together.

    Args:
        pairs: integer [>= count, 2], clients, those first whose joining saves most.
        saved: float64 [>= count], by how much the cost falls with each pair.
        count: number of pairs.
        capacity: the capacity of a vehicle.
        links, degree, far: the routes without the depot, see above; in place. A node with degree 2 gets no
            neighbour; a node with degree 1 but no neighbour gets one, such as the position of a vehicle on its way.
        load: float64 [n], for the ends of a route its total load; in place.
        cost: float64, the cost of the routes before.

    Returns:
        The cost of the routes after, float64.
    """
    for k in range(count):
        i, j = pairs[k, 0], pairs[k, 1]
        if degree[i] > 1 or degree[j] > 1 or far[i] == j or load[i] + load[j] > capacity:
            continue
        a, b, both = far[i], far[j], load[i] + load[j]
        join_ends(links, far, i, j)
        load[a] = load[b] = both
        degree[i] += 1
        degree[j] += 1
        cost -= saved[k]
    return cost
