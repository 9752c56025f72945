"""A family of somebody else, as a package of its own has it: numbers that are to be split into two groups of nearly equal sums.

test_toy.py declares it as an installed distribution, beside `family.py` and `specimens/`, and runs the contracts on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import corl
from corl.fields import Array, Constant, Either, document
from corl.files.opening import writing
from corl.files.text import Text
from corl.tokens import Tokens

LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class Numbers:
    """Values [n] from 0 to LARGEST."""

    name: str
    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or not len(self.values):
            raise corl.InputError("there are no numbers; accepted: one at least")
        if not ((self.values >= 0) & (self.values <= LARGEST)).all():
            raise corl.InputError(f"a number is out of range; accepted: 0 to {LARGEST:g}")


def uniform(*, size: int = 12, seed: int = 0) -> Numbers:
    """Whole numbers from 1 to 99."""
    if not 1 <= size <= 10**6:
        raise corl.UsageError(f"size: {size} is not accepted; accepted: 1 to 1000000")
    return Numbers(f"uniform-{size}-{seed}", np.random.default_rng(seed).integers(1, 100, size).astype(float))


class Placing(corl.Environment):
    """Action 1 puts the next number into the first group, action 0 into the second. A reward is how much nearer the sums come."""

    compiled, state = False, ()

    def __init__(self, instances: list[Numbers], rows: int, width: int = 2) -> None:
        super().__init__(instances, rows, width, fewest=1)
        self.width = 2
        self.which, self.signs = np.zeros(rows, np.int64), [()] * rows

    def _reset(self, rows, which, keys):
        for row, k in zip(rows, which):
            self.which[row], self.signs[row] = k, ()
        return np.zeros(len(rows))

    def at(self, row):
        """The values, the difference so far, and the next value; None at the end."""
        values, signs = self.instances[self.which[row]].values, self.signs[row]
        return values, float(values[: len(signs)] @ signs), values[len(signs)] if len(signs) < len(values) else None

    def actions(self, rows):
        return np.array([(-1, -1) if self.at(row)[2] is None else (0, 1) for row in self._checked(rows)], np.int32).reshape(-1, 2)

    def _step(self, src, dst, actions, rewards):
        for i, (a, b, action) in enumerate(zip(src, dst, actions)):
            _, total, value = self.at(a)
            if value is None or action not in (0, 1):
                rewards[i] = np.nan
                continue
            sign = 2 * int(action) - 1
            rewards[i] = abs(total) - abs(total + sign * value)
            self.which[b], self.signs[b] = self.which[a], (*self.signs[a], sign)

    def _observe(self, rows, actions):
        seen = [(total, 0.0 if value is None else value, max(values.max(), 1.0)) for values, total, value in map(self.at, rows)]
        return {"action": actions, "state": np.array(seen).reshape(-1, 3)}

    def instance_of(self, rows):
        return self.which[rows]

    def solution(self, row):
        at = int(self._checked(row)[0])
        if self.at(at)[2] is not None:
            raise corl.UsageError(f"row {at} has numbers left")
        return np.array(self.signs[at])


def sums(seen: dict[str, np.ndarray]) -> Tokens:
    """A token an action: the difference that it leads to, in units of the largest number."""
    total, value, unit = seen["state"].T
    x = np.stack([total - value, total + value], axis=1)[..., None] / unit[:, None, None]
    return Tokens(np.concatenate([x, np.abs(x)], axis=2).astype(np.float32), seen["action"] >= 0, None, unit)


class Halves(corl.Problem):
    """Files: a line HALVES, then a number a line; # begins a comment."""

    name, title, instance_type = "halves", "split numbers into two groups of nearly equal sums", Numbers
    generators, features, suffixes = {"uniform": uniform}, {"sums": sums}, (".split",)

    def evaluate(self, instance: Numbers, solution: Any) -> float:
        """The difference of the sums of a solution [n] of 1 and -1."""
        found = np.asarray(solution)
        if found.shape != instance.values.shape or not np.isin(found, (-1, 1)).all():
            raise corl.Infeasible("a solution has a 1 or a -1 for every number")
        return abs(float(found @ instance.values))

    def recognises(self, head: str) -> bool:
        return head.startswith("HALVES")

    def read(self, path: Path) -> Numbers:
        """Raises InputError with the line."""
        text = Text.read(path)
        values = []
        for number, line in text.lines():
            word = line.split("#")[0].strip()
            if number == 1 and word != "HALVES":
                raise text.error("the first line is not accepted; accepted: HALVES", line=1)
            if number > 1 and word:
                values.append(text.number(word, "number", number, 0.0, LARGEST))
        if not values:
            raise text.error("there are no numbers; accepted: one at least", line=text.last_line)
        return Numbers(path.name.split(".")[0], np.array(values))

    def write(self, instance: Numbers, path: Path) -> None:
        with writing(path) as file:
            file.write("HALVES\n" + "".join(f"{float(value)!r}\n" for value in instance.values))

    def environment(self, instances, rows, width=None, name=""):
        if name or any(not isinstance(instance, Numbers) for instance in instances):
            raise corl.UsageError(f"no environment {name!r} of that; accepted: the only one, of Numbers")
        return Placing(instances, rows, 2 if width is None else width)

    def schemas(self):
        return {"solution": document("halves solution: 1 or -1 for every number", Array(Either(Constant(1), Constant(-1)), 1))}

    def decisions(self, instance, solution, key=0, name=""):
        return (np.asarray(solution, np.int64) + 1) // 2


@dataclass(frozen=True)
class Flip(corl.Solver):
    """Random solutions, a thousand at most."""

    title, iteration = "a thousand random solutions", "one random solution"

    def solve(self, instance: Numbers, run: corl.Run) -> None:
        random, left = np.random.default_rng(run.seed), 1000
        while left and (n := min(left, run.budget())):
            for _ in range(n):
                run.report(random.choice([-1, 1], len(instance.values)))
            left -= n
