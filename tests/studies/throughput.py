"""Is any kernel slower here than in another checkout? `python tests/studies/throughput.py --against OTHER [NAME ...]`

A is the checkout that this file lies in, B the other: both are measured by the same code (throughput_measures.py), through
public names, whatever has moved between them. The interpreter that runs it runs both: a folder of links under the system's
temporary folder, first on a child's search path, makes each checkout the package `corl` with the entry points of its own
pyproject.toml. Nothing is installed. Where the two need different libraries, --python gives OTHER's interpreter. Kernels are
compiled (into CORL_CACHE) before anything is measured. Neither checkout may be edited meanwhile.

Two child processes on one core measure the same work in turn, A B B A ..., in processor time; after five rounds new ones take
their places, since a process has its own luck with memory. A ratio is A's rate over B's in a round; the table has their
median and its 95 % interval by order statistics. What seems slower is measured once more, and all rounds count. The exit code
is 1 where an interval lies below 0.97 as a whole or a measurement fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve()
_SLOWER = 0.97
_ROUNDS = 5  # of a pair of processes
_SECONDS = 0.4  # of one measurement


class Child:
    """A process that measures for a checkout: it is told a name and an amount, and answers with processor seconds."""

    def __init__(self, checkout: Path, python: str, core: int | None) -> None:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment = os.environ | threads | {"PYTHONPATH": str(linked(checkout)), "PYTHONHASHSEED": "0"}
        command = [python, str(_HERE.with_name("throughput_measures.py"))]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, env=environment, **pipes)
        if core is not None:
            os.sched_setaffinity(self._process.pid, {core})

    def ask(self, name: str, amount: int) -> float:
        """Processor seconds of so much work. Raises RuntimeError where the measurement fails there."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{name} {amount}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '"the process ended"')
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return float(answer)

    def end(self) -> None:
        self._process.communicate()


def linked(checkout: Path) -> Path:
    """A folder whose entry `corl` is the package of a checkout, with its entry points: the same at every call."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    digest = hashlib.sha256(str(checkout).encode()).hexdigest()[:12]
    root = Path(tempfile.gettempdir()) / f"corl-throughput-{os.getuid()}" / digest
    (root / "corl").mkdir(parents=True, exist_ok=True)
    for name, folder in sorted(project["tool"]["setuptools"]["package-dir"].items()):
        for item in (checkout / folder).iterdir() if name == "corl" else [checkout / folder]:
            link = root / "corl" / (item.name if name == "corl" else name.removeprefix("corl."))
            if not link.is_symlink() and item.name != "__pycache__":
                link.symlink_to(item)
    info = root / f"corl-{project['project']['version']}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: corl\nVersion: {project['project']['version']}\n")
    lines = []
    for group, entries in project["project"]["entry-points"].items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return root


def interval(ratios: list[float]) -> tuple[float, float]:
    """A 95 % interval of the median by order statistics (the whole range of five or less)."""
    n, ordered = len(ratios), sorted(ratios)
    skipped, tail = 0, 0.5**n
    while tail <= 0.025:
        skipped += 1
        tail += math.comb(n, skipped) * 0.5**n
    return ordered[max(0, skipped - 1)], ordered[min(n - 1, n - skipped)]


class Comparison:
    """What was measured of one kernel."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self.unit = name, unit
        self.amount = 1
        self.times: list[tuple[float, float]] = []
        self.error = ""

    def calibrate(self, child: Child) -> None:
        """The amount of work that takes long enough, and several times what a call takes beside it."""
        child.ask(self.name, 1)  # compiles or loads what it needs
        wanted = max(_SECONDS, 4.0 * child.ask(self.name, 1))
        while (seconds := child.ask(self.name, self.amount)) < wanted / 2 and self.amount < 1 << 30:
            self.amount = math.ceil(self.amount * min(16.0, wanted / max(seconds, 1e-3)))

    def round(self, pair: list[Child], number: int) -> None:
        """One measurement of each, in turns the first."""
        first = number % 2
        seconds = [0.0, 0.0]
        for which in (first, 1 - first):
            seconds[which] = pair[which].ask(self.name, self.amount)
        self.times.append((seconds[0], seconds[1]))

    @property
    def ratios(self) -> list[float]:
        return [b / a for a, b in self.times]

    @property
    def slower(self) -> bool:
        return bool(self.times) and interval(self.ratios)[1] < _SLOWER

    def line(self) -> str:
        """A row of the table."""
        if self.error:
            return f"{self.name:<34}{self.error[:90]}"
        rates = [self.amount / statistics.median(times) for times in zip(*self.times)]
        low, high = interval(self.ratios)
        sign = "  SLOWER" if self.slower else ""
        shown = f"{rates[0]:>12,.4g}{rates[1]:>12,.4g}{statistics.median(self.ratios):>9.3f}   {low:.3f} to {high:.3f}"
        return f"{self.name:<34}{self.unit:<14}{shown}{sign}"


def measure(comparisons: list[Comparison], start: Any, pairs: int) -> None:
    """Add rounds to all of them: `pairs` pairs of processes, one after the other."""
    for number in range(pairs):
        pair = start()
        for each in comparisons:
            try:
                if not each.times:
                    each.calibrate(pair[1])
                for child in pair:
                    child.ask(each.name, each.amount)  # once for what is compiled or loaded at first
                for turn in range(_ROUNDS):
                    each.round(pair, number + turn)
            except RuntimeError as error:
                each.error = each.error or str(error)
        for child in pair:
            child.end()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--against", metavar="OTHER", type=Path, required=True, help="the checkout to compare with (B)")
    parser.add_argument("--checkout", metavar="FOLDER", type=Path, default=_HERE.parents[2], help="A; default: this one")
    parser.add_argument("--python", metavar="FILE", default=sys.executable, help="OTHER's interpreter; default: this one")
    parser.add_argument("--pairs", metavar="N", type=int, default=3, help="pairs of processes, of 5 rounds each; default 3")
    parser.add_argument("--core", metavar="N", type=int, help="the core to use; default: the last that is allowed")
    parser.add_argument("names", metavar="NAME", nargs="*", help="kernels (default: all); a name's beginning is enough")
    args = parser.parse_args()
    core = args.core if args.core is not None else max(getattr(os, "sched_getaffinity", lambda _: {None})(0))

    def start() -> list[Child]:
        return [Child(args.checkout.resolve(), sys.executable, core), Child(args.against.resolve(), args.python, core)]

    from throughput_measures import MEASURES

    chosen = [name for name in MEASURES if not args.names or name.startswith(tuple(args.names))]
    comparisons = [Comparison(name, MEASURES[name].unit) for name in chosen]
    measure(comparisons, start, args.pairs)
    if again := [each for each in comparisons if each.slower]:
        measure(again, start, args.pairs)
    print(f"{'kernel':<34}{'units':<14}{'A':>10}/s{'B':>10}/s{'A/B':>9}   95 % interval")
    for each in comparisons:
        print(each.line())
    return int(any(each.slower or each.error for each in comparisons))


if __name__ == "__main__":
    sys.exit(main())
