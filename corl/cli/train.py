"""`corl train PROBLEM [--recipe NAME] [--instances FOLDER]`: train a network by a recipe, a training algorithm with options."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from corl.cli.main import one_line
from corl.cli.option_help import options_text
from corl.errors import UsageError
from corl.formatting import value
from corl.interruption import interrupt_count
from corl.learning import branches, snapshots
from corl.learning.session import Training
from corl.learning.training import train
from corl.progress import Progress

__all__ = ["arguments", "execute", "more_help"]

_LINE_EVERY = 5.0  # seconds between two lines of progress if stderr is not a terminal


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("problem", metavar="PROBLEM", help="a problem (corl list problems)")
    add("--recipe", metavar="NAME", help="training recipe (corl list recipes); required unless the problem has a default recipe")
    add("--instances", metavar="FOLDER", help="train on the files in a folder; short for --option instances=FOLDER")
    option_help = "option of the recipe; repeatable; PROBLEM --recipe NAME --help lists the options"
    add("--option", metavar="KEY=VALUE", action="append", default=[], help=option_help)
    add("--time-limit", metavar="S", type=float, help="seconds of wall-clock time; the schedules of learning rates end then")
    add(
        "--steps",
        metavar="N",
        type=int,
        help="limit in training steps; without --time-limit, the same seed gives the same result",
    )
    add("--seed", metavar="N", type=int, default=0, help="seed of the random numbers; default 0")
    add("--device", metavar="NAME", default="auto", help="cpu, cuda, or auto: a GPU if there is one; default auto")
    add(
        "--workers",
        metavar="N",
        type=int,
        default=1,
        help="processes that make training data, at most four per processor; default 1",
    )
    add(
        "--executor",
        choices=["processes", "ray"],
        default="processes",
        help="what runs the workers: processes of this machine, or actors of a Ray cluster",
    )
    add("--threads", metavar="N", type=int, default=1, help="threads of PyTorch on the CPU; default 1")
    add("--output", metavar="FILE", type=Path, help="the checkpoint to write; default PROBLEM-NAME.safetensors")
    add("--resume", action="store_true", help="continue from the snapshot beside --output, if there is one")
    add("--save-every", metavar="S", type=float, default=180.0, help="seconds between two snapshots; default 180")
    add(
        "--store",
        metavar="FILE",
        type=Path,
        help="store, as of corl bench, to write the learning curves to; corl report shows them",
    )
    logging_help = "further target of the learning curves: tensorboard:FOLDER, for tensorboard --logdir FOLDER"
    add("--logging", metavar="TARGET", default="", help=logging_help)
    add("--name", metavar="NAME", default="", help='name of the run in the store; default "PROBLEM NAME seed N"')
    add("--progress", action="store_true", help="show progress on stderr even if stderr is not a terminal")


def more_help(args: argparse.Namespace) -> str:
    """Return the options of the recipe that is named before --help."""
    return options_text("recipe", args.problem, args.recipe) if args.recipe else ""


def execute(args: argparse.Namespace) -> int:
    from corl import options
    from corl.learning.recipe import recipe_class, usual_recipe
    from corl.store import Store

    recipe = args.recipe or usual_recipe(args.problem)
    output = args.output or Path(f"{args.problem}-{recipe}.safetensors")
    _check_output(output)
    recipe_options = options.parse_pairs(args.option) | ({} if args.instances is None else {"instances": args.instances})
    kind = recipe_class(args.problem, recipe)
    with options.named(recipe):
        options.build(kind, recipe_options)  # raises for wrong options before anything else is done
    limit = args.time_limit
    if limit is None and args.steps is None:
        limit = kind.usual_time
    shown = args.progress or sys.stderr.isatty()
    before = interrupt_count()
    current: Training | None = None

    def line() -> str:
        return f"{args.problem} {recipe}  {'preparing' if current is None else _state(current)}"

    def fraction() -> float:
        return 0.0 if current is None else current.fraction

    def follow(training: Training) -> None:
        nonlocal current
        current = training
        progress.update()

    with contextlib.ExitStack() as stack:
        store = stack.enter_context(Store(args.store, create=True)) if args.store else None
        progress = stack.enter_context(Progress(line, shown=shown, every=_LINE_EVERY, fraction=fraction))
        training = train(
            args.problem,
            recipe,
            seed=args.seed,
            device=args.device,
            workers=args.workers,
            executor=args.executor,
            threads=args.threads,
            time_limit=limit,
            steps=args.steps,
            output=output,
            resume=args.resume,
            save_every=args.save_every,
            store=store,
            logging=args.logging,
            name=args.name,
            on_progress=follow,
            **recipe_options,
        )
    _print_end(training, f"{args.problem}  {recipe}", output)
    return 130 if training.limit == "interrupted" or interrupt_count() > before else 0


def _print_end(training: Training, title: str, output: Path) -> None:
    """Print how the training ended, and what it wrote."""
    print(f"{title}  {_state(training)} ({training.limit})")
    for note in training.notes:
        print(f"  result     {note}")
    if training.network is not None and output.exists():
        print(f"  written    {one_line(output)}")
    for warning in training.warnings:
        print(f"  warning    {warning}")
    if training.limit == "interrupted":
        print(f"  snapshot   {one_line(snapshots.path_of(output))}; continue with --resume")


def _check_output(output: Path) -> None:
    """Raise UsageError, before a long run, if the checkpoint could not be written to its file."""
    if output.suffix != ".safetensors":
        raise UsageError(f"{output}: a checkpoint is written to a .safetensors file")
    if not output.parent.is_dir():
        raise UsageError(f"{output}: there is no folder {output.parent}")
    if not os.access(output.parent, os.W_OK):
        raise UsageError(f"{output}: the folder {output.parent} cannot be written to")


def _state(training: Training) -> str:
    """Return the progress and the latest metrics as text."""
    steps = f"{training.step}" + (f" of {training.steps}" if training.steps else "") + " steps"
    seconds = f"{training.seconds:.0f}" + (f" of {training.time_limit:g}" if training.time_limit else "") + " s"
    metrics = dict(training.metrics)  # a copy, because the progress thread calls this while the training writes new metrics
    shown = {name: x for name, x in metrics.items() if not name.startswith(branches.PREFIX)}
    return "  ".join([steps, seconds, *(f"{name} {value(float(f'{x:.4g}'))}" for name, x in shown.items())])
