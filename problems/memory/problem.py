"""Mapping: the adapter of memory mapping."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import InputError, kind_of
from corl.files.json_instances import Field, plain
from corl.problems.memory.generators import GENERATORS
from corl.problems.memory.instance import MappingInstance, MappingPlan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.problems.memory.environment import MappingEnvironment
    from corl.view.scene import Scene

__all__ = ["Mapping"]


def _game(observation: Any) -> Any:
    """See corl.problems.memory.features.game."""
    from corl.problems.memory.features import game

    return game(observation)


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
    suffixes = (".csv",)
    instance_suffixes = (".onnx",)

    def evaluate(self, instance: MappingInstance, solution: Any) -> float:
        """Return the run time in microseconds. Raises Infeasible, naming the first violated rule."""
        from corl.problems.memory.evaluation import objective

        return objective(instance, solution)

    def recognises(self, head: str) -> bool:
        """Return whether `head` begins a program in JSON."""
        from corl.problems.memory.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> MappingInstance:
        """Return the instance in a file: JSON, a traced program, or an ONNX model (.onnx). Raises InputError or OSError."""
        if path.suffix.lower() == ".onnx":
            from corl.problems.memory.tracing import trace_onnx

            return trace_onnx(path)
        from corl.problems.memory.formats import read_instance

        return read_instance(path, GENERATORS)

    def write(self, instance: MappingInstance, path: Path) -> None:
        """Write a JSON file from which `read` returns an equal instance."""
        from corl.problems.memory.formats import write_instance

        write_instance(instance, path)

    def adapts(self, data: Any) -> bool:
        """Return whether `data` is an object in the layout of traced programs."""
        return isinstance(data, abc.Mapping) and str(data.get("format")).startswith("corl-memmap-")

    def adapt(self, data: Any) -> MappingInstance:
        """Return the program of an exported model, of a module with its inputs, or of an object in the layout of the JSON files.

        An exported model is a torch.export.ExportedProgram; a module with its inputs is a pair (torch.nn.Module, inputs).
        """
        if isinstance(data, abc.Mapping):
            from corl.problems.memory.formats import from_json_value

            return from_json_value(Field(plain(data)), "object", GENERATORS)
        from corl.problems.memory.tracing import trace

        if hasattr(data, "graph_signature"):
            return trace(data)
        if isinstance(data, tuple) and len(data) == 2:
            return trace(data[0], data[1] if isinstance(data[1], (tuple, list)) else (data[1],))
        accepted = "a path, a MappingInstance, a torch.export.ExportedProgram or (torch.nn.Module, inputs)"
        raise InputError(f"{kind_of(data)} cannot be read as a program; accepted: {accepted}")

    def read_solution(self, instance: MappingInstance, path: Path) -> MappingPlan:
        """Return the plan in a buffer table (CSV). Raises InputError."""
        from corl.problems.memory.plans import read_plan

        return read_plan(instance, path)

    def write_solution(self, instance: MappingInstance, solution: Any, path: Path) -> None:
        """Write the plan as a buffer table: places in fast memory and copies, with bytes and names of operations."""
        from corl.problems.memory.plans import write_plan

        write_plan(instance, MappingPlan(*solution), path)

    def to_json(self, instance: MappingInstance, solution: Any) -> dict[str, list[dict[str, Any]]]:
        """Return the plan's residencies and copies, with tensors by name; copies also have begin and end in seconds."""
        from corl.problems.memory.plans import plan_to_json

        return plan_to_json(instance, MappingPlan(*solution))

    def from_json(self, instance: MappingInstance, value: Any) -> MappingPlan:
        """Return the plan of a JSON value in the form of `to_json`. Raises InputError, also if seconds are not as simulated."""
        from corl.problems.memory.plans import plan_from_json

        return plan_from_json(instance, value)

    def tracer(self) -> Callable[..., MappingInstance]:
        """See corl.problems.memory.tracing.trace_model."""
        from corl.problems.memory.tracing import trace_model

        return trace_model

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.problems.memory.formats import instance_schema
        from corl.problems.memory.plans import SCHEMA

        return {"instance": instance_schema(self.generators), "solution": SCHEMA}

    def describe(self, instance: MappingInstance) -> dict[str, Any]:
        """Return facts for `corl info`."""
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
        """Draw fast memory over time, one rectangle per residency, and the use of the slow memory's bandwidth below it."""
        from corl.problems.memory.drawing import draw

        draw(instance, solution, axes)

    def view(self, instance: MappingInstance, solution: Any) -> Scene | None:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.memory.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[MappingInstance], rows: int, width: int | None = None, name: str = ""
    ) -> MappingEnvironment:
        """Return the mallocGame, in which accesses are decided in the order in which they run: `rows` states of `instances`."""
        from corl.problems.memory.environment import MappingEnvironment

        self.environment_name(name)
        return MappingEnvironment(instances, rows) if width is None else MappingEnvironment(instances, rows, width)

    def decisions(self, instance: MappingInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the actions of the mallocGame that approximate a plan (corl.problems.memory.decisions)."""
        from corl.problems.memory.decisions import decisions

        return decisions(instance, solution)

    def default_policy(self, instance: MappingInstance) -> str:
        """Return "memory-alphazero", the player trained by AlphaZero."""
        return "memory-alphazero"

    def warm_up_instance(self, instance: MappingInstance) -> MappingInstance:
        """Return a small program of four operations."""
        from corl.problems.memory.generators import layered

        return layered(layers=2, width=64, batch=64, state=0.0, fast_mib=0.02)


_NOTHING = MappingPlan(np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64))
