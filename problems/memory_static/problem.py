"""StaticAllocation: the adapter of static memory allocation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import Infeasible, InputError
from corl.files.text import quoted
from corl.problems.memory_static.generators import GENERATORS
from corl.problems.memory_static.instance import StaticInstance, make_instance, sections

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.problems.memory_static.environment import StaticEnvironment
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["StaticAllocation"]

_KEYS = ("lower", "upper", "size", "ids", "alignment", "fixed")
_ADAPTED = "accepted: an array [n, 3] of lower, upper, size, or an object of lists: lower, upper, size (ids, alignment, fixed)"


def _buffers(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.memory_static.features.buffers."""
    from corl.problems.memory_static.features import buffers

    return buffers(observation)


class StaticAllocation(Problem):
    """Offsets for buffers of fixed lifetimes; the height, the largest offset + size, is minimised.

    A solution is an integer array: the offsets, in the instance's order. Each method imports the modules that only it needs, so
    that `import corl.problems.memory_static.problem` loads no library but NumPy.
    """

    name = "memory-static"
    title = "static memory allocation: offsets for buffers of fixed lifetimes"
    instance_type = StaticInstance
    generators = GENERATORS
    features = {"buffers": _buffers}  # noqa: RUF012
    suffixes = (".csv",)

    def evaluate(self, instance: StaticInstance, solution: Any) -> float:
        """Return the height. Raises Infeasible, naming the first violation by buffer id."""
        from corl.problems.memory_static.evaluation import objective

        return objective(instance, solution)

    def recognises(self, head: str) -> bool:
        """Return whether the first line that is not a comment names the columns of minimalloc's CSV."""
        from corl.problems.memory_static.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> StaticInstance:
        """Return the instance in a CSV file. Raises InputError or OSError."""
        from corl.problems.memory_static.formats import read_instance

        return read_instance(path)

    def write(self, instance: StaticInstance, path: Path) -> None:
        """Write a CSV file from which `read` returns an equal instance."""
        from corl.problems.memory_static.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> StaticInstance:
        """Return the instance of an array or list of (lower, upper, size) rows, or of an object of lists.

        The object's keys are lower, upper, size and optionally ids, alignment and fixed. Raises InputError.
        """
        if isinstance(data, Mapping):
            data = {key: value for key, value in data.items() if (key, value) != ("problem", self.name)}
            if unknown := [key for key in data if key not in _KEYS]:
                raise InputError(f"no key {unknown[0]!r} is known; {_ADAPTED}")
            if missing := [key for key in _KEYS[:3] if key not in data]:
                raise InputError(f"the key {missing[0]!r} is missing; {_ADAPTED}")
            return make_instance("object", **data)
        try:
            rows = np.asarray(data)
        except ValueError:  # ragged
            raise InputError(f"no array; {_ADAPTED}") from None
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise InputError(f"an array of shape {list(rows.shape)} is no list of buffers; {_ADAPTED}")
        return make_instance("array", rows[:, 0], rows[:, 1], rows[:, 2])

    def read_solution(self, instance: StaticInstance, path: Path) -> NDArray[np.int64]:
        """Return the offsets in a CSV file. Raises InputError or Infeasible."""
        from corl.problems.memory_static.formats import read_offsets

        return read_offsets(instance, path)

    def write_solution(self, instance: StaticInstance, solution: Any, path: Path) -> None:
        """Write the instance's CSV with a column of offsets."""
        from corl.problems.memory_static.formats import write_offsets

        write_offsets(instance, np.asarray(solution, np.int64), path)

    def to_json(self, instance: StaticInstance, solution: Any) -> dict[str, int]:
        """Return {buffer: offset}, in the file's ids."""
        return dict(zip(instance.ids, np.asarray(solution, np.int64).tolist()))

    def from_json(self, instance: StaticInstance, value: Any) -> NDArray[np.int64]:
        """Return the offsets of a JSON object {buffer: offset}, int64 [n].

        Raises InputError for a value of another form, Infeasible if its buffers are not those of the instance.
        """
        if not isinstance(value, dict) or not all(type(offset) is int and abs(offset) < 2**62 for offset in value.values()):
            raise InputError("accepted: an object of buffers and their offsets, integers", field="solution")
        if missing := [name for name in instance.ids if name not in value]:
            raise Infeasible(f"buffer {missing[0]!r} has no offset")
        if len(value) > instance.n:
            known = set(instance.ids)
            raise Infeasible(f"there is no buffer {quoted(next(name for name in value if name not in known))}")
        return np.array([value[name] for name in instance.ids], np.int64)

    def tracer(self) -> Callable[..., StaticInstance]:
        """See corl.problems.memory_static.lifetimes.trace_buffers."""
        from corl.problems.memory_static.lifetimes import trace_buffers

        return trace_buffers

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.fields import Integer, Table, document

        return {"solution": document("corl memory-static solution: {buffer: offset}", Table(Integer()))}

    def describe(self, instance: StaticInstance) -> dict[str, Any]:
        """Return facts for `corl info`."""
        section_data = sections(instance)
        load = int(section_data.load.max())
        busy = float((section_data.load * np.diff(section_data.times).astype(np.float64)).sum()) / max(
            1, section_data.times[-1] - section_data.times[0]
        )
        facts: dict[str, Any] = {
            "buffers": instance.n,
            "sections": len(section_data.load),
            "load": load,
            "mean_load": f"{busy / max(1, load):.4g} of the largest",
            "sizes": f"{instance.size.min()} to {instance.size.max()}",
            "fixed": int((instance.fixed >= 0).sum()),
        }
        if (instance.alignment > 1).any():
            facts["alignment"] = f"up to {instance.alignment.max()}"
        if instance.comment:
            facts["comment"] = " / ".join(instance.comment.splitlines())
        return facts

    def draw(self, instance: StaticInstance, solution: Any, axes: Axes) -> None:
        """Draw memory over time: one rectangle per buffer, and the load."""
        from corl.problems.memory_static.drawing import draw

        draw(instance, solution, axes)

    def view(self, instance: StaticInstance, solution: Any) -> Scene:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.memory_static.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[StaticInstance], rows: int, width: int | None = None, name: str = ""
    ) -> StaticEnvironment:
        """Return an environment with `rows` states of `instances`, which places buffer after buffer at its lowest offset.

        At most `width` buffers are listed as actions.
        """
        from corl.problems.memory_static.environment import StaticEnvironment

        self.environment_name(name)
        return StaticEnvironment(instances, rows) if width is None else StaticEnvironment(instances, rows, width)

    def decisions(self, instance: StaticInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the buffers that are not fixed in increasing order of their offsets (corl.problems.memory_static.decisions)."""
        from corl.problems.memory_static.decisions import decisions

        self.environment_name(name)
        return decisions(instance, solution)

    def warm_up_instance(self, instance: StaticInstance) -> StaticInstance:
        """Return the instance with the first twelve buffers only."""
        n = min(instance.n, 12)
        if n == instance.n:
            return instance
        parts = {key: getattr(instance, key)[:n] for key in ("ids", *_KEYS[:3], "alignment", "fixed")}
        return StaticInstance(instance.name, **parts)
