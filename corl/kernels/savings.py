"""The savings algorithm for capacitated vehicle routes, and its basic step, which joins two paths at their ends.

G. Clarke and J. Wright, Scheduling of vehicles from a central depot to a number of delivery points, Operations Research 12, 1964.

Paths over nodes 0..n - 1 are held in three arrays:

    links  integer [n, 2]: the neighbours of a node on its path, -1 for none; a single neighbour is in the first column
    degree integer [n]: the number of neighbours of a node, at most 2; an end of a path has 0 or 1
    far    integer [n]: for an end of a path, the other end; for a path of a single node, this node itself
"""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["join_ends", "merge_routes"]


@kernel(inline=True, borrow=True)
def join_ends(links: Any, far: Any, a: Any, b: Any) -> None:
    """Join two paths by making an end of one and an end of the other neighbours.

    Args:
        links, far: see the module; both are modified in place.
        a, b: the ends, of different paths.
    """
    links[a, 0 if links[a, 0] < 0 else 1] = b
    links[b, 0 if links[b, 0] < 0 else 1] = a
    end_a, end_b = far[a], far[b]
    far[end_a], far[end_b] = end_b, end_a


@kernel(borrow=True)
def merge_routes(
    pairs: Any, saved: Any, count: Any, capacity: Any, links: Any, degree: Any, far: Any, load: Any, cost: Any
) -> Any:
    """Merge routes at pairs of clients, in the given order, if the clients are ends of different routes that fit one vehicle.

    Args:
        pairs: integer [>= count, 2], pairs of clients, sorted by the saving, largest first.
        saved: float64 [>= count], the saving of each pair: by how much the cost falls.
        count: number of pairs.
        capacity: the capacity of a vehicle.
        links, degree, far: the routes as paths without the depot, see the module; in place. A caller may forbid neighbours: a
            node with degree 2 gets none, and a node with degree 1 but no neighbour gets only one (such as the position of a
            vehicle that is under way).
        load: float64 [n], for both ends of a route the total load of the route; in place.
        cost: float64, the cost of all routes before the merges.

    Returns:
        The cost of all routes after the merges, float64.
    """
    for k in range(count):
        i, j = pairs[k, 0], pairs[k, 1]
        if degree[i] > 1 or degree[j] > 1 or far[i] == j or load[i] + load[j] > capacity:
            continue
        a, b, total_load = far[i], far[j], load[i] + load[j]
        join_ends(links, far, i, j)
        load[a] = load[b] = total_load
        degree[i] += 1
        degree[j] += 1
        cost -= saved[k]
    return cost
