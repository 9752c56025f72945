"""MilpBranching: the `corl.Problem` of finding a small branch-and-bound tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import InputError
from corl.files.json_values import is_number
from corl.problems.milp.instance import MilpInstance
from corl.problems.milp.problem import Milp
from corl.problems.milp_branching.generators import GENERATORS
from corl.problems.milp_branching.instance import BranchingInstance, BranchingTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.problems.milp_branching.environment import BranchingEnvironment
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["MilpBranching"]


def _candidates(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.milp_branching.features.candidates."""
    from corl.problems.milp_branching.features import candidates

    return candidates(observation)


class MilpBranching(Problem):
    """Find the branch-and-bound tree with the fewest nodes that proves a program's optimum. A solution is a BranchingTree."""

    name = "milp-branching"
    title = "branch and bound itself: the fewest nodes that prove the optimum of a mixed-integer program"
    instance_type = BranchingInstance
    generators = GENERATORS
    features = {"candidates": _candidates}  # noqa: RUF012

    def evaluate(self, instance: BranchingInstance, solution: Any) -> float:
        """Return the number of nodes of a tree. Raises Infeasible if the tree is not a proof, naming a node."""
        from corl.problems.milp_branching.evaluation import objective

        return objective(instance, solution)

    def read(self, path: Path) -> BranchingInstance:
        """Return the instance of the program in an MPS or LP file. Raises InputError.

        Callers must name the problem, because such files are recognised as instances of `milp`.
        """
        try:
            return BranchingInstance(Milp().read(path))
        except InputError as error:
            raise (error if error.file else InputError(error.reason, file=str(path), field=error.field)) from None

    def write(self, instance: BranchingInstance, path: Path) -> None:
        """Write the program as .mps or .lp."""
        Milp().write(instance.program, path)

    def adapt(self, data: Any) -> BranchingInstance:
        """Return the instance of a MilpInstance or a pyscipopt Model."""
        return BranchingInstance(data if isinstance(data, MilpInstance) else Milp().adapt(data))

    def to_json(self, instance: BranchingInstance, solution: Any) -> dict[str, Any]:
        """Return {"tree": [...], "incumbent": a solution as in `milp`, or null}.

        The tree lists its nodes in preorder: null for a leaf, otherwise [variable, floor, first child: "up" or "down"].
        """
        names = instance.program.names
        nodes = zip(solution.variable.tolist(), solution.floor.tolist(), solution.up_first.tolist())
        tree = [None if j < 0 else [names[j], f, "up" if up else "down"] for j, f, up in nodes]
        best = solution.incumbent
        return {"tree": tree, "incumbent": None if best is None else Milp().to_json(instance.program, best)}

    def from_json(self, instance: BranchingInstance, value: Any) -> BranchingTree:
        """Return the inverse of `to_json`. Raises InputError for anything else."""
        if not isinstance(value, dict) or not isinstance(value.get("tree"), list) or "incumbent" not in value:
            raise InputError('accepted: {"tree": [...], "incumbent": {...} or null}', field="solution")
        nodes = [_node(entry, instance.program.index) for entry in value["tree"]]
        best = value["incumbent"]
        incumbent = None if best is None else Milp().from_json(instance.program, best)
        variable, floor, up = ([node[k] for node in nodes] for k in range(3))
        return BranchingTree(np.array(variable, np.int32), np.array(floor, np.float64), np.array(up, np.bool_), incumbent)

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.fields import Array, Choice, Either, Null, Number, Object, Row, String, Table, document

        node = Row(String(), Number(), Choice(("up", "down")))
        tree = Object({"tree": Array(Either(node, Null())), "incumbent": Either(Table(Number()), Null())}, open=True)
        return {"solution": document("corl milp-branching solution: a tree in preorder, null for a leaf", tree)}

    def describe(self, instance: BranchingInstance) -> dict[str, Any]:
        """Return facts for `corl info`: those of the program."""
        return Milp().describe(instance.program)

    def draw(self, instance: BranchingInstance, solution: Any, axes: Axes) -> None:
        """Draw the tree with each node at the height of its bound; without a solution, the program's matrix."""
        from corl.problems.milp_branching.drawing import draw

        if solution is None:
            Milp().draw(instance.program, None, axes)
        else:
            draw(instance, solution, axes)

    def view(self, instance: BranchingInstance, solution: Any) -> Scene | None:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.milp_branching.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[BranchingInstance], rows: int, width: int | None = None, name: str = ""
    ) -> BranchingEnvironment:
        """Return the environment of depth-first branch and bound, which lists the `width` (64) most fractional variables."""
        from corl.problems.milp_branching.environment import BranchingEnvironment

        self.environment_name(name)
        return BranchingEnvironment(instances, rows, 64 if width is None else width)

    def decisions(self, instance: BranchingInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the variables branched on, in preorder. Raises UsageError for a tree that the environment does not build."""
        from corl.problems.milp_branching.decisions import decisions

        return decisions(instance, solution)

    def warm_up_instance(self, instance: BranchingInstance) -> BranchingInstance:
        """Return a small program, a multiple knapsack problem of four items and two knapsacks."""
        return BranchingInstance(Milp().warm_up_instance(instance.program))


def _node(entry: Any, index: Mapping[str, int]) -> tuple[int, float, bool]:
    """Return (variable, floor, whether the up child is first) of a node in JSON. Raises InputError."""
    if entry is None:
        return -1, 0.0, False
    named = isinstance(entry, list) and len(entry) == 3 and isinstance(entry[0], str) and entry[0] in index
    if not named or not is_number(entry[1]) or entry[2] not in ("up", "down"):
        raise InputError('accepted: null, or [variable, number, "up" or "down"]', field="tree")
    return index[entry[0]], float(entry[1]), entry[2] == "up"
