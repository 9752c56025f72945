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


@pytest.mark.parametrize(
    ("how", "workers"),
    [
        (signal.SIGINT, 1),
        (signal.SIGTERM, 2),
        pytest.param(signal.SIGINT, 2, marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, 1, marks=pytest.mark.long),
    ],
)
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


LATE = """
import os, signal, sys
from corl.result import Result
from corl.cli.main import main
to_json = Result.to_json
def late(result):
    Result.to_json = to_json
    os.kill(os.getpid(), signal.SIG{how})
    return to_json(result)
Result.to_json = late
sys.exit(main(["solve", "numbers.txt", "--iterations", "3", "--json", "--output", "kept.json"]))
"""


@pytest.mark.parametrize("how", ["INT", "TERM"])
def test_a_signal_after_the_search(plugin_folder, plugin_environment, tmp_path, how):
    """Ctrl-C and SIGTERM while the result is being printed: it is printed and written all the same; exit code 130."""
    (tmp_path / "numbers.txt").write_bytes((plugin_folder / "numbers.txt").read_bytes())
    child = start([sys.executable, "-P", "-c", LATE.replace("{how}", how)], tmp_path, plugin_environment)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130 and err == "", err
    assert json.loads(out)["limit"] == "iterations" and json.loads(out) == json.loads((tmp_path / "kept.json").read_text())


def test_a_signal_while_the_result_is_verified(plugin, monkeypatch):
    """Ctrl-C between the end of the search and the Result: the Result is there, and the handler of before."""
    import corl
    from corl import solving

    def late(*arguments):
        signal.raise_signal(signal.SIGINT)
        return result(*arguments)

    result, before = solving._result, signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(solving, "_result", late)
    assert corl.solve(plugin / "numbers.txt", iterations=3).limit == "iterations"
    assert signal.getsignal(signal.SIGINT) is before
