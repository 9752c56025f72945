"""Drawings of branch-and-bound trees, each node at the height of its bound: with matplotlib, and as scenes for web pages.

`draw` takes a BranchingTree; `draw_tree` takes plain arrays, so that trees recorded in any engine can be drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.problems.milp.evaluation import objective
from corl.problems.milp_branching.evaluation import Visited, leaf_bound, nodes_of
from corl.problems.milp_branching.instance import BranchingInstance, BranchingTree
from corl.view.scene import Scene, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "draw_tree", "positions", "proof_of", "scene", "titled"]

_BRANCHED, _LEAF, _EDGE, _BEST = "#24292f", "#0969da", "#8c959f", "#cf222e"


def positions(parent: ArrayLike) -> NDArray[np.float64]:
    """Return the horizontal positions of the nodes of a tree, float64 [N].

    Leaves are at 0, 1, ... in preorder; any other node is midway between its first and its last child.

    Args:
        parent: int [N], the parent of each node, -1 for the root; parents come before their children, and children are drawn
            in the order given.
    """
    parents = np.asarray(parent, np.int64)
    children_of: list[list[int]] = [[] for _ in parents]
    for node, parent_node in enumerate(parents.tolist()):
        if parent_node >= 0:
            children_of[parent_node].append(node)
    x, leaves, stack = np.zeros(len(parents)), 0, [int(root) for root in np.flatnonzero(parents < 0)[::-1]]
    while stack:  # preorder, without recursion: a tree may be deep
        node = stack.pop()
        stack += children_of[node][::-1]
        if not children_of[node]:
            x[node] = leaves
            leaves += 1
    for node in range(len(parents) - 1, -1, -1):
        if children_of[node]:
            x[node] = 0.5 * (x[children_of[node][0]] + x[children_of[node][-1]])
    return x


def draw_tree(
    parent: ArrayLike, bound: ArrayLike, axes: Axes, *, value: float | None = None, title: str = "", sense: str = "min"
) -> None:
    """Draw nodes at the height of their bounds, infeasible ones slightly beyond the worst bound, and a line for the incumbent.

    Args:
        parent: int [N], the parent of each node, -1 for the root; parents come before their children.
        bound: float [N], in the user's sense; not finite for infeasible nodes.
        axes: Matplotlib axes to draw on.
        value: The objective value of the incumbent; None: no line.
        title: The title of the axes.
        sense: "min" or "max".
    """
    parents, height = np.asarray(parent, np.int64), np.array(bound, np.float64)
    x, leaf = positions(parents), np.ones(len(parents), np.bool_)
    leaf[parents[parents >= 0]] = False
    finite = np.isfinite(height)
    shown = np.append(height[finite], [] if value is None else [value])
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (0.0, 0.0)
    margin = 0.08 * (high - low) or 1.0
    height[~finite] = high + margin if sense == "min" else low - margin
    for node in np.flatnonzero(parents >= 0).tolist():
        axes.plot(x[[parents[node], node]], height[[parents[node], node]], color=_EDGE, linewidth=0.7, zorder=1)
    kinds = (("branched on", ~leaf, "o", _BRANCHED), ("leaf", leaf & finite, "s", _LEAF), ("infeasible", ~finite, "x", _BEST))
    for label, which, marker, colour in kinds:
        if which.any():
            axes.scatter(x[which], height[which], s=16, marker=marker, color=colour, label=label, zorder=2)
    if value is not None:
        axes.axhline(value, color=_BEST, linewidth=0.8, linestyle="--", label="incumbent")
    if sense == "min":
        axes.invert_yaxis()  # the root at the top: bounds get worse downwards
    axes.set_xticks([])
    axes.set_ylabel("bound of the node")
    axes.set_title(title)
    axes.legend(loc="best", fontsize="small")


def draw(instance: BranchingInstance, solution: BranchingTree, axes: Axes) -> None:
    """Draw the tree of a solution, each node at the optimum of its relaxation, which is solved here."""
    nodes, bound, value = proof_of(instance, solution)
    title = titled(instance, len(nodes), value)
    draw_tree([node.parent for node in nodes], bound, axes, value=value, title=title, sense=instance.program.sense)


def proof_of(instance: BranchingInstance, tree: BranchingTree) -> tuple[list[Visited], list[float], float | None]:
    """Return the nodes of a tree in preorder, their bounds and the incumbent's value; bounds and value in the user's sense."""
    program = instance.program
    sign = -1.0 if program.sense == "max" else 1.0
    nodes = list(nodes_of(program, tree))
    bound = [sign * leaf_bound(program, node.lower, node.upper) + program.offset for node in nodes]
    return nodes, bound, None if tree.incumbent is None else objective(program, tree.incumbent)


def titled(instance: BranchingInstance, nodes: int, value: float | None) -> str:
    """Return the title of a drawing: the name, the number of nodes, the incumbent's value."""
    title = f"{instance.name or 'program'}: {nodes:,} node{'s' if nodes > 1 else ''}"
    return title + ("" if value is None else f", incumbent {value:,.10g}")


def scene(instance: BranchingInstance, solution: BranchingTree | None) -> Scene | None:
    """Return the tree as a scene, infeasible nodes slightly beyond the worst bound; None without a solution."""
    if solution is None:
        return None
    nodes, bounds, value = proof_of(instance, solution)
    height, names = np.array(bounds), instance.program.names
    finite = np.isfinite(height)
    shown = np.append(height[finite], [] if value is None else [value])
    margin = 0.08 * float(np.ptp(shown)) if len(shown) and np.ptp(shown) else 1.0
    beyond = 0.0 if not len(shown) else float(shown.max() + margin if instance.program.sense == "min" else shown.min() - margin)
    x, y = positions([node.parent for node in nodes]).tolist(), np.where(finite, height, beyond).tolist()
    scene = Scene(titled(instance, len(nodes), value), "leaves, from left to right", "bound of the node")
    for k, node in enumerate(nodes):
        branched = f"branches on {names[node.variable]}" if node.variable >= 0 else "leaf"
        text = f"node {k}, depth {node.depth}: {branched}\n" + (f"bound {short(bounds[k])}" if finite[k] else "infeasible")
        scene.points.append((x[k], y[k], text, -1, "" if node.variable >= 0 else "depot" if finite[k] else "out"))
        if node.parent >= 0:
            scene.lines.append(([x[node.parent], x[k]], [y[node.parent], y[k]], "", -1))
    if value is not None:
        scene.lines.append(([0.0, max(x)], [value, value], f"incumbent {short(value)}", -1))
    scene.note = "circles are branched on, squares are leaves, hollow circles are infeasible; the level line is the incumbent"
    return scene
