"""Source: the instances that a policy is trained on, and those that are held out to validate it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corl import registry
from corl.deprecation import renamed_members
from corl.errors import UsageError, unknown
from corl.options import option
from corl.splitting import hash_of

if TYPE_CHECKING:
    from corl.adapter import Problem

__all__ = ["Source", "folder_option"]

_VALIDATION = 2**30  # the number of the first generated validation instance; training instances have smaller numbers
_HELD_OUT = 10  # about one file in ten is held out for validation


def folder_option() -> str:
    """Return the option `instances` of a recipe."""
    return option("", "A folder of instance files to train on, instead of generated ones; a tenth of them is only validated on.")


@renamed_members({"watched": "validation_instances"})
@dataclass(frozen=True)
class Source:
    """The source of instances: a generator, whose instances are functions of the seed and their number, or a folder of files."""

    problem: Problem
    generator: str = ""
    """The name of one of the problem's generators; "": the first that takes a size."""
    sizes: Sequence[int] = (20,)
    """Values of the generator's `Problem.size_option`: successive calls of `instances` use them in turn."""
    seed: int = 0
    folder: str = ""
    """A folder of files to read instead. A tenth of them, by a hash of their names, are validated on and never trained on."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the fields in a worker process, and register the problem there, as it need not be of an installed package."""
        self.__dict__.update(state)
        registry.problem(self.problem)

    def instances(self, first: int, count: int) -> list[Any]:
        """Return the instances with the numbers first, ..., first + count - 1 to train on; every call must have the same `count`.

        Raises UsageError for an unknown generator or option, and InputError for a malformed file.
        """
        if self.folder:
            order = np.random.default_rng([self.seed, first // max(1, count)]).permutation(len(self._files[0]))
            return [self._read(self._files[0][i]) for i in np.resize(order, count).tolist()]
        return self._generated(first, count, self.sizes[first // max(1, count) % len(self.sizes)])

    def validation_instances(self, count: int) -> list[Any]:
        """Return `count` validation instances, divided equally among the sizes; of a folder, at most `count` held-out files."""
        if self.folder:
            return [self._read(path) for path in self._files[1][:count]]
        cuts = np.linspace(0, count, len(self.sizes) + 1).astype(int).tolist()
        parts = zip(self.sizes, cuts, cuts[1:])
        return [one for size, begin, end in parts for one in self._generated(_VALIDATION + begin, end - begin, size)]

    def _generated(self, first: int, count: int, size: int) -> list[Any]:
        """Return the generated instances of a size with the numbers `first`, ..., `first` + count - 1."""
        from corl.options import call, named

        generators, option = self.problem.generators, self.problem.size_option
        sized = (name for name, make in generators.items() if option in inspect.signature(make).parameters)
        name = self.generator or next(sized, next(iter(generators), ""))
        if name not in generators:
            raise UsageError(unknown(f"{self.problem.name} has no generator", name, generators))
        seeds = [int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0]) for number in range(first, first + count)]
        with named(name):
            return [call(generators[name], {option: size, "seed": seed}) for seed in seeds]

    def _read(self, path: Path) -> Any:
        return self.problem.read(path)

    @cached_property
    def _files(self) -> tuple[list[Path], list[Path]]:
        """The files to train on and those to validate on. Raises UsageError if there are no files to train on."""
        folder = Path(self.folder)
        if not folder.is_dir():
            raise UsageError(f"instances: no folder {self.folder}; accepted: a folder of instance files of {self.problem.name}")
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
        validation = [path for path in files if hash_of(path)[0] % _HELD_OUT == 0]
        training = [path for path in files if path not in set(validation)]
        if not training:
            raise UsageError(f"instances: {self.folder} has no files to train on")
        return training, validation
