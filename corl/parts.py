"""The three optional parts of a problem: files, decision process, pictures.

`Problem` inherits from all three. A required method that a problem family does not override raises an error of one line. A family
may put a large part into a class of its own: `class Tsp(TspFiles, Problem)`. "Own form" means the family's form of a solution.
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
    from corl.online.stream import Stream
    from corl.policy import NamedPolicy
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["Files", "Pictures", "Process"]


class Files:
    """Input and output of instances and solutions: files, JSON values, and objects that users hold already."""

    name: ClassVar[str]  # this and the next: see Problem
    instance_type: ClassVar[type]
    suffixes: ClassVar[Sequence[str]] = ()
    """File name endings of the family's own solution files, for `--output` (".tour")."""
    instance_suffixes: ClassVar[Sequence[str]] = ()
    """File name endings that only instances of this problem have (".tsp"), used if the content fits several problems."""

    solution_formats: ClassVar[Sequence[str]] = ()
    """Names of other programs' formats in which solutions can be written, for `--format`."""

    def recognises(self, head: str) -> bool:
        """Return whether a file whose first 4096 characters are `head` looks like an instance of this problem."""
        return False

    def read(self, path: Path) -> Any:
        """Return the Instance in a file. Raises only InputError, with file, line and field, and OSError."""
        raise UsageError(f"{self.name} has no instance files")

    def write(self, instance: Any, path: Path) -> None:
        """Write an Instance so that `read` returns an equal one."""
        raise UsageError(f"{self.name} has no instance files")

    def adapts(self, data: Any) -> bool:
        """Return whether `adapt` can convert `data`, and no other problem's can, so that `corl.solve(data)` needs no `problem`.

        It must import nothing.
        """
        return False

    def adapt(self, data: Any) -> Any:
        """Return an Instance from the user's data, such as arrays or graphs. Raises InputError, naming what is accepted."""
        accepted = f"a path or a {self.instance_type.__name__}"
        raise InputError(f"{kind_of(data)} cannot be read as an instance of {self.name}; accepted: {accepted}")

    def tracer(self) -> Callable[..., Any]:
        """Return the function (*, model: str, **parameters) -> Instance that `corl trace` calls."""
        raise UsageError(f"models cannot be traced to instances of {self.name}")

    def read_solution(self, instance: Any, path: Path) -> Any:
        """Return the Solution in a file of the family's own format."""
        raise UsageError(f"{self.name} has no own format of solution files; use JSON")

    def write_solution(self, instance: Any, solution: Any, path: Path) -> None:
        """Write a Solution in the family's own format, with the ids of the instance's file."""
        raise UsageError(f"{self.name} has no own format of solution files; use a .json name")

    def solution_text(self, instance: Any, solution: Any, form: str) -> str:
        """Return a Solution as text in a format of another program, one of `solution_formats`."""
        raise UsageError(f"solutions of {self.name} are not written in another program's format")

    def to_json(self, instance: Any, solution: Any) -> Any:
        """Return the solution as JSON values, with the ids of the instance's file."""
        return solution.tolist() if hasattr(solution, "tolist") else solution

    def from_json(self, instance: Any, value: Any) -> Any:
        """Return the solution from the JSON values that `to_json` returned. Raises InputError for malformed values.

        By default a list becomes a NumPy array.
        """
        if not isinstance(value, list):
            return value
        import numpy as np

        try:
            return np.asarray(value)
        except (ValueError, OverflowError) as error:
            raise InputError(f"not an array: {error}") from error

    def schemas(self) -> Mapping[str, dict[str, Any]]:
        """Return JSON schemas (2020-12): "instance" of JSON files, if the family has them; "solution" of `to_json`'s values."""
        return {}


class Process:
    """The problem as a Markov decision process, and the features of its states."""

    name: ClassVar[str]
    features: ClassVar[Mapping[str, Callable[[Mapping[str, Any]], Tokens]]] = {}
    """Name -> function from an observation of the environment to a network's tokens; the first is the default."""
    environments: ClassVar[Sequence[str]] = ()
    """Names of its environments, if there are several; the first is the default."""
    solutions_are_policies: ClassVar[bool] = False
    """Whether a solution is a policy, which `evaluate` simulates, and not the outcome of one episode; see `policy_solution`."""

    def environment(self, instances: Sequence[Any], rows: int, width: int | None = None, name: str = "") -> Environment:
        """Return an environment: a pool of `rows` states of `instances`.

        Args:
            instances: At least one.
            rows: The number of states.
            width: The greatest number of actions that are listed; None: the environment's choice.
            name: One of `environments`; "": the first. Raises UsageError for an unknown name.
        """
        raise UsageError(f"{self.name} has no environment")

    def environment_name(self, name: str) -> str:
        """Return `name`, or for "" the name of the first environment. Raises UsageError for an unknown name."""
        if name and name not in self.environments:
            raise UsageError(unknown(f"{self.name} has no environment", name, self.environments))
        return name or next(iter(self.environments), "")

    def realised_instance(self, instance: Any, key: int) -> Any:
        """Return the instance with the random events of an episode, for the evaluation of the episode's solution.

        The objective value of that solution is the base value plus the rewards (the negative when minimising). The default,
        `instance` itself, is for problems without random events.

        Args:
            instance: The instance that a row was reset to.
            key: The key of that reset.
        """
        return instance

    def decisions(self, instance: Any, solution: Any, key: int = 0, name: str = "") -> NDArray[np.integer]:
        """Return the actions, int [T], that lead from `reset` to `solution`, or to a solution of equal objective value.

        Imitation learns from these actions. Raises UsageError if the problem has no environment or cannot determine them.

        Args:
            instance: The instance.
            solution: A feasible solution.
            key: The key of `reset`.
            name: The name of the environment.
        """
        raise UsageError(f"{self.name} does not determine the decisions that lead to a solution")

    def policy_solution(self, instance: Any, policy: NamedPolicy) -> Any:
        """Return a policy as a solution, if solutions are policies. Raises InputError for a policy that does not fit."""
        raise UsageError(f"a solution of {self.name} is no policy")

    def stream(self, instance: Any) -> Stream:
        """Return how instances like this one are revealed over time (corl.online). Raises UsageError if they are not."""
        raise UsageError(f"instances of {self.name} are not revealed over time")

    def default_policy(self, instance: Any) -> str:
        """Return the name of the shipped policy (`corl.load_policy`) for instances of this kind; "" if there is none."""
        return ""

    def symmetries(self, instance: Any) -> list[Any]:
        """Return instances with the same solutions and objective values, but other features; the first is `instance`."""
        return [instance]

    def start_count(self, instance: Any) -> int:
        """Return the number n of start states: `Environment.reset` with the keys 0, ..., n - 1 begins in different states."""
        return 1

    @property
    def takes_policies(self) -> bool:
        """Whether the problem has an environment, and features for networks."""
        return self.has_environment and bool(self.features)

    @property
    def has_stream(self) -> bool:
        """Whether instances may be revealed over time."""
        return type(self).stream is not Process.stream

    @property
    def has_environment(self) -> bool:
        """Whether the problem has an environment."""
        return type(self).environment is not Process.environment

    @property
    def has_decisions(self) -> bool:
        """Whether `decisions` is implemented."""
        return type(self).decisions is not Process.decisions


class Pictures:
    """Pictures of instances and solutions: a drawing, a scene for pages, a table."""

    name: ClassVar[str]

    def draw(self, instance: Any, solution: Any, axes: Axes) -> None:
        """Draw a solution (or, with None, the instance) on matplotlib axes."""
        raise UsageError(f"{self.name} has no drawing")

    def table(self, instance: Any, solution: Any) -> list[dict[str, Any]]:
        """Return the rows of `Result.table` for a problem without a picture (`view`): name -> number or text."""
        return []

    def view_against(self, instance: Any, solution: Any, other: Any) -> Scene:
        """Return the picture of a solution with marks where it differs from another one, which need not be feasible.

        Raises UsageError if the family has no such picture.
        """
        raise UsageError(f"pages of {self.name} do not compare two solutions")

    def view(self, instance: Any, solution: Any) -> Scene | None:
        """Return the picture of a solution (if None: of the instance) for `corl view`; None if the family has no picture."""
        return None
