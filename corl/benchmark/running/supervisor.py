"""Supervisor: starts the processes of runs, on this machine or on a Ray cluster (extra "distributed"), and waits for them.

Each process is started by a thread of this process or by a task of Ray, and pinned to processors of its machine that no other
run of a benchmark uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from corl.benchmark.running.process import Ended, Processes, run_process
from corl.errors import UsageError, described
from corl.processes.executor import Executor, Outcome, Threads
from corl.processes.processors import available

__all__ = ["Supervisor"]


class Supervisor:
    """Executes at most `jobs` runs at a time, on the available processors."""

    def __init__(self, executor: Executor, jobs: int, processors: int, owner: str, *, local: bool) -> None:
        """Create a supervisor; `owner`: the words of a message before the number of processors, such as "the cluster has"."""
        self.jobs, self._processors, self._owner = jobs, processors, owner
        self.local = local
        """Whether runs are on this machine and use its cache of kernels."""
        self._executor = executor
        self._running: dict[int, int] = {}  # number of a run -> its cores

    @classmethod
    def here(cls, jobs: int) -> Supervisor:
        """Return a supervisor on this machine. Raises UsageError for more jobs than processors."""
        processors, processes = len(available()), Processes()
        if jobs > processors:
            raise UsageError(f"--jobs: {jobs} is not accepted; this process may use {processors} processors")
        executor = Threads([partial(_run_in_turn, processes)] * jobs, processes.kill)
        return cls(executor, jobs, processors, "this process may use", local=True)

    @classmethod
    def on_ray(cls, address: str | None, jobs: int | None) -> Supervisor:
        """Return a supervisor on a Ray cluster. Raises UsageError if Ray or the cluster is not available.

        Args:
            address: The cluster's address, as for `ray.init`; None: the cluster that Ray finds.
            jobs: The most runs at a time; None: one per processor.
        """
        from corl.processes.ray import Ray

        executor = Ray.tasks(address, _run_one)
        return cls(executor, jobs or executor.processors, executor.processors, "the cluster has", local=False)

    def room(self, cores: int) -> bool:
        """Return whether a run on `cores` processors would start at once. Raises UsageError if it could never start."""
        if cores > self._processors:
            raise UsageError(f"a solver asks for {cores} processors; {self._owner} {self._processors}")
        return len(self._running) < self.jobs and sum(self._running.values()) + cores <= self._processors

    def submit(self, number: int, task: bytes, cores: int, hard_limit: float) -> None:
        """Start a run; `number` identifies it in `next`, the other arguments are those of `run_process`."""
        self._running[number] = cores
        self._executor.submit(number, (task, cores, hard_limit), cores)

    def next(self) -> tuple[int, Ended]:
        """Wait until a run ends; return its number and its end."""
        while (found := self._executor.take()) is None:
            pass
        number, (kind, value) = found
        del self._running[number]
        if kind == "failed":
            value = Ended(fault="crash", reason=f"the run could not be supervised: {described(value)}")
        elif kind == "lost":
            value = Ended(fault="lost", reason=str(value))
        return number, value

    def close(self) -> None:
        """Kill the runs that have not ended."""
        self._executor.close()


def _run_one(run: tuple[bytes, int, float]) -> Outcome:
    """Execute one run within a Ray task; `run` holds the arguments of `run_process`."""
    return "answer", run_process(*run)


def _run_in_turn(processes: Processes, runs: Iterator[tuple[int, tuple[bytes, int, float]]]) -> Iterator[tuple[int, Outcome]]:
    """Execute runs one after the other within a thread of this process."""
    for number, run in runs:
        try:
            yield number, ("answer", run_process(*run, processes))
        except Exception as error:
            yield number, ("failed", error)
