"""Fixtures of the tuner's tests: runs within this process, each of which counts as one processor second."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from corl.benchmark.running import child, supervisor
from corl.benchmark.running.process import Ended
from corl.benchmark.running.supervisor import Supervisor


class Inline:
    """An executor that runs each task when it is submitted. It may be told to be interrupted, as by Ctrl-C."""

    def __init__(self) -> None:
        self.count, self.interrupt_at = 0, -1
        self._done: deque = deque()

    def submit(self, number, task, cores):
        if self.count == self.interrupt_at:
            raise KeyboardInterrupt
        self.count += 1
        self._done.append((number, ("answer", Ended(child._answer(task[0]), cpu_seconds=1.0))))

    def take(self):
        return self._done.popleft()

    def close(self):
        self._done.clear()


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> Inline:
    """The executor of all runs in this test; `count`: the number of runs so far."""
    executor = Inline()
    made = classmethod(lambda cls, jobs: Supervisor(executor, jobs, 1, "this test has", local=False))
    monkeypatch.setattr(supervisor.Supervisor, "here", made)
    return executor


@pytest.fixture
def folder(toy: Path, tmp_path: Path) -> Path:
    """A folder with the least number of instances of the toy problem that can be divided."""
    found = tmp_path / "instances"
    found.mkdir()
    for size in range(2, 12):
        (found / f"n{size}.txt").write_text(f"TOY {size}\n")
    return found


@pytest.fixture
def tuned(inline: Inline, folder: Path, tmp_path: Path):
    """Tune a solver of the toy problem, with one iteration a run and the budget of 200 runs; returns the Tuning."""
    from corl import tune

    def call(solver: str = "tunable", **arguments):
        given = {"iterations": 1, "budget": 200, "store": tmp_path / "t.db", "output": tmp_path / "mine.toml"} | arguments
        return tune("toy", solver, instances=folder, **given)

    return call
