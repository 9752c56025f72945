"""Training that lasts for days: `python tests/studies/long_training.py --folder FOLDER [--runs FILE] [--commit COMMIT]`.

It trains the runs of a TOML file (long_training.toml) in turn, at the lowest priority and on one core (--core), with the package
as a commit has it, installed into an environment in the folder, so that work on the code does not disturb it. The same command
resumes it after a kill, from snapshots that are three minutes apart; on another machine the folder needs no more than its files.
It lies outside the repository; the environment variable CORL_LONG_TRAINING may say where. To pause it:
`kill -STOP $(cat FOLDER/pid)`, then -CONT.

    [[run]]
    name = "tsp-96x3"
    task = "tsp"                  # of learning_splits: weights are chosen on its split "choose"
    size = 100                    # of these instances
    recipe = "bq"
    minutes = 30.0                # of processor time
    options = { width = 96 }      # of the recipe
    best_of = []                  # earlier runs: options and first weights are those of the best of them

Every ten processor minutes the policy alone solves the choosing instances; a line of FOLDER/curve.csv says how far it is above
the teacher. Weights better than the run's best by more than the interval of the difference, on the same instances, are exported
to FOLDER/exported, in 16 bits. Finished runs keep their weights and lose their snapshots.

On a GPU: `--installed --device cuda --workers 14 --runs tests/studies/long_training_gpu.toml`. Minutes are then those of the wall
clock, and workers make the states. To train a snapshot on for a while on another machine, copy the folder there and back.
"""

from __future__ import annotations

import argparse
import copy
import csv
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from corl.learning.session import Training

__all__ = ["Chooser", "Machine", "Run", "pinned", "read_runs", "train_all"]

TEACHERS = {
    "tsp": ("eax", 3000),
    "atsp": ("ils", 2000),
    "vrp": ("ruin-recreate", 30_000),
    "orienteering": ("ruin-recreate", 50_000),
}
TEACHERS |= {"memory": ("annealing", 10_000), "jobshop": ("tabu", 3000)}
"""Whose objectives a task's policies are compared with, and the solver's iterations."""
COUNT = 128
"""Instances to choose by."""
FIELDS = ("run", "minutes", "step", "gap", "low", "high", "exported")
_EVERY = 10.0  # processor minutes between two looks at the choosing instances
_RUNS = Path(__file__).with_suffix(".toml")
_MOST = 3e9  # bytes in the folder


@dataclass(frozen=True)
class Run:
    """A `[[run]]` of the file."""

    name: str
    task: str
    recipe: str
    size: int
    minutes: float
    options: dict[str, Any]
    best_of: tuple[str, ...] = ()


def read_runs(file: Path) -> list[Run]:
    """The runs of a TOML file. Raises InputError for a fault in it."""
    from learning_splits import GENERATED

    from corl.files.toml_tables import read_toml

    whole, runs = read_toml(file), list[Run]()
    for table in whole.tables("run"):
        name, task, recipe = (table.text(key) for key in ("name", "task", "recipe"))
        options = table.table("options").rest()
        options = {key: tuple(value) if isinstance(value, list) else value for key, value in options.items()}
        size, minutes, best_of = table.integer("size", 100), table.number("minutes", 30.0), tuple(table.texts("best_of"))
        table.close()
        if task not in GENERATED or not set(best_of) <= {run.name for run in runs}:
            raise table.error("", f"task {task}; accepted: {', '.join(GENERATED)}; best_of: names of earlier runs")
        runs.append(Run(name, task, recipe, size or 100, minutes, options, best_of))
    whole.close()
    return runs


class Chooser:
    """How a run's policy does on the choosing instances, and the export of its best weights; all of it is in files."""

    def __init__(self, run: Run, folder: Path, count: int = COUNT) -> None:
        from best_known import best_known
        from learning_splits import GENERATED, instances

        import corl
        from corl import registry

        self.run, self.folder = run, folder
        self.problem, self.instances = registry.problem(GENERATED[run.task][0]), instances(run.task, "choose", count, run.size)
        solver, iterations = TEACHERS[run.task]

        def find(k: int) -> float:
            solved = corl.solve(self.instances[k], problem=self.problem.name, solver=solver, iterations=iterations, seed=k)
            assert solved.objective is not None
            return float(solved.objective)

        names = [f"{run.task}-{run.size}-choose-{k}" for k in range(count)]
        self.reference = best_known(names, find, f"{solver}, {iterations} iterations", folder / "references.csv")

    def look(self, network: Any, minutes: float, step: int) -> bool:
        """Note how far the policy alone is above the teacher, and export the weights if they are the best; whether they are."""
        from corl.learning.validation import greedy
        from corl.statistics import resampled_mean

        was_training = network.training
        found = greedy(self.problem, self.instances, network.eval()) / self.reference - 1.0
        found = found if self.problem.sense == "min" else -found
        network.train(was_training)
        mean, exported = resampled_mean(found), self._better(found)
        if exported:
            self._export(network, found, minutes, step)
        numbers = (mean.value, mean.low, mean.high)
        texts = ["" if value is None else f"{value:.5f}" for value in numbers]
        _append(self.folder / "curve.csv", [self.run.name, f"{minutes:.1f}", step, *texts, int(exported)])
        return exported

    @property
    def _best(self) -> Path:
        return self.folder / "exported" / f"{self.run.name}.npy"

    def _better(self, found: NDArray[np.float64]) -> bool:
        """Whether the gaps are better than the best's by more than the interval of the differences."""
        from corl.statistics import resampled_mean

        if not self._best.exists():
            return True
        low = resampled_mean(np.load(self._best) - found).low
        return low is not None and low > 0.0

    def _export(self, network: Any, found: NDArray[np.float64], minutes: float, step: int) -> None:
        from corl.networks.checkpoints import save

        self._best.parent.mkdir(exist_ok=True)
        facts = {"problem": self.problem.name, "recipe": self.run.recipe, "options": self.run.options, "seed": 0, "steps": step}
        facts |= {"processor minutes": round(minutes, 1), "mean gap on the choosing instances": float(found.mean())}
        save(self._best.with_suffix(".safetensors"), copy.deepcopy(network).half(), facts)
        with self._best.with_suffix(".part").open("wb") as file:
            np.save(file, found)
        self._best.with_suffix(".part").replace(self._best)


def _append(file: Path, row: Sequence[Any]) -> None:
    new = not file.exists()
    with file.open("a", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerows([FIELDS] if new else [])
        writer.writerow(row)


def _last_gap(folder: Path, name: str) -> float:
    with (folder / "curve.csv").open(newline="") as table:
        return float([row["gap"] for row in csv.DictReader(table) if row["run"] == name][-1])


@dataclass(frozen=True)
class Machine:
    """What runs are trained on."""

    save_every: float = 180.0
    """Seconds between snapshots."""
    device: str = "cpu"
    workers: int = 0
    """Processes that make the states; with 0 this one does, and minutes are of its processor time, otherwise of the wall."""

    def limits(self, minutes: float) -> dict[str, Any]:
        """Arguments of corl.train."""
        clock = time.monotonic if self.workers else time.process_time
        return {"time_limit": 60.0 * minutes, "clock": clock, **asdict(self)}


def train_one(run: Run, folder: Path, machine: Machine) -> None:
    """Train a run to its end, from its snapshot if it has one; a finished one stays as it is."""
    from learning_splits import GENERATED

    from corl.learning import snapshots
    from corl.learning.training import train

    output, done = folder / f"{run.name}.safetensors", folder / f"{run.name}.done"
    if done.exists():
        return
    options = dict(run.options)
    if run.best_of:
        best = min(run.best_of, key=lambda name: _last_gap(folder, name))
        known = json.loads((folder / f"{best}.done").read_text())
        known = {key: tuple(value) if isinstance(value, list) else value for key, value in known.items()}
        options = known | {"start": str(folder / f"{best}.safetensors")} | options
    chooser, next_look = Chooser(run, folder), _EVERY

    def watch(training: Training) -> None:
        nonlocal next_look
        if training.seconds >= 60.0 * next_look:
            chooser.look(training.parts["network"], training.seconds / 60.0, training.step)
        while training.seconds >= 60.0 * next_look:
            next_look += _EVERY

    limits = machine.limits(run.minutes) | {"output": output, "resume": True, "on_progress": watch}
    training = train(GENERATED[run.task][0], run.recipe, **limits, **options)
    if training.limit == "interrupted":
        raise KeyboardInterrupt
    chooser.look(training.network, training.seconds / 60.0, training.step)
    done.write_text(json.dumps({key: value for key, value in options.items() if key != "start"}))
    snapshots.path_of(output).unlink(missing_ok=True)


def train_all(runs: Sequence[Run], folder: Path, machine: Machine) -> None:
    """Train all runs in turn; one that fails is reported, and the next one begins. The folder is best the present one."""
    from corl.errors import CorlError

    for left in folder.glob(".corl-*"):  # of a snapshot that a kill broke off
        shutil.rmtree(left)
    for run in runs:
        if (used := sum(file.stat().st_size for file in folder.glob("*.safetensors"))) > _MOST:
            raise SystemExit(f"{folder}: its networks and snapshots have {used / 1e9:.1f} GB; accepted: {_MOST / 1e9:g} GB")
        try:
            train_one(run, folder, machine)
        except CorlError as error:
            print(f"{run.name}: {error}", file=sys.stderr, flush=True)


def pinned(folder: Path, commit: str) -> Path:
    """Install the package as a commit has it into an environment in the folder that sees this one's packages.

    Returns its Python. What is there already is used; on another machine, where it does not run, it is made again.
    """
    repository = Path(__file__).resolve().parents[2]
    asked = ["git", "-C", str(repository), "rev-parse", "--short=12", commit]
    place = folder / f"corl-{subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()}"
    python = place / "environment" / "bin" / "python"
    if (
        python.exists()
        and subprocess.run([python, "-P", "-c", "import corl, torch"], capture_output=True, check=False).returncode == 0
    ):
        return python
    shutil.rmtree(place, ignore_errors=True)
    (place / "source").mkdir(parents=True)
    archive = subprocess.run(["git", "-C", str(repository), "archive", commit], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(place / "source")], input=archive, check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place / "environment")], check=True)
    (packages,) = (place / "environment" / "lib").glob("python3*/site-packages")
    (packages / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith(("site-packages", "site"))) + "\n")
    install = ["pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*install, str(place / "source")], check=True)
    return python


def main() -> None:
    """Install the commit, become its Python, and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=os.environ.get("CORL_LONG_TRAINING"), help="outside the repository")
    parser.add_argument("--runs", type=Path, default=_RUNS)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--core", type=int, help="the processor to run on; default: any")
    parser.add_argument("--save-every", type=float, default=180.0, help="seconds between snapshots")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, default=0, help="processes that make states; 0: this one does, on one core")
    parser.add_argument("--installed", action="store_true", help="train with the package that this Python has")
    args = parser.parse_args()
    if args.folder is None:
        parser.error("--folder or CORL_LONG_TRAINING is needed")
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if not args.installed:
        python = pinned(folder, args.commit)
        script = python.parents[2] / "source" / "tests" / "studies" / "long_training.py"
        again = [str(python), str(script), "--installed", "--folder", str(folder), "--runs", str(args.runs.resolve())]
        again += ["--save-every", str(args.save_every), "--device", args.device, "--workers", str(args.workers)]
        again += [] if args.core is None else ["--core", str(args.core)]
        os.execv(python, again)
    os.nice(19)
    if args.core is not None:
        os.sched_setaffinity(0, {args.core})
    runs = read_runs(args.runs)
    os.chdir(folder)  # snapshots name no place, so that the folder may move
    Path("pid").write_text(str(os.getpid()))
    train_all(runs, Path(), Machine(args.save_every, args.device, args.workers))


if __name__ == "__main__":
    main()
