"""The programs on which players of memory mapping are chosen and judged: `python tests/studies/memory_split.py`.

It makes memory_split.csv. On most programs nearly every plan is as fast as the tuned compiler-like one, so that they say nothing
about a player. Candidates are the shipped traced programs with 1, 2, 4 and 8 MiB of fast memory, in turn with generated ones. One
is kept if the better of two plans by simulated annealing is at least 0.5 % faster than that of `xla-like` with `tuned`. Of the
first 48 kept programs, ordered by the hash of their content, every second one is for judging, the others for choosing. A row has
the call that makes the program, the hash, both times in microseconds, and the part. The file was made before any player was run.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import corl
from corl import registry

__all__ = ["FIELDS", "FILE", "Program", "candidates", "content_hash", "main", "programs"]

FILE = Path(__file__).with_suffix(".csv")
FIELDS = ("generator", "size", "program", "fast_mib", "seed", "sha256", "tuned", "best", "part")
_FIRST = 5_500_000_000  # first seed of generated programs; trainings draw below 2**32
_SIZES = (24, 40, 80)
_KEPT = 48  # programs
_MAX_GENERATED = 200  # programs considered
_FASTER = 0.005  # share by which the best plan is faster than the tuned one
_MOVES = 60_000  # of annealing


@dataclass(frozen=True)
class Program:
    """A call of a generator."""

    generator: str
    parameters: tuple[tuple[str, Any], ...]

    def instance(self) -> Any:
        """Return the program."""
        return registry.problem("memory").generators[self.generator](**dict(self.parameters))


def candidates() -> Iterator[Program]:
    """Yield the programs that are considered, in their order: traced and generated ones in turn, at most 200 generated."""
    from importlib import resources

    folder = Path(str(resources.files("corl.instances"))) / "memory"
    names = sorted(file.name.removesuffix(".json.gz") for file in folder.glob("*.json.gz"))
    traced = [Program("traced", (("program", name), ("fast_mib", mib))) for mib in (1.0, 2.0, 4.0, 8.0) for name in names]
    for number in range(_MAX_GENERATED):
        yield from traced[number : number + 1]
        yield Program("mixed", (("size", _SIZES[number % len(_SIZES)]), ("seed", _FIRST + number)))


def content_hash(instance: Any) -> str:
    """Return the SHA-256 of the JSON file of a program, without its name and comment."""
    from corl.files.json_values import from_json, to_json

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.json"
        registry.problem("memory").write(instance, path)
        content = from_json(path.read_text())
    assert isinstance(content, dict)
    kept = {key: value for key, value in content.items() if key not in ("name", "comment")}
    return hashlib.sha256(to_json(kept).encode()).hexdigest()


def programs(part: str) -> list[Any]:
    """Return the programs of a part ("choose" or "judge") of the committed file."""
    with FILE.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == part]
    return [_of_row(row).instance() for row in rows]


def _of_row(row: dict[str, str]) -> Program:
    kinds = {"size": int, "program": str, "fast_mib": float, "seed": int}
    return Program(row["generator"], tuple((key, kind(row[key])) for key, kind in kinds.items() if row[key]))


def _times(instance: Any) -> tuple[float, float]:
    """Return the microseconds of the tuned compiler-like plan and of the best plan found."""
    tuned = corl.solve(instance, solver="xla-like", tuned=True, time_limit=600).objective
    begun = [
        corl.solve(instance, solver="annealing", start="xla-like", iterations=_MOVES, seed=seed).objective for seed in (0, 1)
    ]
    assert tuned is not None
    return tuned, min(float(value) for value in [tuned, *begun] if value is not None)


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=FILE)
    output = parser.parse_args().output
    kept: list[dict[str, Any]] = []
    for number, program in enumerate(candidates()):
        instance = program.instance()
        tuned, best = _times(instance)
        print(number, program.generator, dict(program.parameters), f"{tuned:.4f} {best:.4f}", flush=True)
        if best <= (1.0 - _FASTER) * tuned:
            row: dict[str, Any] = {"generator": program.generator, "sha256": content_hash(instance)} | dict(program.parameters)
            kept.append(row | {"tuned": f"{tuned:.4f}", "best": f"{best:.4f}"})
        if len(kept) == _KEPT:
            break
    for place, row in enumerate(sorted(kept, key=lambda each: str(each["sha256"]))):
        row["part"] = ("choose", "judge")[place % 2]
    with output.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


if __name__ == "__main__":
    main()
