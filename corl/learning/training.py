"""Training: the session of a recipe. Clock, limits, seed, device, snapshots, curves and interruption live here."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError
from corl.learning.curves import Curves
from corl.learning.workers import EXECUTORS
from corl.problem import Problem

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import nn

    from corl.benchmark.store import Store

__all__ = ["Training", "snapshot_of", "train"]

_SAVE_EVERY = 180.0  # seconds between two snapshots


class Training:
    """Handed to `Recipe.train`, as a Run is to a Solver.

    A run that is killed goes on from its last snapshot; limited by `steps`, it then ends with the same bits as an unbroken
    one (same machine, device and number of threads). The clock starts with the first `budget`.
    """

    problem: Problem
    seed: int
    device: torch.device
    workers: int
    """Processes that make data; 0: this one does."""
    executor: str
    """What runs them: "processes", or "ray" (corl.learning.workers)."""
    step: int
    """How many steps are done; a resumed run starts at that of its snapshot."""
    interrupted: bool

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        device: str = "auto",
        workers: int = 1,
        executor: str = "processes",
        time_limit: float | None = None,
        steps: int | None = None,
        output: Path | None = None,
        resume: bool = False,
        save_every: float = _SAVE_EVERY,
        facts: Mapping[str, Any] | None = None,
        store: Store | None = None,
        name: str = "",
        on_progress: Callable[[Training], object] | None = None,
    ) -> None:
        self.problem, self.seed, self.workers, self.executor = problem, seed, workers, executor
        self.device = _device(device)
        self.time_limit, self.steps, self.output = time_limit, steps, output
        self.step, self.interrupted, self.limit = 0, False, ""
        self.metrics: dict[str, float] = {}
        """The latest value of everything that was logged."""
        self._facts = {"problem": problem.name, "seed": seed, **(facts or {})}
        self._curves, self._store, self._name = Curves(store, name), store, name
        self._parts: dict[str, Any] = {}
        self._snapshot = snapshot_of(output) if output is not None else None
        self._save_every, self._save_at = save_every, 0.0
        self._earlier, self._started = 0.0, 0.0
        self._in_step = False
        self._on_progress = on_progress
        self._restored: dict[str, Any] = self._restore() if resume else {}

    # ---------------------------------------------------------------- what a recipe calls
    def manage(self, **parts: Any) -> None:
        """Name what a snapshot holds, before the first `budget`; a resumed run puts the kept state into each at once.

        A part is a module, an optimiser or anything else with `state_dict` and `load_state_dict` (nested dicts, lists and
        tuples of tensors, arrays, numbers and texts), a NumPy Generator or a torch Generator. Whatever changes from step
        to step must be in one, or be a function of the seed and the step.
        """
        for name, part in parts.items():
            self._parts[name] = part
            if self._restored:
                if name not in self._restored["parts"]:
                    raise UsageError(f"{self._snapshot}: this snapshot has no {name!r}; it is of another version of the recipe")
                _load_state(part, self._restored["parts"][name])

    def budget(self) -> bool:
        """Whether to make another step; the one before counts as done."""
        if not self._started:
            self._started = time.monotonic()
            self._save_at = self._started + self._save_every
            if self._restored:
                _set_torch_random(self._restored["random"])
        self.step += self._in_step
        if self.interrupted:
            self.limit = "interrupted"
        elif self.steps is not None and self.step >= self.steps:
            self.limit = "steps"
        elif self.time_limit is not None and self.seconds >= self.time_limit:
            self.limit = "time_limit"
        if self._in_step and (self.limit or time.monotonic() >= self._save_at):
            self._keep()
        self._in_step = not self.limit
        return self._in_step

    @property
    def seconds(self) -> float:
        """Wall-clock seconds of training, those before a kill included."""
        return self._earlier + (time.monotonic() - self._started if self._started else 0.0)

    @property
    def fraction(self) -> float:
        """How much of the run is done, 0..1, for schedules: of the steps or of the time limit, whichever is nearer its end."""
        of_steps = self.step / self.steps if self.steps else 0.0
        of_time = self.seconds / self.time_limit if self.time_limit else 0.0
        return min(1.0, max(of_steps, of_time))

    def log(self, **metrics: float) -> None:
        """Note values of the present step: they show in the progress and are points of the run's curves in the store."""
        values = {name: float(v.detach() if hasattr(v, "detach") else v) for name, v in metrics.items()}
        self.metrics |= values
        self._curves.add(self.step, values)
        if self._on_progress is not None:
            self._on_progress(self)

    def save(self, network: nn.Module) -> None:
        """Write the network, with the facts of its training, to the run's output, if it has one."""
        if self.output is not None:
            from corl.networks.checkpoints import save

            save(self.output, network, self.facts)

    def generator(self, *stream: int) -> np.random.Generator:
        """A NumPy Generator that depends on the seed and `stream` alone."""
        import numpy as np

        return np.random.default_rng([self.seed, *stream])

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """bfloat16 where the device is a GPU; on a CPU nothing."""
        import torch

        return torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else contextlib.nullcontext()

    def interrupt(self) -> None:
        """What Ctrl-C does: end after the present step, with a snapshot."""
        self.interrupted = True

    def announce(self) -> None:
        """Note the run's facts in the store."""
        if self._store is not None:
            self._store.add_training(self._name, self.facts)

    def finish(self) -> None:
        """Write out the curves; a recipe that returned by itself has `limit` "finished"."""
        self.limit = self.limit or "finished"
        self._curves.flush()
        self.announce()

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the run: problem, recipe, options, seed, steps, seconds, device, latest metrics."""
        device = self.device.type
        if device == "cuda":
            import torch

            device = torch.cuda.get_device_name(self.device)
        done = {"steps": self.step, "seconds": round(self.seconds, 1), "device": device, "metrics": dict(self.metrics)}
        return self._facts | done

    # ---------------------------------------------------------------- snapshots
    def _keep(self) -> None:
        """Write a snapshot: the state between two steps."""
        self._curves.flush()
        if self._snapshot is not None:
            from corl.learning import snapshots

            state = {
                "facts": self._facts,
                "step": self.step,
                "seconds": self.seconds,
                "metrics": self.metrics,
                "curves": self._curves.state_dict(),
                "random": _torch_random(),
                "parts": {name: _state(part) for name, part in self._parts.items()},
            }
            snapshots.write(self._snapshot, state)
        self._save_at = time.monotonic() + self._save_every

    def _restore(self) -> dict[str, Any]:
        """The state of the snapshot, where there is one; the parts take theirs in `manage`."""
        from corl.learning import snapshots

        if self._snapshot is None or not self._snapshot.exists():
            return {}
        state: dict[str, Any] = snapshots.read(self._snapshot)
        for name, value in self._facts.items():
            if (kept := state["facts"].get(name)) != value:
                raise UsageError(f"{self._snapshot}: a snapshot of a run with {name} = {kept!r}, not {value!r}")
        self.step, self._earlier, self.metrics = state["step"], state["seconds"], state["metrics"]
        self._curves.load_state_dict(state["curves"])
        return state


def snapshot_of(output: Path) -> Path:
    """Where the snapshot of a run with this output lies."""
    return output.with_name(f"{output.stem}.snapshot.safetensors")


def train(
    problem: str,
    recipe: str,
    *,
    seed: int = 0,
    device: str = "auto",
    workers: int = 1,
    executor: str = "processes",
    threads: int = 1,
    time_limit: float | None = None,
    steps: int | None = None,
    output: Path | None = None,
    resume: bool = False,
    save_every: float = _SAVE_EVERY,
    store: Store | None = None,
    name: str = "",
    on_progress: Callable[[Training], object] | None = None,
    recipe_options: Mapping[str, Any] | None = None,
) -> Training:
    """Train a network by the recipe of that name (`corl list recipes`), and return the session as it ended.

    time_limit, steps: one of them at least; schedules run towards the nearer one. With steps alone, a seed gives the same
        bits on one machine.
    workers, executor: how many processes make data (0: this one does), and what runs them: "processes" of our own, or actors
        of a "ray" cluster.
    threads: of torch, on a CPU.
    output: the checkpoint to write; beside it lies NAME.snapshot.safetensors, from which `resume` goes on where a run was
        killed or ended. Without `resume` a snapshot that is there is an error: it may be hours of work.
    save_every: seconds between two snapshots.
    store, name: where the curves go, and the run's name there.

    Ctrl-C ends the run after the present step, as its time limit would; the second one raises KeyboardInterrupt. Raises
    UsageError for a bad argument.
    """
    from corl import options, registry
    from corl.solving import interruptible

    _check(seed, workers, executor, threads, time_limit, steps)
    adapter = registry.problem(problem)
    chosen = options.build(registry.recipe(adapter.name, recipe), recipe_options or {})
    if output is not None and not resume and (snapshot := snapshot_of(output)).exists():
        raise UsageError(f"{snapshot}: the snapshot of an earlier run is there; resume it, or remove the file to start anew")
    asked: dict[str, Any] = dataclasses.asdict(chosen) if dataclasses.is_dataclass(chosen) else {}
    training = Training(
        adapter,
        seed=seed,
        device=device,
        workers=workers,
        executor=executor,
        time_limit=time_limit,
        steps=steps,
        output=output,
        resume=resume,
        save_every=save_every,
        facts={"recipe": recipe, "options": {key: list(v) if isinstance(v, tuple) else v for key, v in asked.items()}},
        store=store,
        name=name or f"{problem} {recipe} seed {seed}",
        on_progress=on_progress,
    )
    training.announce()
    with _torch_seeded(seed, threads), interruptible(training):
        chosen.train(training)
    training.finish()
    return training


def _check(seed: int, workers: int, executor: str, threads: int, time_limit: float | None, steps: int | None) -> None:
    for name, value, least in (("seed", seed, 0), ("workers", workers, 0), ("threads", threads, 1), ("steps", steps, 1)):
        if value is not None and value < least:
            raise UsageError(f"{name}: {value!r} is not accepted; it takes an integer from {least} up")
    if executor not in EXECUTORS:
        raise UsageError(f"executor: {executor!r} is not accepted; accepted: {', '.join(EXECUTORS)}")
    if time_limit is not None and not 0 < time_limit < float("inf"):
        raise UsageError(f"time_limit: {time_limit!r} is not accepted; it takes seconds, above 0")
    if time_limit is None and steps is None:
        raise UsageError("a training run needs a time_limit or a number of steps")


def _device(name: str) -> torch.device:
    """The torch device of that name; "auto" is the GPU where there is one."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch built without CUDA
        raise UsageError(f"device: {name!r} is not available; accepted: auto, cpu, cuda where there is one") from error
    return device


@contextlib.contextmanager
def _torch_seeded(seed: int, threads: int) -> Iterator[None]:
    """Inside, torch's own generators are seeded and it has so many threads; both are put back."""
    import torch

    before = torch.get_num_threads()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def _state(part: Any) -> Any:
    import numpy as np
    import torch

    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    return part.get_state() if isinstance(part, torch.Generator) else part.state_dict()


def _load_state(part: Any, state: Any) -> None:
    import numpy as np
    import torch

    if isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif isinstance(part, torch.Generator):
        part.set_state(state)
    else:
        part.load_state_dict(state)


def _torch_random() -> list[torch.Tensor]:
    """The state of torch's own generators (dropout and the like draw from them): the CPU's, then each GPU's."""
    import torch

    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])]


def _set_torch_random(states: list[torch.Tensor]) -> None:
    import torch

    torch.set_rng_state(states[0])
    if torch.cuda.is_available() and len(states) == torch.cuda.device_count() + 1:
        torch.cuda.set_rng_state_all(states[1:])
