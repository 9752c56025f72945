"""Pictures of trees: the layout by hand, bounds of a small tree, and a file written from a result."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.problems.milp.branching.problem import GENERATORS
from corl.problems.milp.tree_drawing import draw_progress, draw_tree, global_bounds, layout

PARENT = [-1, 0, 1, 1, 0]  # the root's children 1 and 4, whose first has two leaves


def test_layout():
    """Leaves side by side in preorder, a node in the middle of its children; a chain of 5,000 needs no recursion."""
    assert layout(PARENT).tolist() == [1.25, 0.5, 0.0, 1.0, 2.0]
    assert layout([-1]).tolist() == [0.0]
    assert not layout(np.arange(-1, 4999)).any()


def test_global_bounds():
    """The least bound of a node with an unsolved child; infinite once there is none."""
    assert global_bounds(PARENT, [1.0, 2.0, 5.0, 4.0, 3.0]).tolist() == [1.0, 1.0, 1.0, 1.0, np.inf]
    assert global_bounds([-1, 0, 0, 2, 2], [1.0, 9.0, 2.0, 3.0, 4.0]).tolist() == [1.0, 1.0, 2.0, 2.0, np.inf]


@pytest.mark.parametrize("sense", ["min", "max"])
def test_nodes_stand_at_their_bounds(sense):
    """Each finite bound is the height of a mark, infeasible ones are beyond all, and better bounds are higher up."""
    plt = pytest.importorskip("matplotlib.figure")
    sign = 1.0 if sense == "min" else -1.0
    axes = plt.Figure().add_subplot()
    draw_tree(PARENT, sign * np.array([1.0, 2.0, np.inf, 4.0, 3.0]), axes, value=sign * 3.5, sense=sense)
    marks = {part.get_label(): np.asarray(part.get_offsets())[:, 1].tolist() for part in axes.collections}
    assert marks["branched on"] == [sign, sign * 2.0] and marks["leaf"] == [sign * 4.0, sign * 3.0]
    assert sign * marks["infeasible"][0] > 4.0 and axes.yaxis_inverted() == (sense == "min")


def test_progress():
    """The bound rises to the incumbent, which appears when it is found."""
    plt = pytest.importorskip("matplotlib.figure")
    axes = plt.Figure().add_subplot()
    draw_progress(PARENT, [1.0, 2.0, 5.0, 4.0, 3.0], [np.inf, np.inf, 5.0, 4.0, 3.0], axes)
    drawn = {line.get_label(): np.asarray(line.get_xydata()).tolist() for line in axes.lines}
    assert drawn["incumbent"] == [[3, 5], [4, 4], [5, 3]]
    assert drawn["bound"] == [[1, 1], [2, 1], [3, 1], [4, 1], [5, 3]]


def test_results_plot_their_tree(tmp_path):
    """`result.plot` of a solved tree writes SVG and PNG, whose title counts the nodes."""
    result = corl.solve(GENERATORS["auctions"](size=40, seed=1), solver="rule", iterations=100)
    for name in ("tree.svg", "tree.png"):
        result.plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    assert "<svg" in (tmp_path / "tree.svg").read_text(encoding="utf-8")
