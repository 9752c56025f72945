"""Milp: the `corl.Problem` of mixed-integer linear programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import InputError
from corl.files.json_values import is_number
from corl.problems.milp.generators import GENERATORS
from corl.problems.milp.instance import MilpInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MaximisedMilp", "Milp"]


class Milp(Problem):
    """Mixed-integer linear programs, from MPS and LP files and pyscipopt Models.

    A solution is the variables' values, float64 [n].
    """

    name = "milp"
    title = "mixed-integer linear programs, minimised or maximised as the instance says"
    sense: ClassVar[Literal["min", "max"]] = "min"
    instance_type = MilpInstance
    generators = GENERATORS
    suffixes = (".sol",)
    instance_suffixes = (".lp", ".mps")

    def with_sense_of(self, instance: MilpInstance) -> Milp:
        """Return the problem with the instance's sense, which minimises or maximises."""
        return MaximisedMilp() if instance.sense == "max" else Milp()

    def infeasible(self, instance: MilpInstance) -> str:
        """Return why the program is infeasible, if single limits prove it; "" otherwise."""
        from corl.problems.milp.evaluation import contradiction

        return contradiction(instance)

    def evaluate(self, instance: MilpInstance, solution: Any) -> float:
        """Return the objective value. Raises Infeasible, naming the first bound, integer or row that is violated."""
        from corl.problems.milp.evaluation import objective

        return objective(instance, solution)

    def tolerance_note(self, instance: MilpInstance, solution: Any) -> str:
        """Return the largest violation of a bound, an integer or a row within the tolerance of 1e-6; "" if there is none."""
        from corl.problems.milp.evaluation import violation

        return violation(instance, np.asarray(solution, np.float64))

    def recognises(self, head: str) -> bool:
        """Return whether `head` is the beginning of an MPS or LP file."""
        from corl.problems.milp.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> MilpInstance:
        """Return the instance in an MPS or LP file. Raises InputError or OSError."""
        from corl.problems.milp.formats import read_instance

        return read_instance(path)

    def write(self, instance: MilpInstance, path: Path) -> None:
        """Write an .mps or .lp file, compressed if the name ends in .gz."""
        from corl.problems.milp.formats import write_instance

        write_instance(instance, path)

    def adapts(self, data: Any) -> bool:
        """Return whether `data` is a pyscipopt Model."""
        return type(data).__name__ == "Model" and type(data).__module__.partition(".")[0] == "pyscipopt"

    def adapt(self, data: Any) -> MilpInstance:
        """Return the instance of a pyscipopt Model with linear constraints, before it is solved."""
        from corl.problems.milp.formats.models import adapt

        return adapt(data)

    def read_solution(self, instance: MilpInstance, path: Path) -> NDArray[np.float64]:
        """Return the solution in a .sol file."""
        from corl.problems.milp.formats.solutions import read_solution

        return read_solution(instance, path)

    def write_solution(self, instance: MilpInstance, solution: Any, path: Path) -> None:
        """Write a .sol file in SCIP's form."""
        from corl.problems.milp.formats.solutions import write_solution

        write_solution(instance, solution, path)

    def to_json(self, instance: MilpInstance, solution: Any) -> dict[str, float]:
        """Return {name of a variable: value}, without variables that are 0."""
        x = np.asarray(solution, np.float64)
        return {instance.names[j]: float(x[j]) for j in np.flatnonzero(x).tolist()}

    def from_json(self, instance: MilpInstance, value: Any) -> NDArray[np.float64]:
        """Return the inverse of `to_json`. Raises InputError for anything else."""
        if not isinstance(value, dict) or not all(is_number(number) for number in value.values()):
            raise InputError("accepted: {variable: number, ...}", field="solution")
        x = np.zeros(instance.n)
        for name, number in value.items():
            j = instance.index.get(name)
            if j is None:
                raise InputError("no variable has this name", field=str(name)[:40])
            x[j] = number
        return x

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.fields import Number, Table, document

        return {"solution": document("corl milp solution: {variable: value}, zeros left out", Table(Number()))}

    def describe(self, instance: MilpInstance) -> dict[str, Any]:
        """Return facts for `corl info`."""
        facts: dict[str, Any] = {
            "sense": instance.sense,
            "variables": instance.n,
            "binary": int(instance.binary.sum()),
            "integer": int(instance.integer.sum()),
            "constraints": instance.m,
            "equations": int((instance.row_lower == instance.row_upper).sum()),
            "nonzeros": instance.nonzeros,
        }
        if instance.conditions is not None:
            facts["semi-continuous"] = int(instance.conditions.semicontinuous.sum())
            facts["ordered sets"] = len(instance.conditions.sets)
            facts["rows with indicators"] = int((instance.conditions.indicator >= 0).sum())
        if instance.comment:
            facts["comment"] = " / ".join(line for line in instance.comment.splitlines() if line)[:200]
        return facts

    def table(self, instance: MilpInstance, solution: Any) -> list[dict[str, Any]]:
        """Return a row for each variable, including zeros: its name, its value and its coefficient in the objective."""
        columns = zip(instance.names, np.asarray(solution, np.float64).tolist(), instance.c.tolist())
        return [{"variable": name, "value": value, "objective": weight} for name, value, weight in columns]

    def draw(self, instance: MilpInstance, solution: Any, axes: Axes) -> None:
        """Draw the matrix with one mark per entry; with a solution, columns of variables that are 0 are pale."""
        from corl.problems.milp.drawing import draw

        draw(instance, solution, axes)

    def warm_up_instance(self, instance: MilpInstance) -> MilpInstance:
        """Return a small program, a multiple knapsack problem, for which solvers compile the same kernels."""
        from corl.problems.milp.generators import multiple_knapsack

        return multiple_knapsack(items=4, knapsacks=2)


class MaximisedMilp(Milp):
    """Mixed-integer linear programs that are maximised."""

    sense = "max"
