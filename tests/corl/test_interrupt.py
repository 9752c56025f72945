"""Ctrl-C keeps the incumbent: from the command line, a script, a notebook-like process, and with workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def start(command, plugin_folder, environment, **keywords):
    """A child process with pipes for texts."""
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=plugin_folder, env=environment, **keywords)


def interrupt_when_running(child, how=signal.SIGINT):
    """Wait for the first line on stderr (progress: there is an incumbent), then send the signal; returns (stdout, stderr)."""
    first = child.stderr.readline()
    time.sleep(0.3)
    child.send_signal(how)
    out, rest = child.communicate(timeout=60)
    return out, first + rest


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [1, 2])
def test_command_line(plugin_folder, plugin_environment, tmp_path, how, workers):
    """SIGINT and SIGTERM: exit code 130, the incumbent printed and written."""
    command = [sys.executable, "-P", "-m", "corl", "solve", "numbers.txt", "--time-limit", "60", "--progress", "--json"]
    command += ["--output", str(tmp_path / "kept.json"), "--workers", str(workers)]
    child = start(command, plugin_folder, plugin_environment)
    out, err = interrupt_when_running(child, how)
    assert child.returncode == 130, err
    values = json.loads(out)
    assert values["limit"] == "interrupted" and values["verified"]
    assert json.loads((tmp_path / "kept.json").read_text())["solution"] == values["solution"]


SCRIPT = """
import signal, sys, corl
say = lambda news: print(news.objective, file=sys.stderr, flush=True)
before = signal.getsignal(signal.SIGINT)
result = corl.solve("numbers.txt", time_limit=60, on_improvement=say)
print(result.limit, result.status, signal.getsignal(signal.SIGINT) is before, flush=True)
"""


def test_script(plugin_folder, plugin_environment):
    """A script's solve returns with the incumbent, and the script's own handler is back afterwards."""
    child = start([sys.executable, "-c", SCRIPT], plugin_folder, plugin_environment)
    out, err = interrupt_when_running(child)
    assert child.returncode == 0 and out == "interrupted feasible True\n", err


NOTEBOOK = """
import sys
for source in iter(sys.stdin.readline, ""):
    try:
        exec(compile(eval(source), "<cell>", "exec"), globals())
    except KeyboardInterrupt:
        print("KeyboardInterrupt", flush=True)
"""


def test_notebook_like_process(plugin_folder, plugin_environment):
    """A long-lived process that runs cells: an interrupted cell leaves a result, and the next cell works."""
    child = start([sys.executable, "-c", NOTEBOOK], plugin_folder, plugin_environment, stdin=subprocess.PIPE)
    child.stdin.write(repr(SCRIPT) + "\n")
    child.stdin.flush()
    child.stderr.readline()
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted feasible True\n"
    out, err = child.communicate(repr("print(corl.solve('numbers.txt', iterations=3).limit)") + "\n", timeout=60)
    assert out == "iterations\n", err


def test_outside_the_main_thread(plugin):
    """In another thread no handler is installed, and solving works."""
    import threading

    import corl

    results = []
    thread = threading.Thread(target=lambda: results.append(corl.solve(plugin / "numbers.txt", iterations=5)))
    thread.start()
    thread.join(60)
    assert results[0].limit == "iterations"


def test_workers_do_not_outlive_a_killed_parent(plugin_folder, plugin_environment):
    """kill -9 of the parent ends its workers within moments."""
    command = [sys.executable, "-P", "-m", "corl", "solve", "numbers.txt", "--time-limit", "60", "--progress", "--workers", "2"]
    child = start(command, plugin_folder, plugin_environment, start_new_session=True)
    child.stderr.readline()
    child.kill()
    child.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(child.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.killpg(child.pid, signal.SIGKILL)
    pytest.fail("a worker outlived its parent")
