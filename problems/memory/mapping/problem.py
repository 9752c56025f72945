"""Mapping: the adapter of memory mapping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError
from corl.problem import Problem
from corl.problems.memory.mapping.generators import GENERATORS
from corl.problems.memory.mapping.instance import IN, OUT, MappingInstance, MappingPlan, whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.problems.memory.mapping.environment import MappingEnvironment

__all__ = ["Mapping"]


def _game(observation: Any) -> Any:
    """See corl.problems.memory.mapping.features.game."""
    from corl.problems.memory.mapping.features import game

    return game(observation)


_WAYS = {"in": IN, "out": OUT}
_RESIDENCY, _COPY = ("tensor", "from", "to", "offset"), ("tensor", "direction", "from", "to")
_SPANS = ("start", "end")


class Mapping(Problem):
    """Memory mapping: which tensors of a program live in fast memory, when and where. A solution is a MappingPlan.

    The objective is the run time of the program in microseconds.
    """

    name = "memory"
    title = "mapping a program's tensors to a small fast and a large slow memory; run time in microseconds"
    sense = "min"
    instance_type = MappingInstance
    generators = GENERATORS
    features = {"game": _game}  # noqa: RUF012

    def evaluate(self, instance: MappingInstance, solution: Any) -> float:
        """The run time in microseconds. Raises Infeasible, naming the first rule that is broken."""
        from corl.problems.memory.mapping.simulator import run_plan

        return 1e6 * run_plan(instance, solution).total

    def recognises(self, head: str) -> bool:
        """Whether this is the head of a program in JSON."""
        from corl.problems.memory.mapping.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> MappingInstance:
        """The instance in a file: our JSON or a traced program. Raises InputError or OSError."""
        from corl.problems.memory.mapping.formats import read_instance

        return read_instance(path)

    def write(self, instance: MappingInstance, path: Path) -> None:
        """Write a JSON file that `read` gives back."""
        from corl.problems.memory.mapping.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> MappingInstance:
        """The program of an exported model (torch.export.ExportedProgram) or of a pair (torch.nn.Module, its inputs)."""
        from corl.problems.memory.mapping.tracing import trace

        if hasattr(data, "graph_signature"):
            return trace(data)
        if isinstance(data, tuple) and len(data) == 2:
            return trace(data[0], data[1] if isinstance(data[1], (tuple, list)) else (data[1],))
        accepted = "a path, a MappingInstance, a torch.export.ExportedProgram or (torch.nn.Module, inputs)"
        raise InputError(f"a {type(data).__name__} cannot be read as a program; accepted: {accepted}")

    def to_json(self, instance: MappingInstance, solution: Any) -> dict[str, list[dict[str, Any]]]:
        """Residencies and copies by the tensors' names; of copies also when, in seconds, they begin and end."""
        from corl.problems.memory.mapping.simulator import run_plan

        timeline, names = run_plan(instance, solution), instance.tensor_names
        residencies, copies = solution
        ways = {way: text for text, way in _WAYS.items()}
        return {
            "residencies": [dict(zip(_RESIDENCY, (names[t], *rest))) for t, *rest in residencies.tolist()],
            "copies": [
                dict(zip(_COPY, (names[t], ways[way], low, high))) | dict(zip(_SPANS, map(float, span)))
                for (t, way, low, high), span in zip(copies.tolist(), zip(timeline.copy_start, timeline.copy_end))
            ],
        }

    def from_json(self, instance: MappingInstance, value: Any) -> MappingPlan:
        """The plan in the form of `to_json`; raises InputError for anything else, and for seconds not the simulator's."""
        if not isinstance(value, dict) or set(value) != {"residencies", "copies"}:
            raise InputError('accepted: {"residencies": [...], "copies": [...]}', field="solution")
        numbers = {name: t for t, name in enumerate(instance.tensor_names)}
        tables = []
        for part, keys in (("residencies", _RESIDENCY), ("copies", _COPY)):
            if not isinstance(value[part], list):
                raise InputError("accepted: a list", field=f"solution.{part}")
            rows = [_row(entry, keys, numbers, f"solution.{part}[{k}]") for k, entry in enumerate(value[part])]
            tables.append(np.array(rows, np.int64).reshape(-1, 4))
        plan = MappingPlan(*tables)
        _check_seconds(instance, plan, value["copies"])
        return plan

    def tracer(self) -> Callable[..., MappingInstance]:
        """See corl.problems.memory.mapping.tracing.trace_model."""
        from corl.problems.memory.mapping.tracing import trace_model

        return trace_model

    def describe(self, instance: MappingInstance) -> dict[str, Any]:
        """Facts for `corl info`."""
        machine, groups = instance.machine, int(instance.group.max(initial=-1)) + 1
        facts: dict[str, Any] = {
            "operations": instance.ops,
            "tensors": instance.tensors,
            "accesses": len(instance.access_tensor),
            "alias_groups": groups,
            "tensor_bytes": int(instance.sizes.sum()),
            "largest_tensor": int(instance.sizes.max(initial=0)),
            "fast_bytes": machine.fast_bytes,
            "flops": float(instance.flops.sum()),
            "all_slow_microseconds": self.evaluate(instance, _NOTHING),
        }
        return facts | ({"comment": " / ".join(instance.comment.splitlines())} if instance.comment else {})

    def draw(self, instance: MappingInstance, solution: Any, axes: Axes) -> None:
        """Fast memory over time: a rectangle a residency; below it the slow memory's bandwidth, copies and stalls."""
        from corl.problems.memory.mapping.drawing import draw_plan

        draw_plan(instance, solution, axes)

    def environment(self, instances: Sequence[MappingInstance], rows: int, width: int | None = None) -> MappingEnvironment:
        """The mallocGame: accesses decided one after another in schedule order, in `rows` states over `instances`."""
        from corl.problems.memory.mapping.environment import MappingEnvironment

        return MappingEnvironment(instances, rows) if width is None else MappingEnvironment(instances, rows, width)

    def decisions(self, instance: MappingInstance, solution: Any, key: int = 0) -> NDArray[np.int64]:
        """The game's actions that come as near to a plan as its rules allow (corl.problems.memory.mapping.replaying)."""
        from corl.problems.memory.mapping.replaying import decisions

        return decisions(instance, solution)

    def default_policy(self, instance: MappingInstance) -> str:
        """The player trained by AlphaZero."""
        return "memory-alphazero"

    def miniature(self, instance: MappingInstance) -> MappingInstance:
        """A program of four operations."""
        from corl.problems.memory.mapping.generators import layered

        return layered(layers=2, width=64, batch=64, state=0.0, fast_mib=0.02)


_NOTHING = MappingPlan(np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64))


def _row(entry: Any, keys: Sequence[str], numbers: dict[str, int], field: str) -> list[int]:
    """The four integers of a residency or a copy."""
    allowed = set(keys) | (set(_SPANS) if "direction" in keys else set())
    if not isinstance(entry, dict) or not set(keys) <= set(entry) <= allowed:
        raise InputError(f"accepted: an object with the keys {', '.join(keys)}", field=field)
    row = []
    for key in keys:
        value = entry[key]
        names = {"tensor": numbers, "direction": _WAYS}.get(key)
        if names is not None and (not isinstance(value, str) or value not in names):
            raise InputError(f"accepted: {'a name of a tensor' if key == 'tensor' else 'in, out'}", field=f"{field}.{key}")
        if names is None and not whole(value, 2**53):
            raise InputError("accepted: an integer from 0", field=f"{field}.{key}")
        row.append(value if names is None else names[value])
    return row


def _check_seconds(instance: MappingInstance, plan: MappingPlan, given: list[dict[str, Any]]) -> None:
    """Seconds that a file claims for copies have to be those of the simulator (where the plan can be carried out at all)."""
    from corl.problems.memory.mapping.simulator import run_plan

    if not any(key in entry for entry in given for key in _SPANS):
        return
    try:
        timeline = run_plan(instance, plan)
    except Infeasible:
        return  # evaluate says why
    for k, entry in enumerate(given):
        for key, seen in zip(_SPANS, (timeline.copy_start[k], timeline.copy_end[k])):
            claimed = entry.get(key, float(seen))
            if not isinstance(claimed, (int, float)) or abs(claimed - seen) > 1e-6 * timeline.total:
                message = f"{claimed!r} is not accepted; accepted: {float(seen)!r}, when the copy engine is there, or nothing"
                raise InputError(message[:200], field=f"solution.copies[{k}].{key}")
