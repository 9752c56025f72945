"""MilpBranching: the adapter of branch and bound as a problem of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError, UsageError
from corl.problem import Problem
from corl.problems.milp.branching.instance import BranchingInstance, BranchingTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.networks.tokens import Tokens
    from corl.problems.milp.branching.environment import BranchingEnvironment

__all__ = ["GENERATORS", "MilpBranching"]


def set_cover(*, size: int = 120, seed: int = 0) -> BranchingInstance:
    """Set cover of `size` columns, half as many rows, and one entry in ten."""
    from corl.problems.milp import generators

    return BranchingInstance(generators.set_cover(rows=size // 2, columns=size, density=0.1, seed=seed))


def multiple_knapsack(*, size: int = 8, seed: int = 0) -> BranchingInstance:
    """`size` items in two knapsacks."""
    from corl.problems.milp import generators

    return BranchingInstance(generators.multiple_knapsack(items=size, knapsacks=2, seed=seed))


def independent_set(*, size: int = 100, seed: int = 0) -> BranchingInstance:
    """The largest independent set of a graph of `size` nodes."""
    from corl.problems.milp import generators

    return BranchingInstance(generators.independent_set(nodes=size, seed=seed))


def auctions(*, size: int = 150, seed: int = 0) -> BranchingInstance:
    """`size` bids for a fifth as many items."""
    from corl.problems.milp import generators

    return BranchingInstance(generators.auctions(items=max(2, size // 5), bids=size, seed=seed))


GENERATORS: Mapping[str, Callable[..., BranchingInstance]] = {
    "set-cover": set_cover, "auctions": auctions, "independent-set": independent_set, "multiple-knapsack": multiple_knapsack,
}  # fmt: skip
"""Of the families of `milp`, sizes whose trees have tens to hundreds of nodes; the first is the default."""


def _candidates(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.milp.branching.tokens.candidates."""
    from corl.problems.milp.branching.tokens import candidates

    return candidates(observation)


class MilpBranching(Problem):
    """Find the branch-and-bound tree of the fewest nodes that proves a program's optimum. A solution is a BranchingTree."""

    name = "milp-branching"
    title = "branch and bound itself: the fewest nodes that prove the optimum of a mixed-integer program"
    instance_type = BranchingInstance
    generators = GENERATORS
    features = {"candidates": _candidates}  # noqa: RUF012

    def evaluate(self, instance: BranchingInstance, solution: Any) -> float:
        """The number of nodes of a tree that is a proof. Raises Infeasible, naming the first node that is none."""
        from corl.problems.milp.branching.evaluation import check_tree

        return float(check_tree(instance, solution))

    def read(self, path: Path) -> BranchingInstance:
        """The program in an MPS or LP file; it must be asked for by name, since such files are `milp`'s. Raises InputError."""
        from corl.problems.milp.formats import read_instance

        try:
            return BranchingInstance(read_instance(path))
        except InputError as error:
            raise (error if error.file else InputError(error.reason, file=str(path), field=error.field)) from None

    def write(self, instance: BranchingInstance, path: Path) -> None:
        """Write the program as .mps or .lp."""
        from corl.problems.milp.formats import write_instance

        write_instance(instance.program, path)

    def adapt(self, data: Any) -> BranchingInstance:
        """From a MilpInstance or a pyscipopt Model."""
        from corl.problems.milp.adaptation import adapt
        from corl.problems.milp.instance import MilpInstance

        return BranchingInstance(data if isinstance(data, MilpInstance) else adapt(data))

    def to_json(self, instance: BranchingInstance, solution: Any) -> dict[str, Any]:
        """{"tree": [in preorder null for a leaf, else [variable, floor, "up" or "down" first]], "incumbent": as milp's}."""
        from corl.problems.milp.problem import Milp

        names = instance.program.names
        nodes = zip(solution.variable.tolist(), solution.floor.tolist(), solution.up_first.tolist())
        tree = [None if j < 0 else [names[j], f, "up" if up else "down"] for j, f, up in nodes]
        best = solution.incumbent
        return {"tree": tree, "incumbent": None if best is None else Milp().to_json(instance.program, best)}

    def from_json(self, instance: BranchingInstance, value: Any) -> BranchingTree:
        """The inverse of `to_json`. Raises InputError for anything else."""
        from corl.files import is_number
        from corl.problems.milp.problem import Milp

        if not isinstance(value, dict) or not isinstance(value.get("tree"), list) or "incumbent" not in value:
            raise InputError('accepted: {"tree": [...], "incumbent": {...} or null}', field="solution")
        index, nodes = instance.program.index, []
        for node in value["tree"]:
            if node is None:
                nodes.append((-1, 0.0, False))
            elif (
                isinstance(node, list)
                and len(node) == 3
                and node[0] in index
                and is_number(node[1])
                and node[2] in ("up", "down")
            ):
                nodes.append((index[node[0]], float(node[1]), node[2] == "up"))
            else:
                raise InputError('accepted: null, or [variable, number, "up" or "down"]', field="tree")
        best = value["incumbent"]
        incumbent = None if best is None else Milp().from_json(instance.program, best)
        variable, floor, up = ([node[k] for node in nodes] for k in range(3))
        return BranchingTree(np.array(variable, np.int32), np.array(floor, np.float64), np.array(up, np.bool_), incumbent)

    def describe(self, instance: BranchingInstance) -> dict[str, Any]:
        """Facts for `corl info`: those of the program."""
        from corl.problems.milp.problem import Milp

        return Milp().describe(instance.program)

    def draw(self, instance: BranchingInstance, solution: Any, axes: Axes) -> None:
        """The tree, its nodes as high as their bounds; without a solution the program's matrix."""
        from corl.problems.milp.drawing import draw_matrix
        from corl.problems.milp.tree_drawing import draw_proof

        if solution is None:
            draw_matrix(instance.program, None, axes)
        else:
            draw_proof(instance, solution, axes)

    def environment(self, instances: Sequence[BranchingInstance], rows: int, width: int | None = None) -> BranchingEnvironment:
        """Depth-first branch and bound, listing the 64 most fractional variables where `width` is None."""
        from corl.problems.milp.branching.environment import BranchingEnvironment

        return BranchingEnvironment(instances, rows, 64 if width is None else width)

    def decisions(self, instance: BranchingInstance, solution: Any, key: int = 0) -> NDArray[np.int64]:
        """The variables branched on, in preorder. Raises UsageError for a tree that is not the environment's own.

        (Another solver's may branch where the environment, which goes depth first to the nearer child, finds nothing fractional.)
        """
        environment = self.environment([instance], 1)
        taken = np.asarray(solution.variable, np.int64)
        taken = taken[taken >= 0]
        for j in taken.tolist():
            try:
                environment.step([0], [0], [j])
            except UsageError:
                raise UsageError("this tree is not one that the environment can grow, depth first to the nearer child") from None
        environment.solution(0)
        return taken

    def miniature(self, instance: BranchingInstance) -> BranchingInstance:
        """Four items and two knapsacks."""
        from corl.problems.milp import generators

        return BranchingInstance(generators.multiple_knapsack(items=4, knapsacks=2))
