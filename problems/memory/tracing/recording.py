"""Recording of a PyTorch model as steps: torch.export's graph runs once on meta tensors, and every operation is recorded.

On meta tensors nothing is computed, but views share the storage of their base. So the recorder knows whether a `reshape` copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corl.errors import InputError, described, kind_of
from corl.problems.memory.tracing import costs
from corl.problems.memory.tracing.operations import bytes_of, inputs_of, is_itself, layout_changes, tensors_of, view_of
from corl.problems.memory.tracing.steps import Cost, Recording, Step, Version, View

if TYPE_CHECKING:
    import torch

__all__ = ["Recorder", "export", "record"]

_HIDDEN_WRITES: Mapping[str, tuple[int, ...]] = {"batch_norm": (3, 4)}
"""Operation -> positions of arguments that it updates in place during training, although its schema does not say so."""


def export(model: Any, inputs: Sequence[Any], keywords: Mapping[str, Any] | None = None) -> Any:
    """Return torch.export's program of a module. Raises InputError with the reason if it cannot be exported."""
    import warnings

    import torch

    if not isinstance(model, torch.nn.Module):
        raise InputError(f"{kind_of(model)} cannot be traced; accepted: a torch.nn.Module and its example inputs")
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.export(model, tuple(inputs), dict(keywords or {}), strict=False)
    except Exception as error:
        reason = " ".join(described(error).split())[:300]
        raise InputError(f"{type(model).__name__} cannot be exported by torch.export: {reason}") from error


def record(program: Any, name: str = "") -> Recording:
    """Return the steps of an exported program. Raises InputError for control flow and shapes that depend on data."""
    import torch

    recorder = Recorder()
    with torch.no_grad():
        values = recorder.placeholders(program)
        try:
            results = _interpret(program.graph_module, values, recorder)
        except (NotImplementedError, RuntimeError) as error:
            reason = " ".join(described(error).split())[:300]
            raise InputError(f"{name or 'the model'} cannot be run on meta tensors: {reason}") from error
    return recorder.finish(name, results)


def _interpret(module: Any, values: Sequence[Any], recorder: Recorder) -> Any:
    """Run a graph on meta tensors, record its operations, and return its results."""
    import torch
    from torch.fx import Interpreter
    from torch.utils._pytree import tree_map_only

    class OnMeta(Interpreter):
        def run_node(self, n: torch.fx.Node) -> Any:
            recorder.at = _module_of(n)
            return super().run_node(n)

        def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if isinstance(target, torch._ops.HigherOrderOperator):
                if str(target) != "wrap_with_set_grad_enabled":
                    raise InputError(f"the operation {str(target)!r} is not supported; accepted: models without control flow")
                return _interpret(args[1], args[2:], recorder)
            if not isinstance(target, torch._ops.OpOverload):
                return super().call_function(target, args, kwargs)
            args, kwargs = tree_map_only(torch.device, lambda _: torch.device("meta"), (args, kwargs))
            return recorder.call(target, args, kwargs)

    return OnMeta(module).run(*values)


def _module_of(node: torch.fx.Node) -> str:
    """Return the dotted name of the innermost module whose forward made a node."""
    stack = node.meta.get("nn_module_stack") or {}
    path = next((str(entry[0]) for entry in reversed(stack.values())), "")
    return path.removeprefix("L['self']").removeprefix("L__self__").strip(".").split("@")[0]


class Recorder:
    """A recorder of the reads and writes of operations. A version is the contents of a storage between two writes (steps.py).

    Storages are identified by address. All tensors are kept alive, so that no address is used twice.
    """

    def __init__(self) -> None:
        self.at = ""  # the name of the module or node whose operations are recorded
        self.steps: list[Step] = []
        self.versions: list[Version] = []
        self._current: dict[int, int] = {}  # storage -> its current version
        self._alive: list[Any] = []
        self._first: dict[int, int] = {}  # storage of an input, weight or state -> its first version
        self._names: dict[str, int] = {}  # name -> how often it has been used

    # ------------------------------------------------------------ before the graph runs
    def placeholders(self, program: Any) -> list[Any]:
        """Return meta tensors for the placeholders of a program; tied parameters share a storage."""
        import torch
        from torch.export.graph_signature import InputKind

        specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        shared: dict[int, Any] = {}
        values = []
        for node in program.graph.nodes:
            if node.op != "placeholder":
                continue
            value, spec = node.meta.get("val"), specs[node.name]
            if not isinstance(value, torch.Tensor):
                values.append(value)
                continue
            real = program.state_dict.get(spec.target, program.constants.get(spec.target))
            values.append(self._placeholder(value, real, shared))
            kind = "input" if spec.kind is InputKind.USER_INPUT else "weight"
            constant = spec.kind is InputKind.CONSTANT_TENSOR
            self.begin(values[-1], str(spec.target or node.name), kind, constant)
        return values

    def _placeholder(self, value: Any, real: Any, shared: dict[int, Any]) -> Any:
        """Return a meta tensor like `value`, or like the parameter `real` if it is given.

        `shared` maps the storage of each parameter to the meta storage that stands for it, so that tied parameters share one.
        """
        import torch

        if real is None:
            return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        storage = real.untyped_storage()
        if storage._cdata not in shared:
            shared[storage._cdata] = torch.empty(storage.nbytes(), dtype=torch.uint8, device="meta")
            self._alive.append(real)
        made = torch.empty(0, dtype=real.dtype, device="meta")
        return made.set_(shared[storage._cdata].untyped_storage(), real.storage_offset(), real.shape, real.stride())

    def begin(self, tensor: Any, name: str, kind: str, constant: bool, generated: bool = False) -> None:
        """Add the storage of a tensor that exists before the run, an input, weight or constant, unless it has been added."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._current:
            number = self._version(tensor, name, kind)
            self.versions[number].constant, self.versions[number].generated = constant, generated
            if not constant:
                self._first[storage._cdata] = number

    def stand_in(self, tensor: Any, original: Any) -> None:
        """Let `tensor` stand for `original`, which has another shape: its readers read at most the bytes of `original`."""
        self._alive.append(tensor)
        self._current[tensor.untyped_storage()._cdata] = self._current[original.untyped_storage()._cdata]

    def name(self, tensor: Any, name: str, since: int) -> None:
        """Name the current version of a tensor, unless that version is older than version number `since`."""
        number = self._current[tensor.untyped_storage()._cdata]
        if number >= since:
            self.versions[number].name = self._unique(name)

    # ------------------------------------------------------------ while the graph runs
    @contextmanager
    def recording(self) -> Iterator[None]:
        """Return a context in which every operation of PyTorch's dispatcher is recorded."""
        from torch.utils._python_dispatch import TorchDispatchMode

        def dispatch(mode: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self.whole(function, args, kwargs or {})

        mode: Any = type("Recording", (TorchDispatchMode,), {"__torch_dispatch__": dispatch})
        with mode():
            yield

    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run an ATen operation and record it as one step if it is in costs.WHOLE, otherwise as PyTorch decomposes it."""
        if costs.base_name(function) in costs.WHOLE:
            return self.whole(function, args, kwargs)
        with self.recording():
            return function(*args, **kwargs)

    def whole(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run an operation and record it as one step."""
        result = function(*args, **kwargs)
        self._record(function, args, kwargs, result)
        return result

    def _record(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        """Add a step for an operation that has been run, unless it is a view, an assertion, or has a constant result."""
        name, made = costs.base_name(function), tensors_of(result)
        inputs, changed = inputs_of(function, args, kwargs)
        if name in _HIDDEN_WRITES and args[5]:
            changed += [args[k] for k in _HIDDEN_WRITES[name] if args[k] is not None]
        new = [t for t in made if t.untyped_storage()._cdata not in self._current]
        if not new and (not changed or is_itself(name, inputs)):  # a view, an assertion
            return
        self._alive += made
        if name in costs.FILLS:
            for tensor in new:
                number = self._version(tensor, self._named(name), "activation")
                self.versions[number].constant = self.versions[number].generated = True
            return
        cost = costs.cost_of(name, function, args, inputs, made or changed)
        if layout_changes(name, inputs, made):
            cost = cost._replace(role="other")
        step = Step(name, self.at, cost, int((made or changed)[0].numel()))
        self._read(step, name, inputs, changed, made)
        constant = self._is_constant(function, step, changed)
        self._write(step, name, inputs, changed, new, constant)
        if not constant:
            self.steps.append(step)

    def _read(self, step: Step, name: str, inputs: list[Any], changed: list[Any], made: list[Any]) -> None:
        """Add the views that an operation reads to its step. Generated tensors (zeros, ranges) are not read from memory."""
        for k, tensor in enumerate(inputs):
            number = self._current[tensor.untyped_storage()._cdata]
            if self.versions[number].generated:
                continue
            amount = bytes_of(tensor)
            updated = any(tensor is t for t in changed)
            if updated and name in costs.SCATTERS:
                amount = min(amount, bytes_of(inputs[-1])) if "add" in name or "reduce" in name else 0
            elif updated and name in costs.OVERWRITES:
                amount = 0
            elif k == 0 and name in costs.GATHERS:
                amount = min(amount, sum(map(bytes_of, made)))
            step.reads.setdefault(number, {})[view_of(tensor)] = amount

    def _write(self, step: Step, name: str, inputs: list[Any], changed: list[Any], new: list[Any], constant: bool) -> None:
        """Add new versions of the tensors in `changed` (changed in place) and `new` to the step that writes them."""
        for tensor in changed:
            storage = tensor.untyped_storage()._cdata
            before = self._current[storage]
            old, amount = self.versions[before], bytes_of(tensor)
            if name in costs.SCATTERS:
                amount = min(amount, bytes_of(inputs[-1]))
            number = self._version(tensor, self._named(name), "activation", old.bytes)
            if old.constant:  # a constant must not change between runs, so the update writes a new tensor
                amount = old.bytes
                if not old.generated and not constant:
                    step.reads.setdefault(before, {})[View(0, (old.bytes,), (1,))] = old.bytes
            elif bytes_of(tensor) == old.bytes and name in costs.OVERWRITES and storage not in self._first:
                step.reads.pop(before, None)  # entirely overwritten, so this is a new tensor
            else:
                self.versions[number].origin = before
            step.writes[number] = amount
            self.versions[number].constant = constant
        for tensor in new:
            if tensor.untyped_storage()._cdata not in self._current:  # skips a second view of the same storage
                number = self._version(tensor, self._named(name), "activation")
                step.writes[number] = self.versions[number].bytes
                self.versions[number].constant = constant

    def _is_constant(self, function: Any, step: Step, changed: list[Any]) -> bool:
        """Return whether an operation has the same result in every run and changes only constants."""
        import torch

        if torch.Tag.nondeterministic_seeded in function.tags:
            return False
        targets = [self._current[t.untyped_storage()._cdata] for t in changed]
        return all(self.versions[number].constant for number in [*step.reads, *targets])

    def _version(self, tensor: Any, name: str, kind: str, size: int = -1) -> int:
        """Add a version, from now on the current one of the tensor's storage, and return its number.

        size: its bytes; negative: those of the storage.
        """
        storage = tensor.untyped_storage()
        self._alive.append(tensor)
        self.versions.append(Version(self._unique(name), storage.nbytes() if size < 0 else size, kind))
        self._current[storage._cdata] = len(self.versions) - 1
        return len(self.versions) - 1

    def _unique(self, name: str) -> str:
        """Return the name, with a number if it is used already."""
        self._names[name] = self._names.get(name, 0) + 1
        return name if self._names[name] == 1 else f"{name}#{self._names[name]}"

    def _named(self, name: str) -> str:
        """Return the name of a new version: that of the current module or node, or `name` if there is none."""
        return self.at or name

    # ------------------------------------------------------------ after the graph has run
    def finish(self, name: str, results: Any) -> Recording:
        """Return the recording. Results and updated states are outputs; a generated result is written by an extra step."""
        outputs = {self._current[storage] for storage, first in self._first.items() if self._current[storage] != first}
        for tensor in tensors_of(results):
            number = self._current[tensor.untyped_storage()._cdata]
            if self.versions[number].generated:
                step = Step("fill", "", Cost(0.0, 0.0, "elementwise"), int(tensor.numel()))
                step.writes[number] = self.versions[number].bytes
                self.versions[number].constant = self.versions[number].generated = False
                self.steps.append(step)
            outputs.add(number)
        for number, version in enumerate(self.versions):
            if version.constant:
                version.kind = "weight"
            elif number in outputs and version.kind == "activation":
                version.kind = "output"
        return Recording(name, self.steps, self.versions)
