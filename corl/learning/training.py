"""`train`: train a network by a recipe, as `corl train` does."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl import options, registry
from corl.adapter import Problem
from corl.arguments import python
from corl.errors import UsageError, shown
from corl.interruption import interruptible
from corl.learning import snapshots
from corl.learning.curves import Target
from corl.learning.recipe import Recipe, recipe_class
from corl.learning.session import SAVE_EVERY, Training
from corl.learning.torch_state import torch_seeded
from corl.processes.processors import check_workers
from corl.processes.ray import imported
from corl.processes.workers import EXECUTORS

if TYPE_CHECKING:
    from corl.store import Store

__all__ = ["train"]


def train(
    problem: str | Problem,
    recipe: str | Recipe,
    *,
    seed: int = 0,
    device: str = "auto",
    workers: int = 1,
    executor: str = "processes",
    threads: int = 1,
    time_limit: float | None = None,
    clock: Callable[[], float] | None = None,
    steps: int | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    save_every: float = SAVE_EVERY,
    store: Store | None = None,
    logging: str = "",
    name: str = "",
    on_progress: Callable[[Training], object] | None = None,
    **recipe_options: Any,
) -> Training:
    """Train a network by a recipe, and return the ended session, with the network.

    An example: `corl.train("tsp", "imitation", teacher="ils", steps=500).network`. Ctrl-C ends the run after the current step,
    as its time limit would; a second Ctrl-C raises KeyboardInterrupt.

    Args:
        problem: A name, or a Problem, which need not be installed.
        recipe: A name (`corl list recipes`), for `recipe_options`; or a Recipe, with its options, which need not be installed.
        seed: The seed of the random numbers, from 0.
        device: "cpu", "cuda", or "auto", the GPU if there is one.
        workers: The number of processes that make data, up to four for each processor; if 0, this process makes the data.
        executor: What runs the workers: "processes" of this machine, or actors of a "ray" cluster.
        threads: The number of torch's threads on a CPU.
        time_limit: Seconds, above 0. At least one of `time_limit` and `steps` is needed. Schedules, such as the learning rate's,
            follow the limit that is nearer.
        clock: The clock of `time_limit`, in seconds; by default wall time. On a shared machine use time.process_time, if
            this process does all the work (workers=0).
        steps: The number of steps, from 1; with `steps` alone, a seed gives the same bits on one machine.
        output: The checkpoint to write. Beside it a run writes NAME.snapshot.safetensors, from which `resume` continues a run
            that was killed or ended. Without `resume`, an existing snapshot of an unfinished run is an error, as it may hold
            hours of work; an existing snapshot of a finished run is removed.
        resume: Continue from the snapshot beside `output`, if there is one.
        save_every: Seconds between two snapshots.
        store: The store of the curves; None: they are not kept.
        logging: A further target of the curves: "tensorboard:FOLDER" writes files for `tensorboard --logdir FOLDER`.
        name: The name of the run in the store and in FOLDER.
        on_progress: Called with the session after each step.
        **recipe_options: The recipe's own options.

    Returns:
        The session as it ended; its `network` is the trained one.

    Raises:
        UsageError: An invalid argument.
    """
    seed, workers, threads, time_limit, steps, save_every = map(python, (seed, workers, threads, time_limit, steps, save_every))
    adapter, output = registry.problem(problem), None if output is None else Path(output)
    chosen, called = _recipe(recipe, adapter.name, recipe_options)
    _check_arguments(seed, workers, executor, threads, time_limit, steps)
    if output is not None and not resume and _unfinished(output):
        place = snapshots.path_of(output)
        raise UsageError(f"{place}: the snapshot of an unfinished run exists; resume that run, or remove the file to start again")
    training = Training(
        adapter,
        seed=seed,
        device=device,
        workers=workers,
        executor=executor,
        time_limit=time_limit,
        clock=clock,
        steps=steps,
        output=output,
        resume=resume,
        save_every=save_every,
        facts={"recipe": called, "options": _plain(options.values(chosen))},
        defaults=_plain(options.defaults(type(chosen))),
        store=store,
        logging=_targets(logging),
        name=name or f"{adapter.name} {called} seed {seed}",
        on_progress=on_progress,
    )
    training.announce()
    with torch_seeded(seed, threads), interruptible(training):
        chosen.train(training)
    training.finish()
    return training


def _targets(logging: str) -> list[Target]:
    """Return the target that `logging` names, in a list, which is empty for "". Raises UsageError."""
    if logging == "":
        return []
    kind, _, folder = logging.partition(":") if isinstance(logging, str) else ("", "", "")
    if kind != "tensorboard" or not folder or Path(folder).is_file():
        raise UsageError(f"logging: {shown(logging)} is not accepted; accepted: tensorboard:FOLDER")
    from corl.learning.tensorboard import TensorBoard

    return [TensorBoard(folder)]


def _recipe(recipe: str | Recipe, problem: str, asked: dict[str, Any]) -> tuple[Recipe, str]:
    """Return the recipe and its name."""
    if isinstance(recipe, str):
        own = [name for name, each in inspect.signature(train).parameters.items() if each.kind is each.KEYWORD_ONLY]
        kind = recipe_class(problem, recipe)
        with options.named(recipe):
            return options.build(kind, asked, own), recipe
    if not isinstance(recipe, Recipe):
        raise UsageError(f"recipe: {recipe!r} is not accepted; it takes a name (corl list recipes) or a Recipe")
    if asked:
        raise UsageError(f"{next(iter(asked))}: a Recipe has its options already; give them to {type(recipe).__name__}")
    return recipe, type(recipe).__name__


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with lists in place of tuples, as in JSON."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _check_arguments(seed: int, workers: int, executor: str, threads: int, time_limit: float | None, steps: int | None) -> None:
    """Raise UsageError for an invalid argument of `train`."""
    for name, value, least in (("seed", seed, 0), ("workers", workers, 0), ("threads", threads, 1), ("steps", steps, 1)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise UsageError(f"{name}: {shown(value)} is not accepted; it takes an integer from {least} up")
    if executor not in EXECUTORS:
        raise UsageError(f"executor: {executor!r} is not accepted; accepted: {', '.join(EXECUTORS)}")
    if executor == "ray":
        imported()
        if workers == 0:
            raise UsageError("workers: 0 is not accepted with the executor ray; it takes an integer from 1 up")
    else:
        check_workers(workers)
    seconds = isinstance(time_limit, (int, float)) and not isinstance(time_limit, bool)
    if time_limit is not None and not (seconds and 0 < time_limit < float("inf")):
        raise UsageError(f"time_limit: {shown(time_limit)} is not accepted; it takes seconds, above 0")
    if time_limit is None and steps is None:
        raise UsageError("a training run needs a time_limit or a number of steps")


def _unfinished(output: Path) -> bool:
    """Return whether there is a snapshot of a run that did not reach its limit, or did not write its network afterwards."""
    snapshot = snapshots.path_of(output)
    if not snapshot.exists():
        return False
    ended = snapshots.read(snapshot).get("limit") in ("steps", "time_limit")
    return not (ended and output.exists() and output.stat().st_mtime_ns >= snapshot.stat().st_mtime_ns)
