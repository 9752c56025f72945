"""Workers: the order of batches, failures, and that nothing survives."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from corl.errors import CorlError, UsageError
from corl.learning.workers import stream
from corl.processes.workers import Workers


@pytest.fixture
def work(monkeypatch):
    """The module work.py beside this file, importable here and in workers."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    yield importlib.import_module("work")
    sys.modules.pop("work", None)


def first(count, work, workers, step=0, executor="processes"):
    training = SimpleNamespace(workers=workers, executor=executor, step=step)
    with stream(training, work.draws, 7, 0.02) as batches:
        return [next(batches) for _ in range(count)]


@pytest.mark.parametrize("workers", [1, 3])
def test_batches_do_not_depend_on_the_workers(work, workers):
    """Any number of workers, however fast, gives the batches of none, in order; a resumed stream begins at its step."""
    expected, found, later = first(8, work, 0), first(8, work, workers), first(3, work, workers, step=5)
    assert [i for i, _ in found] == list(range(8))
    for (i, a), (j, b) in zip(found + later, expected + expected[5:]):
        assert i == j
        np.testing.assert_array_equal(a, b)


def test_map_keeps_the_order(work):
    """`map` answers in the order of the payloads, more of them than workers."""
    with Workers(2, work.draws, 1, 0.02) as workers:
        assert [i for i, _ in workers.map([4, 3, 2, 1, 0])] == [4, 3, 2, 1, 0]
        with pytest.raises(UsageError, match="submitted before"):
            workers.next()


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("usage", UsageError, "^bad option$"),
        ("crash", CorlError, "a worker failed: ValueError: boom"),
        ("killed", CorlError, "ended by SIGKILL"),
    ],
)
def test_trouble_is_one_error(work, kind, error, words):
    """What a worker raises is raised here, and one that is killed is an error, not a wait without end."""
    with Workers(1, work.troubled, kind) as workers:
        workers.map([0])
        workers.submit(1)
        with pytest.raises(error, match=words):
            workers.next()


def test_a_lost_worker_loses_what_is_left(work):
    """Whatever is asked of workers that are gone is an error, also what was submitted before and after their end."""
    with Workers(1, work.troubled, "killed") as workers:
        workers.map([0])
        numbers = [workers.submit(i) for i in (1, 0)]
        for number in [*numbers, workers.submit(0)]:
            with pytest.raises(CorlError, match="worker 0 ended by SIGKILL"):
                workers.take(number)


def test_makers_must_pickle():
    """A function that is no module's cannot be sent, and the error says what can."""
    with pytest.raises(UsageError, match="pickle"):
        Workers(1, lambda: None)


def gone(process):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat")
        return state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def wait_until_gone(process):
    deadline = time.monotonic() + 20
    while not gone(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    return gone(process)


def test_workers_end_with_their_context(work):
    """Leaving the context ends a worker in the middle of a batch."""
    with Workers(1, work.troubled, "busy") as workers:
        (process,) = workers.map([0])
        workers.submit(1)
    assert wait_until_gone(process)


SCRIPT = """
import time, work
from corl.processes.workers import Workers
workers = Workers(1, work.troubled, "busy")
print(workers.map([0])[0], flush=True)
workers.submit(1)
time.sleep(600)
"""


def test_workers_die_with_their_parent(work, tmp_path):
    """A parent killed by SIGKILL leaves no worker behind, even in the middle of a batch; the script needs no main guard."""
    script = tmp_path / "unguarded.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    with subprocess.Popen([sys.executable, "-P", str(script)], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        process = int(parent.stdout.readline())
        assert not gone(process)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert wait_until_gone(process)


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="Ray's clusters run on POSIX systems")
def test_ray_actors_give_the_same_batches(work, monkeypatch):
    """Actors of a local Ray answer as processes do, and pass on errors."""
    pytest.importorskip("ray", reason='ray is not installed (pip install ".[distributed]")')
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    expected, found = first(6, work, 0), first(6, work, 2, executor="ray")
    for (i, a), (j, b) in zip(found, expected):
        assert i == j
        np.testing.assert_array_equal(a, b)
    with Workers(1, work.troubled, "crash", executor="ray") as workers:
        workers.map([0])
        with pytest.raises(CorlError, match="a worker failed: ValueError: boom"):
            workers.map([1])
