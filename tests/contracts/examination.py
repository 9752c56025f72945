"""What may come of a damaged file: an error of one line, or a value that can be used like any other."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import resource
import signal
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from specimen import named_cheap

import corl
from corl import registry
from corl.cli.main import one_line
from corl.errors import CorlError, InputError, UsageError
from corl.files.json_values import from_json, to_json

__all__ = ["check_instance", "examined", "judged", "refused", "same", "solve_cheaply"]

LONGEST = 320
"""Characters of a message, without the file's name."""
SECONDS = 3.0
"""Of processor time, for a mutant."""
LARGE = 50_000
"""Numbers of an instance (one that a generator's call in a file stands for) that may take longer than that to be solved."""
_MEMORY = 6 * 2**30  # bytes of address space that a mutant may take


class _Slow(BaseException):
    """A mutant took more than its time. No Exception, which readers may catch."""


@contextlib.contextmanager
def _watched(seconds: float, memory: int) -> Iterator[None]:
    """Little time and little memory, and warnings are errors."""

    def stop(number: int, frame: Any) -> None:
        raise _Slow(f"over {seconds} s of processor time")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGPROF, stop)
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, hard))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)


def _try(examine: Callable[[], None], seconds: float, memory: int) -> None:
    """Within the time, at the latest the fifth time: a mutant may be the first of its kind, whose kernels are compiled then."""
    for last in (False, False, False, False, True):
        try:
            with _watched(seconds, memory):
                return examine()
        except _Slow:
            if last:
                raise


def examined(
    mutants: Iterable[bytes], path: Path, examine: Callable[[], None], *, seconds: float = SECONDS, memory: int = _MEMORY
) -> list[str]:
    """The faults met when each mutant is written to `path` and `examine` called: a line each, with the mutant in short."""
    faults = []
    for number, content in enumerate(mutants):
        path.unlink(missing_ok=True)  # some disks take 10 ms to put new content into a file that is there
        path.write_bytes(content)
        try:
            _try(examine, seconds, memory)
        except (Exception, _Slow) as error:
            where = traceback.extract_tb((error.__cause__ or error).__traceback__)[-2 if isinstance(error, _Slow) else -1]
            shown = content if len(content) < 1500 else content[:1500] + b"..."
            what = f"{type(error).__name__}: {str(error)[:300]} ({where.filename}:{where.lineno})"
            faults.append(f"mutant {number}: {what} of {path.name}: {shown!r}")
            if len(faults) == 5:
                break
    return faults


@contextlib.contextmanager
def refused(path: Path, kinds: tuple[type[CorlError], ...] = (InputError,)) -> Iterator[None]:
    """Errors of these kinds may end the block; they must be one line, and an InputError's begins with the file."""
    try:
        yield
    except kinds as error:
        text = str(error)
        if type(error) is InputError:
            assert text.startswith(str(path)), f"the message does not begin with the file: {text[:200]}"
        length = len(one_line(text).replace(str(path), ""))
        assert length <= LONGEST, f"a message of {length} characters: {text[:300]}"


def check_instance(problem: Any, instance: Any, path: Path) -> None:
    """What was read is the same after it was written, and has facts."""
    assert to_json(problem.describe(instance))
    copy = path.with_name(f"copy{path.suffix}")
    copy.unlink(missing_ok=True)
    with refused(copy, (UsageError,)):  # a format that has not everything that an instance may have
        problem.write(instance, copy)
        assert same(instance, problem.read(copy)), "what was written reads as another instance"


def same(a: Any, b: Any, but: Collection[str] = ()) -> bool:
    """Equal to the bit, but for names and comments, of which formats keep what they can, and other fields to be left out."""
    if dataclasses.is_dataclass(a):
        fields = {field.name for field in dataclasses.fields(a)} - {"name", "comment", *but}
        return type(a) is type(b) and all(same(getattr(a, key), getattr(b, key), but) for key in fields)
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same(one, other, but) for one, other in zip(a, b))
    return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def large(instance: Any) -> bool:
    """Whether an instance holds so much that it may take its time."""
    arrays = [value for value in vars(instance).values() if isinstance(value, np.ndarray)]
    return sum(array.size for array in arrays) > LARGE


def solve_cheaply(problem: Any, instance: Any, path: Path) -> Any:
    """The solution of 30 iterations, judged; None where there is none, or the solver says why it cannot."""
    name = named_cheap(problem.name)
    limit = {"iterations": 30} if registry.solver(problem.name, name).iteration else {"time_limit": 20}
    with refused(path, (UsageError,)):
        return corl.solve(instance, problem=problem.name, solver=name, **limit).solution
    return None


def judged(problem: Any, instance: Any, path: Path) -> float:
    """The objective of the solution in a file, in the family's own format or JSON, without the net of `corl check`."""
    if path.suffix in problem.suffixes:
        return float(problem.evaluate(instance, problem.read_solution(instance, path)))
    try:
        value = from_json(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        return math.nan
    except InputError as error:
        raise InputError(error.reason, file=str(path)) from error
    try:
        solution = problem.from_json(instance, value)
    except InputError as error:
        raise InputError(error.reason, file=str(path), line=error.line, field=error.field) from error
    return float(problem.evaluate(instance, solution))
