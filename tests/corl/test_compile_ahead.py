"""corl.compilation.precompile and locks: several processes compile each kernel once, and none is left behind."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from numba.core import types

import corl.solvers
from corl import registry
from corl.compilation import cache, precompile, signatures

SOLVERS = Path(corl.solvers.__path__[0])
RECORDER = Path(__file__).resolve().parents[1] / "record_kernels.py"

MODULE = """
from typing import NamedTuple
import numpy as np
from corl.jit import kernel

class Pair(NamedTuple):
    a: np.ndarray
    b: int

@kernel
def shared(x):
    return x + 1

@kernel
def first(x, pair):
    return shared(x) + pair.a[0]

@kernel
def second(x):
    return shared(x) * 2
"""
RECORD = {
    "kind": "",
    "kernels": [
        [9.0, "team_sample:first", ["int64", "Pair"]],
        [9.0, "team_sample:second", ["int64"]],
        [1.0, "team_sample:gone", ["int64"]],
        [1.0, "team_sample:shared", ["no type"]],
    ],
    "classes": {"Pair": ["team_sample:Pair", "array(float64, 1, C)", "int64"]},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "team_sample.py").write_text(MODULE)
    return tmp_path


def python(folder, code, **keywords):
    environment = os.environ | {"PYTHONPATH": str(folder), "CORL_CACHE": str(folder / "cache")}
    command = [sys.executable, "-P", "-c", code]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keywords)


def output(child):
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    return out.split()


def test_a_record_is_compiled_ahead(folder):
    """All that it names and that there is, and what that calls; then nothing is missing, and a solver loads it."""
    ahead = f"""
from corl.compilation.precompile import compile_ahead, missing
record, told = {RECORD!r}, []
print(len(missing([record])))
compile_ahead([record], lambda count, seconds: told.append(count))
print(told[0])
"""
    assert output(python(folder, ahead)) == ["2", "2"]
    use = f"""
import numpy as np, team_sample
from corl.compilation.precompile import missing
print(len(missing([{RECORD!r}])), team_sample.first(1, team_sample.Pair(np.ones(1), 2)), team_sample.second(1))
print(sum(sum(each.stats.cache_misses.values()) for each in (team_sample.first, team_sample.second)))
"""
    assert output(python(folder, use)) == ["0", "3.0", "4", "0"]


class Uniform(NamedTuple):
    """Numba has a class of its own for one whose fields are of one type."""

    first: int
    last: int


def test_types_are_written_and_read():
    """What is written is read back as the same type; what could not be is refused."""
    import numba
    import numpy as np

    from corl.compilation.signatures import read, written
    from corl.problems.tsp.metric import Metric  # a NamedTuple of arrays

    locked = np.zeros((2, 2))
    locked.flags.writeable = False
    values = [1, 1.0, True, np.int32(1), np.zeros(3, bool), np.zeros((2, 3))[:, ::2], locked, (1, np.zeros(1)), (1, 2), None]
    values += [Metric(1, np.zeros((1, 2)), locked), Uniform(1, 2)]
    for value in [numba.typeof(value) for value in values] + [types.Omitted(3)]:
        classes = {}
        text = json.loads(json.dumps(written(value, classes)))
        assert read(text, json.loads(json.dumps(classes))) == value
    with pytest.raises(TypeError):
        written(numba.typeof(np.zeros(1, [("a", int)])), {})


SLOW = """
import time
from numba.core import event
import team_sample

class Slow(event.Listener):
    def on_start(self, found):
        print("compiling", flush=True)
        time.sleep(3.0)

    def on_end(self, found):
        pass

event.register("numba:compile", Slow())
team_sample.second(1)
"""
USE = "import team_sample; print(team_sample.second(1), sum(team_sample.second.stats.cache_hits.values()))"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no claims")
@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_one_process_compiles_and_the_others_wait(folder, killed):
    """Who needs a kernel that another process is compiling loads it afterwards; where that one is killed, it compiles it."""
    slow = python(folder, SLOW)
    assert slow.stdout.readline() == "compiling\n"
    user = python(folder, USE)
    if killed:
        time.sleep(1.0)
        slow.send_signal(signal.SIGKILL)
    assert output(user) == ["4", "0" if killed else "1"]
    slow.communicate()


ENDED = """
import time
from corl.compilation import precompile

def tell(count, seconds):
    if count < 2:
        print("compiled", flush=True)
        time.sleep(600)

precompile.compile_ahead([RECORD], tell)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no claims")
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_the_other_processes_end_with_this_one(folder, number):
    """Ctrl-C, or kill -9, in the middle: nobody holds the pipe of standard error any more."""
    lingering = "import sys, time\nif sys.modules['__main__'].__spec__: time.sleep(600)\n"
    (folder / "team_sample.py").write_text(lingering + MODULE)
    child = python(folder, ENDED.replace("RECORD", repr(RECORD)))
    assert child.stdout.readline() == "compiled\n"
    child.send_signal(number)
    child.communicate(timeout=300)  # half of what they would sleep
    assert child.returncode in (-number, 1, 130)


@pytest.mark.long
def test_a_cache_that_cannot_be_written_is_read(folder):
    """Kernels are loaded from a folder without permission to write, and what is missing there is compiled."""
    assert output(python(folder, USE)) == ["4", "0"]
    folders = [file for file in (folder / "cache").rglob("*") if file.is_dir()]
    for each in folders:
        each.chmod(0o555)
    read_only = "import tempfile\ndef refuse(*args, **keys): raise PermissionError\ntempfile.TemporaryFile = refuse\n"
    try:
        assert output(python(folder, read_only + USE)) == ["4", "1"]
        assert output(python(folder, read_only + "import team_sample; print(team_sample.second(1.0))")) == ["4.0"]
    finally:
        for each in folders:
            each.chmod(0o755)


def test_the_command_compiles_once(corl_command, tmp_path):
    """`corl warm-up` says what it compiles; the second time there is nothing to do, and a solve has nothing to compile."""
    environment = os.environ | {"CORL_CACHE": str(tmp_path)}
    first, again = (corl_command("warm-up", "knapsack", env=environment) for _ in range(2))
    assert first.returncode == again.returncode == 0, first.stderr
    assert "kernels to compile, about" in first.stderr and not again.stderr
    assert "all kernels are compiled" in first.stdout and "all kernels are compiled" in again.stdout


def test_a_cold_solve_says_that_it_compiles(tmp_path, caplog, monkeypatch):
    """One line in the log, with a number and about how many seconds, where there is more than a second to wait for."""
    records = [RECORD | {"kernels": [[9.0, "corl.rng:mix", ["int16"]], [3.0, "corl.rng:mix", ["int8"]]]}]
    monkeypatch.setattr(precompile, "recorded", lambda solver, kind: records)
    monkeypatch.setattr(precompile, "_helpers", lambda count, records: nullcontext())
    monkeypatch.setattr(precompile, "compile_one", lambda job: None)
    precompile.compile_for(registry.solver("knapsack", "dp")(), None)
    (message,) = caplog.messages
    assert re.fullmatch(r"compiling 2 kernels once for this machine, about \d+ s", message)


@pytest.mark.parametrize("file", sorted(SOLVERS.rglob("*.kernels.json")), ids=lambda file: f"{file.parent.name}-{file.name}")
def test_records_name_kernels_and_classes_that_there_are(file):
    """Otherwise the kernels have changed: `python -P tests/record_kernels.py PROBLEM.SOLVER` records them again."""
    for records in json.loads(file.read_text(encoding="utf-8")).values():
        for record in records:
            for _, where, texts in record["kernels"]:
                module, _, name = where.partition(":")
                kernel = getattr(import_module(module), name)
                assert isinstance(kernel._cache, cache.Cache)
                parameters = inspect.signature(kernel.py_func).parameters.values()
                required = sum(parameter.default is parameter.empty for parameter in parameters)
                assert required <= len(texts) <= len(parameters)
                for text in texts:
                    types.unliteral(signatures.read(text, record["classes"]))
            for cls, *fields in record["classes"].values():
                module, _, name = cls.partition(":")
                assert len(fields) == len(getattr(import_module(module), name)._fields)


def recorded():
    """The solvers that have records, as PROBLEM, SOLVER."""
    for problem in registry.problems():
        for short in registry.solvers(problem):
            if precompile.recorded(registry.solver(problem, short)):
                yield problem, short


@pytest.mark.long
@pytest.mark.parametrize(("problem", "short"), list(recorded()))
def test_records_are_what_solvers_prepare(problem, short):
    """The same kernels, for the same types; otherwise `python -P tests/record_kernels.py PROBLEM.SOLVER` records them again."""
    for record in precompile.recorded(registry.solver(problem, short)):
        command = [sys.executable, "-P", str(RECORDER), problem, short, record["kind"]]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        assert unordered(found) == unordered(record)


def unordered(record):
    """What a record names, without the estimates of seconds."""
    return record["classes"], sorted((where, texts) for _, where, texts in record["kernels"])
