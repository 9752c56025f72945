"""What a page shows of a branch-and-bound tree: nodes as high as their bounds, and what each branches on."""

from __future__ import annotations

import numpy as np

from corl.problems.milp_branching.drawing import positions, proof_of, titled
from corl.problems.milp_branching.instance import BranchingInstance, BranchingTree
from corl.view.scene import Scene, short

__all__ = ["scene_of"]


def scene_of(instance: BranchingInstance, tree: BranchingTree | None) -> Scene | None:
    """Infeasible nodes stand a little beyond the worst bound; without a solution there is nothing to see."""
    if tree is None:
        return None
    nodes, bounds, value = proof_of(instance, tree)
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
