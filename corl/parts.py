"""The three optional parts of a problem, each of which a family may leave out: files, decision process, pictures.

`Problem` has them as its bases, and what a family does not override says in one line that it is not there. A family with much of
one may write it as a class of its own: `class Tsp(TspFiles, Problem)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import InputError, UsageError, kind_of, unknown

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.policy import NamedPolicy
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["Files", "Pictures", "Process"]


class Files:
    """How instances and solutions come in and go out: files, JSON values, and what users hold already."""

    name: ClassVar[str]
    instance_type: ClassVar[type]
    suffixes: ClassVar[Sequence[str]] = ()
    """File name endings of its own solution files, for `--output` (".tour")."""
    instance_suffixes: ClassVar[Sequence[str]] = ()
    """File name endings that instances of this problem alone have (".tsp"): they decide where the content does not."""

    def recognises(self, head: str) -> bool:
        """Whether a file whose first 4096 characters are `head` looks like an instance of this problem."""
        return False

    def read(self, path: Path) -> Any:
        """The Instance in a file. Raises InputError with file, line and field, and nothing else but OSError."""
        raise UsageError(f"{self.name} has no instance files")

    def write(self, instance: Any, path: Path) -> None:
        """Write an Instance so that `read` gives the same one back."""
        raise UsageError(f"{self.name} has no instance files")

    def adapts(self, data: Any) -> bool:
        """Whether `data` can be meant for this problem alone: `corl.solve(data)` then takes it so. Imports nothing for it."""
        return False

    def adapt(self, data: Any) -> Any:
        """An Instance from what users hold already (arrays, graphs, models). Raises InputError with what is accepted."""
        accepted = f"a path or a {self.instance_type.__name__}"
        raise InputError(f"{kind_of(data)} cannot be read as an instance of {self.name}; accepted: {accepted}")

    def tracer(self) -> Callable[..., Any]:
        """The function (*, model: str, **parameters) -> Instance behind `corl trace`."""
        raise UsageError(f"models cannot be traced to instances of {self.name}")

    def read_solution(self, instance: Any, path: Path) -> Any:
        """The Solution in a file of the family's own format."""
        raise UsageError(f"{self.name} has no solution files of its own; use JSON")

    def write_solution(self, instance: Any, solution: Any, path: Path) -> None:
        """Write a Solution in the family's own format, in the instance file's own ids."""
        raise UsageError(f"{self.name} has no solution files of its own; use a .json name")

    def to_json(self, instance: Any, solution: Any) -> Any:
        """The solution as JSON values, in the instance file's own ids."""
        return solution.tolist() if hasattr(solution, "tolist") else solution

    def from_json(self, instance: Any, value: Any) -> Any:
        """The inverse of `to_json`; raises InputError for values that are no solution at all.

        Unless overridden, a list becomes a NumPy array.
        """
        if not isinstance(value, list):
            return value
        import numpy as np

        try:
            return np.asarray(value)
        except (ValueError, OverflowError) as error:
            raise InputError(f"not an array: {error}") from error

    def schemas(self) -> Mapping[str, dict[str, Any]]:
        """JSON schemas (2020-12): "instance", where its files can be JSON, and "solution", of what `to_json` gives."""
        return {}


class Process:
    """The problem as a Markov decision process, and what policies that decide in it see."""

    name: ClassVar[str]
    features: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], Tokens]]] = {}
    """Name -> function from an observation of the environment to what networks see; the first is the default."""
    environments: ClassVar[Sequence[str]] = ()
    """Names of its environments, where it has several; the first is the default."""
    solutions_are_policies: ClassVar[bool] = False
    """Whether a solution is a policy, which the judge plays, not what one episode came to; `policy_solution` then makes it."""

    def environment(self, instances: Sequence[Any], rows: int, width: int | None = None, name: str = "") -> Environment:
        """The problem as an MDP: a pool of `rows` states over `instances` listing at most `width` actions (None: its choice).

        `name` is one of `environments`, "" the first. Raises UsageError for another.
        """
        raise UsageError(f"{self.name} has no environment")

    def environment_name(self, name: str) -> str:
        """The name of an environment, that of the first for "". Raises UsageError for one that there is not."""
        if name and name not in self.environments:
            raise UsageError(unknown(f"{self.name} has no environment", name, self.environments))
        return name or next(iter(self.environments), "")

    def episode(self, instance: Any, key: int) -> Any:
        """The instance that judges the solution of a row which was reset to `instance` with this key: `evaluate` of it is base +
        rewards (its negative where the problem minimises). Unless overridden, and where nothing is random, `instance` itself.
        """
        return instance

    def decisions(self, instance: Any, solution: Any, key: int = 0, name: str = "") -> NDArray[np.integer]:
        """The actions, int [T], that lead the environment of that name from `reset` with this key to `solution` (or one as good).

        Imitation learns from them. Raises UsageError where the problem has no environment or no such order.
        """
        raise UsageError(f"{self.name} cannot tell the decisions that lead to a solution")

    def policy_solution(self, instance: Any, policy: NamedPolicy) -> Any:
        """The solution that is this policy, where solutions are policies. Raises InputError for a policy that does not fit."""
        raise UsageError(f"a solution of {self.name} is no policy")

    def default_policy(self, instance: Any) -> str:
        """The name of the shipped policy (`corl.load_policy`) for instances of this kind; "" if there is none."""
        return ""

    def symmetries(self, instance: Any) -> list[Any]:
        """Instances with the same solutions, each worth the same, that a network may see differently; `instance` is the first."""
        return [instance]

    def starts(self, instance: Any) -> int:
        """How many keys, 0, 1, ..., make `Environment.reset` begin in different states."""
        return 1

    @property
    def takes_policies(self) -> bool:
        """Whether there is an environment, and features for networks to see."""
        return self.has_environment and bool(self.features)

    @property
    def has_environment(self) -> bool:
        """Whether the problem is a decision process at all."""
        return type(self).environment is not Process.environment

    @property
    def has_decisions(self) -> bool:
        """Whether the decisions that lead to a solution can be told."""
        return type(self).decisions is not Process.decisions


class Pictures:
    """What people see of a solution: a drawing, a scene for pages, a table."""

    name: ClassVar[str]

    def draw(self, instance: Any, solution: Any, axes: Axes) -> None:
        """Draw a solution (or, with None, the instance) on matplotlib axes."""
        raise UsageError(f"{self.name} has no drawing")

    def table(self, instance: Any, solution: Any) -> list[dict[str, Any]]:
        """The rows of `Result.table` for a problem without a picture (`view`): name -> number or text."""
        return []

    def view(self, instance: Any, solution: Any) -> Scene | None:
        """What a page (`corl view`) shows of a solution or, with None, of the instance; None where there is no picture."""
        return None
