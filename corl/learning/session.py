"""The session of a recipe: clock, limits, seed, device, snapshots, curves and interruption of a training run."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl.adapter import Problem
from corl.errors import UsageError
from corl.learning import snapshots
from corl.learning.branches import Branches, idle_layers
from corl.learning.curves import Curves, Target
from corl.learning.torch_state import put_back, set_torch_random, state_of, torch_device, torch_random

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import nn

    from corl.store import Store

__all__ = ["Training"]

SAVE_EVERY = 180.0  # seconds between two snapshots


class Training:
    """The session of one training run: the argument of `Recipe.train`.

    A run that was killed can resume from its last snapshot. If runs are limited by `steps`, a resumed one and an uninterrupted
    one have identical results (on the same machine and device, with the same number of threads). The clock starts with the first
    call of `budget`.
    """

    problem: Problem
    seed: int
    device: torch.device
    workers: int
    """The number of processes that make data; if 0, this process makes the data."""
    executor: str
    """What runs the workers: "processes", or "ray" (corl.processes.workers)."""
    step: int
    """The number of steps done; a resumed run starts at the step of its snapshot."""
    interrupted: bool
    """Whether the run was asked to end after the current step."""

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = 0,
        device: str = "auto",
        workers: int = 1,
        executor: str = "processes",
        time_limit: float | None = None,
        clock: Callable[[], float] | None = None,
        steps: int | None = None,
        output: Path | None = None,
        resume: bool = False,
        save_every: float = SAVE_EVERY,
        facts: Mapping[str, Any] | None = None,
        defaults: Mapping[str, Any] | None = None,
        store: Store | None = None,
        logging: Sequence[Target] = (),
        name: str = "",
        on_progress: Callable[[Training], object] | None = None,
    ) -> None:
        self.problem, self.seed, self.workers, self.executor = problem, seed, workers, executor
        self.device = torch_device(device)
        self.time_limit, self.steps, self.output = time_limit, steps, output
        self.step, self.interrupted = 0, False
        self.limit = ""
        """What ended the run: "steps", "time_limit", "interrupted" or "finished"; "" while it continues."""
        self.network: nn.Module | None = None
        """A copy of the network that was saved last, on the CPU and in evaluation mode."""
        self.metrics: dict[str, float] = {}
        """The latest value of each logged metric."""
        self.notes: list[str] = []
        """The results of the run in words, in one line each, for `corl train` to print."""
        self._defaults = defaults or {}  # defaults of the recipe's options, for options that an older snapshot does not have
        self._facts = {"problem": problem.name, "seed": seed, **(facts or {})}
        self._curves = Curves(name, *([] if store is None else [store]), *logging)
        self._store, self._name = store, name
        self._parts: dict[str, Any] = {}
        self._branches = Branches()
        self._snapshot = snapshots.path_of(output) if output is not None else None
        self._clock = clock or time.monotonic
        self._save_every, self._save_at = save_every, 0.0
        self._earlier, self._started = 0.0, 0.0  # seconds before the snapshot that was resumed from; the clock at the start
        self._in_step = False
        self._on_progress = on_progress
        self._restored: dict[str, Any] = self._restore() if resume else {}

    # ---------------------------------------------------------------- methods for recipes
    def manage(self, **parts: Any) -> None:
        """Register the parts that a snapshot holds. Call it before the first `budget`; a resumed run restores each part here.

        A part is a NumPy Generator, a torch Generator, or an object with `state_dict` and `load_state_dict`, such as a module or
        an optimiser (the state: nested dicts, lists and tuples of tensors, arrays, numbers and texts). Everything that changes
        from step to step must be in a part, or be a function of the seed and the step.
        """
        for name, part in parts.items():
            self._parts[name] = part
            if hasattr(part, "named_modules"):
                self._branches.add(part)
            if self._restored:
                if name not in self._restored["parts"]:
                    raise UsageError(
                        f"{self._snapshot}: this snapshot has no {name!r}; it was written by another version of the recipe"
                    )
                put_back(part, self._restored["parts"][name])

    def budget(self) -> bool:
        """Return whether to make another step; the previous step counts as done from here on."""
        if not self._started:
            self._started = self._clock()
            self._save_at = time.monotonic() + self._save_every
            if self._restored:
                set_torch_random(self._restored["random"])
            elif self._snapshot is not None:  # left by a finished run (see `train`); this run must not resume from it
                self._snapshot.unlink(missing_ok=True)
        self.step += self._in_step
        if self.interrupted:
            self.limit = "interrupted"
        elif self.steps is not None and self.step >= self.steps:
            self.limit = "steps"
        elif self.time_limit is not None and self.seconds >= self.time_limit:
            self.limit = "time_limit"
        if self._in_step and (self.limit or time.monotonic() >= self._save_at):
            self._write_snapshot()
        self._in_step = not self.limit
        self._branches.begin(self.step if self._in_step else -1)
        return self._in_step

    @property
    def seconds(self) -> float:
        """Seconds of training by the run's clock, including the time before an interruption."""
        return self._earlier + (self._clock() - self._started if self._started else 0.0)

    @property
    def parts(self) -> Mapping[str, Any]:
        """The parts that were registered by `manage`, in their current state."""
        return self._parts

    @property
    def fraction(self) -> float:
        """The share of the run that is done, 0..1, for schedules: of the steps or of the time limit, whichever is larger."""
        of_steps = self.step / self.steps if self.steps else 0.0
        of_time = self.seconds / self.time_limit if self.time_limit else 0.0
        return min(1.0, max(of_steps, of_time))

    def log(self, **metrics: float) -> None:
        """Record values of the current step, for the display of progress and for the run's curves in the logging targets.

        Every 50 steps the sizes of the network's residual branches are recorded as well (corl.learning.branches).
        """
        values = {name: float(v.detach() if hasattr(v, "detach") else v) for name, v in metrics.items()}
        values |= self._branches.measured()
        self.metrics |= values
        self._curves.add(self.step, values)
        if self._on_progress is not None:
            self._on_progress(self)

    def save(self, network: nn.Module) -> None:
        """Keep a copy of the network; if the run has an output, write the network there with the facts of its training.

        Equal runs write equal bytes: the duration is left out.
        """
        self.network = copy.deepcopy(network).cpu().eval()
        if self.output is not None:
            from corl.networks.checkpoints import save

            save(self.output, network, {name: fact for name, fact in self.facts.items() if name != "seconds"})

    def generator(self, *stream: int) -> np.random.Generator:
        """Return a NumPy Generator that depends on the seed and `stream` alone."""
        import numpy as np

        return np.random.default_rng([self.seed, *stream])

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context of automatic bfloat16 precision on a GPU; on a CPU a context without effect."""
        import torch

        return torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else contextlib.nullcontext()

    def interrupt(self) -> None:
        """End the run after the current step, with a snapshot, as Ctrl-C does."""
        self.interrupted = True

    def announce(self) -> None:
        """Write the run's facts to the store."""
        if self._store is not None:
            self._store.add_training(self._name, self.facts)

    def finish(self) -> None:
        """Write the curves and facts; if no limit ended the run, `limit` becomes "finished" and the snapshot is removed."""
        self.limit = self.limit or "finished"
        if self.limit == "finished" and self._snapshot is not None:
            self._snapshot.unlink(missing_ok=True)  # there is nothing to continue
        self._curves.flush()
        self.announce()

    @property
    def warnings(self) -> list[str]:
        """Warnings about the network from the run's metrics: layers without effect."""
        return [f"layer {layer} adds less than 1 % to its input: it has no effect" for layer in idle_layers(self.metrics)]

    @property
    def facts(self) -> dict[str, Any]:
        """Facts of the run: problem, recipe, options, seed, steps, seconds, device, latest metrics."""
        device = self.device.type
        if device == "cuda":
            import torch

            device = torch.cuda.get_device_name(self.device)
        done = {"steps": self.step, "seconds": round(self.seconds, 1), "device": device, "metrics": dict(self.metrics)}
        return self._facts | done

    # ---------------------------------------------------------------- snapshots
    def _write_snapshot(self) -> None:
        """Write a snapshot: the state between two steps."""
        self._curves.flush()
        if self._snapshot is not None:
            state = {
                "facts": self._facts,
                "limit": self.limit,
                "step": self.step,
                "seconds": self.seconds,
                "metrics": self.metrics,
                "curves": self._curves.state_dict(),
                "random": torch_random(),
                "parts": {name: state_of(part) for name, part in self._parts.items()},
            }
            snapshots.write(self._snapshot, state)
        self._save_at = time.monotonic() + self._save_every

    def _restore(self) -> dict[str, Any]:
        """Return the state in the snapshot, {} if there is none; `manage` restores the parts later.

        Raises UsageError for the snapshot of a run with other facts (problem, recipe, options, seed).
        """
        if self._snapshot is None or not self._snapshot.exists():
            return {}
        state: dict[str, Any] = snapshots.read(self._snapshot)
        for name, value in self._facts.items():
            saved = state["facts"].get(name)
            saved = {**self._defaults, **saved} if name == "options" and saved else saved
            if saved != value:
                raise UsageError(f"{self._snapshot}: a snapshot of a run with {name} = {saved!r}, not {value!r}")
        self.step, self._earlier, self.metrics = state["step"], state["seconds"], state["metrics"]
        self._curves.load_state_dict(state["curves"])
        return state
