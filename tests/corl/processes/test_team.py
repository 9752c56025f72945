"""Worker processes that die, lie, hang or talk too much, and the same faults without workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


FAULTS = [
    ("crash", 1, "ValueError: boom"), ("exit", 1, "3"), ("memory", 1, "MemoryError"), ("lie", 1, "claimed 0.5"),
    ("infeasible", 1, "an empty array"), ("none", 4, ""), ("return", 4, ""), ("unbounded", 4, ""),
]  # fmt: skip


@pytest.mark.parametrize(  # in the gate each of them once, every other one with workers
    ("mode", "code", "words", "workers"),
    [
        pytest.param(*fault, workers, id=f"{fault[0]}-{workers}", marks=() if (k + workers) % 2 else pytest.mark.long)
        for workers in (1, 2)
        for k, fault in enumerate(FAULTS)
    ],
)
def test_faults_are_one_line(toy_command, mode, code, words, workers):
    """A solver's fault is one line and exit code 1, finding nothing exit code 4, with workers as without."""
    done = toy_command(mode, "--iterations", 50, "--workers", workers)
    assert done.returncode == code and words in done.stderr and done.stderr.count("\n") <= 1, done.stderr


def test_a_killed_worker_is_a_warning(toy_command):
    """One of two workers that is killed (out of memory) is named on stderr; what it found before counts."""
    done = toy_command("killed", "--time-limit", 2, "--workers", 2, "--json")
    assert done.returncode == 0 and "worker 1 ended by SIGKILL (out of memory?)" in done.stderr, done.stderr
    assert json.loads(done.stdout)["objective"] == 1


def test_the_incumbent_survives_all_workers(toy_command):
    """Where every worker is killed, the best that they had reported is the answer, with a warning for each."""
    done = toy_command("all killed", "--time-limit", 5, "--workers", 2, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["objective"] == 1, done.stderr
    assert done.stderr.count("ended by SIGKILL (out of memory?); what they had found is kept") == 2


@pytest.mark.chance
@pytest.mark.parametrize("workers", [1, 2])
def test_a_deaf_engine_is_killed(toy_command, workers):
    """A solver that asks for a process of its own and never comes back ends with the limit, and what it told by then counts."""
    done = toy_command("deaf", "--time-limit", 1.5, "--workers", workers, "--json")
    values = json.loads(done.stdout)
    assert values["objective"] == 1 and values["limit"] == "time_limit" and done.stderr == ""


def test_all_workers_dead_in_preparation(toy_command):
    """Workers that die before they are ready end the call at once."""
    done = toy_command("exit in preparation", "--workers", 2)
    assert done.returncode == 1 and "ended with exit code 7" in done.stderr


@pytest.mark.chance
def test_the_clock_starts_after_the_preparation(toy_command):
    """Preparation that takes longer than the time limit does not use it up, with workers as without."""
    for workers in (1, 2):
        values = json.loads(toy_command("slow preparation", "--time-limit", 0.5, "--workers", workers, "--json").stdout)
        assert values["setup_seconds"] > 1.4 and values["runtime"] >= 0.5 and values["limit"] == "time_limit"


def test_prints_do_not_corrupt_the_json(toy_command):
    """What a solver prints, through Python or past it, goes to stderr; stdout is one JSON line."""
    for workers in (1, 2):
        done = toy_command("print", "--iterations", 50, "--workers", workers, "--json")
        assert json.loads(done.stdout)["objective"] == 1 and "printed" in done.stderr and "written" in done.stderr


def test_a_thread_left_behind_does_not_keep_a_worker(toy_command):
    """A worker whose solver left a thread running is ended with the run."""
    assert toy_command("thread", "--iterations", 50, "--workers", 2).returncode == 0


@pytest.mark.chance
def test_big_solutions_pass_while_the_parent_is_busy(toys):
    """16 MB solutions from two workers, a 16 MB instance and a callback that sleeps: no deadlock, and the last one arrives."""
    script = """
import time, toys, corl
toy = toys.Toy("x" * 16_000_000)
result = corl.solve(toy, time_limit=1.5, workers=2, mode="big", on_improvement=lambda news: time.sleep(0.3))
print(result.objective, len(result.solution), result.limit)
"""
    environment = os.environ | {"PYTHONPATH": str(toys)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, cwd=toys, capture_output=True, text=True, timeout=60)
    assert done.stdout == "1.0 2000000 time_limit\n", done.stderr


def test_what_does_not_pickle_is_a_usage_error(toys):
    """An instance that cannot be sent, or not be found by a worker, is one clear error, not a hang."""
    script = """
import threading, toys, corl
from dataclasses import dataclass
@dataclass(frozen=True)
class Mine(toys.Toy):
    secret: object = None
for instance in (toys.Toy(threading.Lock()), Mine("a", 0)):
    try:
        corl.solve(instance, time_limit=1, workers=2, mode="print")
    except corl.UsageError as error:
        print(error)
"""
    environment = os.environ | {"PYTHONPATH": str(toys)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, cwd=toys, capture_output=True, text=True, timeout=60)
    said = done.stdout.splitlines()
    assert "pickle" in said[0] and "cannot import Mine from a script" in said[1], done.stderr


def test_a_target_reached_by_one_does_not_cut_the_others_short(toy_command):
    """With iterations the result depends on no clock: the slow worker's better solution beats the fast one's target."""
    done = toy_command("race", "--iterations", 10, "--target", 5, "--workers", 2, "--json")
    values = json.loads(done.stdout)
    assert values["objective"] == 4 and values["limit"] == "target", done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_signals_to_the_whole_group(toys, how):
    """A terminal's Ctrl-C and a batch system's SIGTERM reach the workers too: the incumbent survives, and no process is left."""
    command = [sys.executable, "-P", "-m", "corl", "solve", "toy.txt", "--time-limit", "60", "--workers", "2", "--progress"]
    environment = os.environ | {"PYTHONPATH": str(toys)}
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        [*command, "--option", "mode=print", "--json"], cwd=toys, env=environment, stdout=pipe, stderr=pipe, text=True,
        start_new_session=True,
    )  # fmt: skip
    while "incumbent" not in child.stderr.readline():
        assert child.poll() is None
    os.killpg(child.pid, how)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130 and json.loads(out)["objective"] == 1, err
    assert gone(child.pid)


def test_a_hung_worker_ends_with_its_parent(toys):
    """kill -9 of the parent ends even a worker whose solver never looks at the run."""
    command = [sys.executable, "-P", "-m", "corl", "solve", "toy.txt", "--time-limit", "60", "--workers", "2", "--progress"]
    environment = os.environ | {"PYTHONPATH": str(toys)}
    child = subprocess.Popen(
        [*command, "--option", "mode=hang"], cwd=toys, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    child.stderr.readline()
    child.kill()
    child.wait()
    assert gone(child.pid)


def gone(group: int) -> bool:
    """Whether all processes of a group end within 20 s; those that do not are killed."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    os.killpg(group, signal.SIGKILL)
    return False
