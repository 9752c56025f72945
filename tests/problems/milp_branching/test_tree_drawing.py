"""Pictures of trees: the layout by hand, nodes at their bounds, and a file written from a result."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import corl
from corl.problems.milp_branching.drawing import draw_tree, positions
from corl.problems.milp_branching.generators import GENERATORS

PARENT = [-1, 0, 1, 1, 0]  # the root's children 1 and 4, whose first has two leaves


def test_layout():
    """Leaves side by side in preorder, a node in the middle of its children; a chain of 5,000 needs no recursion."""
    assert positions(PARENT).tolist() == [1.25, 0.5, 0.0, 1.0, 2.0]
    assert positions([-1]).tolist() == [0.0]
    assert not positions(np.arange(-1, 4999)).any()


@pytest.mark.parametrize("sense", ["min", "max"])
def test_nodes_stand_at_their_bounds(sense):
    """Each finite bound is the height of a mark, infeasible ones are beyond all, and better bounds are higher up."""
    sign = 1.0 if sense == "min" else -1.0
    axes = Figure().add_subplot()
    draw_tree(PARENT, sign * np.array([1.0, 2.0, np.inf, 4.0, 3.0]), axes, value=sign * 3.5, sense=sense)
    marks = {part.get_label(): np.asarray(part.get_offsets())[:, 1].tolist() for part in axes.collections}
    assert marks["branched on"] == [sign, sign * 2.0] and marks["leaf"] == [sign * 4.0, sign * 3.0]
    assert sign * marks["infeasible"][0] > 4.0 and axes.yaxis_inverted() == (sense == "min")


def test_results_plot_their_tree(tmp_path):
    """`result.plot` of a solved tree writes SVG and PNG, whose title counts the nodes."""
    result = corl.solve(GENERATORS["auctions"](size=40, seed=1), solver="rule", iterations=100)
    for name in ("tree.svg", "tree.png"):
        result.plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    assert "<svg" in (tmp_path / "tree.svg").read_text(encoding="utf-8")
