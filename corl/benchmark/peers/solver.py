"""ExternalSolver: a solver that is a program. It reads an instance file and a limit, and writes a solution file."""

from __future__ import annotations

import contextlib
import math
import os
import re
import string
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from corl.benchmark.peers.program import Ended, Task
from corl.errors import CorlError, Infeasible, InputError, SolverError, UsageError, described
from corl.processes.child import Child
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["PLACEHOLDERS", "REFUSED", "ExternalSolver", "expanded", "filled"]

PLACEHOLDERS = ("instance", "solution", "limit", "seed", "cores", "folder")
"""The names that a command may have in braces, with a format if wanted: "{limit:.0f}"."""
REFUSED = 77
"""The exit code by which a program refuses an instance (as tests are skipped in Automake and Meson)."""
_VARIABLE = re.compile(r"\$(\w+)")
_NOT_PASSED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSAFEPATH", "VIRTUAL_ENV", "CORL_STRICT")  # they are of corl's interpreter
_BUSY = 5  # times a limit of the processor that the program may take on the wall clock
_POLL = 0.05  # seconds between two looks at an interruption
_END_LIMIT = 5.0  # seconds in which an interrupted program must be gone


@dataclass(frozen=True)
class ExternalSolver(Solver):
    """A program as a solver: in Python an argument of `corl.solve`, in a benchmark a peer (corl.benchmark.peers.definition)."""

    name: str
    problem: str
    command: tuple[str, ...]
    """The program and its arguments. $NAME is the value of an environment variable, and {NAME} one of PLACEHOLDERS."""
    instance_suffix: str
    """The ending of the name of the instance file, which chooses its format (`Problem.write`)."""
    solution_suffix: str
    """The ending of the name of the solution file: one of the problem's own formats, or .json."""
    limit_kind: str = "wall"
    """Whether the program counts its limit in seconds of the "wall" clock or of the "processor"."""
    grace: float = 10.0
    """Seconds after the limit until the program is killed. They are of the clock that the limit is of; as a busy machine gives
    it less of the processor, a limit of the processor also ends after five times the limit on the wall clock.
    """
    where: Mapping[str, Any] = field(default_factory=dict)
    """Facts (`Problem.describe`) that an instance must have so that the program can solve it: name -> value or list of values."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further environment variables of the program; $NAME in a value is that of a variable of this process."""
    folder: str = ""
    """The value of {folder}: the folder of the peer's file."""
    source: str = ""
    """Where the program came from."""
    version: str = ""

    title: ClassVar[str] = "a program"
    reports_at_end: ClassVar[bool] = True
    own_workers: ClassVar[bool] = True

    @property
    def result_name(self) -> str:
        """The name of the solver in a Result."""
        return self.name

    @property
    def ended(self) -> list[Ended]:
        """How the program ended in each call of `solve` in this process: its exit code, wall seconds, processor seconds."""
        found: list[Ended] = self.__dict__.setdefault("_ended", [])
        return found

    def accepts(self, instance: Any) -> str:
        """Return "" if the program can solve the instance, otherwise the reason."""
        from corl import registry

        found = registry.problem_of(instance)
        if found is None or found.name != self.problem:
            return f"it solves {self.problem}"
        facts = found.describe(instance)
        for name, wanted in self.where.items():
            values = wanted if isinstance(wanted, list) else [wanted]
            if name not in facts:
                return f"it has no fact {name!r} (corl info FILE)"
            if facts[name] not in values:
                return f"its {name} is {facts[name]}, not {' or '.join(map(str, values))}"
        return ""

    def kill_after(self, time_limit: float) -> float:
        """Return the seconds of the wall clock after which the program is killed."""
        return (_BUSY * time_limit if self.limit_kind == "processor" else time_limit) + self.grace

    def solve(self, instance: Any, run: Run) -> None:
        """Write the instance, run the program, and report its solution. The clock starts with the program.

        Raises SolverError if the program fails, and UsageError for an instance that its format cannot hold.
        """
        if run.time_limit is None:
            raise UsageError(f"{self.name} needs a time_limit")
        with tempfile.TemporaryDirectory(prefix="corl-peer-") as name:
            folder = Path(name)
            task = self._task(run, instance, folder)
            child = Child("corl.benchmark.peers.guard", group=True)
            try:
                child.receive()
                run.restart_clock()
                ended = _watched(child, task, run)
            finally:
                child.kill()
                child.reap()
                child.close()
            if ended is not None:
                self.ended.append(ended)
                self._check(ended, folder)
                run.report(self._solution(run, instance, folder))

    def _task(self, run: Run, instance: Any, folder: Path) -> Task:
        """Write the instance file into the folder; return the task."""
        limit = run.time_limit or math.inf
        file = folder / f"instance{self.instance_suffix}"
        try:
            run.problem.write(instance, file)
        except CorlError as error:
            raise UsageError(f"{self.name} cannot get this instance as *{self.instance_suffix}: {error}") from error
        values = {
            "instance": str(file),
            "solution": str(folder / f"solution{self.solution_suffix}"),
            "limit": int(limit) if limit == int(limit) else limit,
            "seed": run.seed,
            "cores": run.workers,
            "folder": self.folder,
        }
        command = [expanded(filled(part, values)) for part in self.command]
        environment = {key: text for key, text in os.environ.items() if key not in _NOT_PASSED}
        environment |= {key: expanded(text) for key, text in self.environment.items()}
        processor = limit + self.grace if self.limit_kind == "processor" else None
        return Task(command, str(folder), environment, self.kill_after(limit), processor)

    def _check(self, ended: Ended, folder: Path) -> None:
        """Raise UsageError if the program refuses the instance, and SolverError if it failed.

        The cause of a SolverError is no CorlError, because not the solution is wrong.
        """
        if ended.killed:
            when = f"killed after {ended.wall_seconds:.1f} s, of which {ended.cpu_seconds:.1f} s of the processor"
            raise SolverError(f"{self.name} did not end: {when}") from TimeoutError()
        if ended.exit_code == REFUSED:
            raise UsageError(f"{self.name} refuses this instance{_last_line(folder)}")
        if ended.exit_code != 0:
            how = f"signal {-ended.exit_code}" if ended.exit_code < 0 else f"exit code {ended.exit_code}"
            raise SolverError(f"{self.name} ended with {how}{_last_line(folder)}") from RuntimeError()

    def _solution(self, run: Run, instance: Any, folder: Path) -> Any:
        """Return the solution in the file, or on standard output if the command has no {solution}."""
        from corl.files.solutions import read_solution

        file = folder / f"solution{self.solution_suffix}"
        if not any("{solution" in part for part in self.command):
            (folder / "output").replace(file)
        if not file.exists():
            raise SolverError(f"{self.name} wrote no solution{_last_line(folder)}") from RuntimeError()
        try:
            return read_solution(run.problem, instance, file)[0]
        except Infeasible:
            raise
        except InputError as error:
            where = f", line {error.line}" if error.line else ""
            raise SolverError(f"the solution of {self.name}{where} cannot be read: {error.reason}") from error
        except Exception as error:
            raise SolverError(f"the solution of {self.name} cannot be read: {described(error)}") from error


def _watched(child: Child, task: Task, run: Run) -> Ended | None:
    """Send the task and wait for its end; None if the run was interrupted before."""
    answer: list[Ended] = []

    def wait() -> None:
        try:
            child.send(task)
            answer.append(child.receive())
        except (EOFError, OSError):
            pass

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    while thread.is_alive() and not run.interrupted:
        thread.join(_POLL)
    if run.interrupted:
        with contextlib.suppress(OSError, ValueError):
            child.send("end")
        thread.join(_END_LIMIT)  # the guard kills what the program started, also outside its process group
        child.kill()
        thread.join()
    elif not answer:
        raise SolverError("the process that runs the program is gone") from RuntimeError()
    return answer[0] if answer else None


def _last_line(folder: Path) -> str:
    """Return ": " and the last line that the program wrote to standard error, or to standard output; "" if there is none."""
    for name in ("errors", "output"):
        if not (folder / name).exists():
            continue
        with (folder / name).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
            lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            return f": {lines[-1][:300]}"
    return ""


def filled(text: str, values: Mapping[str, Any]) -> str:
    """Return a part of a command with the values of its placeholders. Raises ValueError or LookupError for a bad format."""
    return string.Formatter().vformat(text, (), values)


def expanded(text: str) -> str:
    """Return a text with the values of environment variables in place of $NAME. Raises UsageError if one is not set."""

    def value(match: re.Match[str]) -> str:
        if not os.environ.get(match[1]):
            raise UsageError(f"${match[1]} is not set")
        return os.environ[match[1]]

    return _VARIABLE.sub(value, text)
