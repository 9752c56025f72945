"""Ctrl-C and SIGTERM at every moment of a command: it ends at once, says so with exit code 130, and what it has found is kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals"),
]

TESTS = Path(__file__).resolve().parents[1]
SOON = 60.0  # seconds from the signal to the end of the process; a few on an idle machine, where torch is on its way out
COMMAND = """
import importlib, os, signal, sys, time

def send():
    open("sent", "w").write(str(time.time()))
    os.kill(os.getpid(), signal.SIG{how})

def at(place, name, call=1, after=False):
    "Send the signal before, or after, a call of a function or method."
    module, _, owner = place.partition(":")
    owner = getattr(importlib.import_module(module), owner) if owner else importlib.import_module(module)
    real, calls = getattr(owner, name), []
    def replaced(*arguments, **keywords):
        calls.append(name)
        if len(calls) == call and not after:
            send()
        value = real(*arguments, **keywords)
        if len(calls) == call and after:
            send()
        return value
    setattr(owner, name, replaced)

class Importing:
    "Send the signal when a module is imported."
    def __init__(self, module):
        self.module = module
        sys.meta_path.insert(0, self)
    def find_spec(self, name, path=None, target=None):
        if name == self.module:
            sys.meta_path.remove(self)
            send()

def compiling(depth):
    "Send the signal while a kernel is compiled that so many others wait for."
    from numba.core import event
    class Nested(event.Listener):
        open = 0
        def on_start(self, found):
            self.open += 1
            if self.open == depth and not os.path.exists("sent"):
                send()
        def on_end(self, found):
            self.open -= 1
    event.register("numba:compile", Nested())

{moment}
from corl.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
BOTH = pytest.mark.parametrize("how", ["INT", "TERM"])


def ended(folder, how, moment, *arguments, **environment):
    """Run a command with a signal at that moment; returns the exit code, what it printed and what it said."""
    command = [sys.executable, "-P", "-c", COMMAND.replace("{how}", how).replace("{moment}", moment), *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL
    )
    assert (folder / "sent").exists(), f"the moment never came\n{done.stdout}{done.stderr}"
    assert time.time() - float((folder / "sent").read_text()) < SOON
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def numbers(plugin_folder, tmp_path):
    """A folder with an instance of README's plug-in, and the environment variable that makes it known."""
    shutil.copy(plugin_folder / "numbers.txt", tmp_path)
    return tmp_path, {"PYTHONPATH": str(plugin_folder)}


@BOTH
@pytest.mark.parametrize(
    "moment",
    [
        "Importing('numpy')",
        "Importing('corl.solving')",
        "at('partition:Partition', 'recognises')",
        "at('partition:Partition', 'read')",
        "at('corl.registry', 'choose')",
        "at('corl.solver:Solver', 'prepare')",
    ],
)
def test_a_solve_before_its_clock(numbers, how, moment):
    """Nothing has been found: nothing is printed and nothing written."""
    folder, environment = numbers
    code, out, said = ended(folder, how, moment, "solve", "numbers.txt", "--json", "--output", "kept.json", **environment)
    assert (code, out, said) == (130, "", "corl: interrupted\n") and not (folder / "kept.json").exists()


@BOTH
@pytest.mark.parametrize("depth", [1, 2])
def test_a_solve_that_compiles(tmp_path, how, depth):
    """A kernel, or one within another, on an empty cache."""
    (tmp_path / "a.txt").write_text("4 10\n5 3\n4 5\n7 2\n1 6\n")
    arguments = ("solve", "a.txt", "--problem", "knapsack", "--solver", "dp", "--json")
    code, out, said = ended(tmp_path, how, f"compiling({depth})", *arguments, CORL_CACHE=str(tmp_path / "cache"))
    assert code == 130 and out == "" and said.endswith("corl: interrupted\n"), said


LARGE = """
from corl.compilation import signals
import corl.solver
def prepare(solver, instance):
    with signals.held(), signals.held():
        send()
        time.sleep(600)
corl.solver.Solver.prepare = prepare
"""


@BOTH
def test_a_kernel_that_takes_minutes(numbers, how):
    """While LLVM is at it, no handler of Python's can run: the process ends all the same."""
    folder, environment = numbers
    code, out, said = ended(folder, how, LARGE, "solve", "numbers.txt", "--json", **environment)
    assert (code, out, said) == (130, "", "corl: interrupted\n")


KEPT = """
from corl.compilation import signals
from corl.run import Run
real = Run.finish
def finish(run):
    with signals.held():
        send()
        time.sleep(4.0)
    real(run)
Run.finish = finish
"""


@BOTH
def test_a_kernel_within_a_run(numbers, how):
    """Something has been found: the process waits for the kernel, and tells."""
    folder, environment = numbers
    code, out, _ = ended(folder, how, KEPT, "solve", "numbers.txt", "--json", "--iterations", "5", **environment)
    assert code == 130 and json.loads(out)["verified"]


@BOTH
@pytest.mark.parametrize(
    "moment",
    [
        "at('corl.run:Run', 'budget', 3)",
        "at('corl.run:Run', 'report', 3)",
        "at('corl.run:Run', 'report', 3, after=True)",
        "at('corl.run:Run', 'finish')",
        "at('corl.run:Run', 'finish', after=True)",
        "at('corl.solving', '_result')",
        "at('corl.solving', '_result', after=True)",
        "at('corl.solving', 'solve', after=True)",
        "at('corl.result:Result', 'to_json')",
        "at('corl.result:Result', 'to_json', after=True)",
        "at('corl.result:Result', 'write')",
        "at('corl.result:Result', 'write', after=True)",
    ],
)
def test_a_solve_that_has_found_something(numbers, how, moment):
    """It is printed and written."""
    folder, environment = numbers
    arguments = ("solve", "numbers.txt", "--json", "--output", "kept.json", "--time-limit", "0.5")
    code, out, said = ended(folder, how, moment, *arguments, **environment)
    assert (code, said) == (130, "")
    told = json.loads(out)
    assert told["verified"] and told["solution"] and told == json.loads((folder / "kept.json").read_text())


@pytest.fixture
def lesson(tmp_path):
    """A folder, and the environment variable that makes the toy recipe known."""
    shutil.copy(TESTS / "corl" / "learning" / "toy_lesson.py", tmp_path / "toy_lesson.py")
    info = tmp_path / "lesson-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lesson\nVersion: 1.0\n")
    points = "[corl.recipes]\ntsp.lesson = toy_lesson:Lesson\n\n[corl.networks]\ntoy-line = toy_lesson:Line\n"
    (info / "entry_points.txt").write_text(points)
    return tmp_path, {"PYTHONPATH": str(tmp_path)}


@BOTH
@pytest.mark.parametrize(
    ("moment", "begun"),
    [
        ("Importing('torch')", False),
        ("Importing('torch.optim')", False),
        ("at('corl.learning.session:Training', 'announce')", False),
        ("at('corl.learning.session:Training', 'budget', 5)", True),
        ("at('corl.learning.session:Training', 'log', 5)", True),
        ("at('corl.learning.snapshots', 'write')", True),
        ("at('corl.learning.session:Training', 'save')", True),
        ("at('corl.learning.session:Training', 'finish')", True),
    ],
)
def test_a_training(lesson, how, moment, begun):
    """Once it has begun there is a snapshot to go on from."""
    folder, environment = lesson
    arguments = ("train", "tsp", "--recipe", "lesson", "--steps", "60", "--workers", "0", "--output", "a.safetensors")
    code, _, said = ended(folder, how, moment, *arguments, **environment)
    assert code == 130, said
    assert (folder / "a.snapshot.safetensors").exists() == begun


SUITE = """
problem = "partition"
time_limits = [0.2]
[[instances]]
files = "numbers.txt"
[[solvers]]
solver = "flip"
"""


@BOTH
@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        ("Importing('corl.benchmark.running.runner')", False),
        ("at('corl.benchmark.running.suite', 'read_suite')", False),
        ("at('corl.benchmark.running.supervisor:Supervisor', 'submit')", False),
        ("at('corl.benchmark.running.supervisor:Supervisor', 'next', after=True)", False),
        ("at('corl.store:Store', 'add')", False),
        ("at('corl.store:Store', 'add', after=True)", True),
        ("at('corl.store:Store', '__exit__')", True),
    ],
)
def test_a_benchmark(numbers, how, moment, kept):
    """What had ended and was stored is kept; a further call goes on."""
    folder, environment = numbers
    (folder / "s.toml").write_text(SUITE)
    code, _, said = ended(folder, how, moment, "bench", "s.toml", **environment)
    assert code == 130, said
    command = [sys.executable, "-P", "-m", "corl", "bench", "s.toml", "--resume"]
    again = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0 and again.stdout.startswith("0 runs" if kept else "1 run"), again.stdout + again.stderr


@BOTH
@pytest.mark.parametrize(
    "moment", ["Importing('numba')", "at('corl.compilation.precompile', 'missing')", "compiling(1)", "compiling(2)"]
)
def test_a_warm_up(tmp_path, how, moment):
    """Also while other processes compile."""
    code, out, said = ended(tmp_path, how, moment, "warm-up", "knapsack", CORL_CACHE=str(tmp_path / "cache"))
    assert code == 130 and out == "" and said.endswith("corl: interrupted\n"), said


MODEL = """
import torch
def model():
    with torch.device("meta"):
        return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), (torch.empty(4, 8),)
"""


@BOTH
@pytest.mark.parametrize(
    "moment",
    [
        "Importing('torch')",
        "Importing('torch.fx')",
        "Importing('torch.export')",
        "at('corl.problems.memory.tracing.program', 'program_of')",
        "at('corl.cli.generate', 'write')",
    ],
)
def test_a_trace(tmp_path, how, moment):
    """While PyTorch is imported, a model is traced or the instance written."""
    (tmp_path / "tiny_model.py").write_text(MODEL)
    code, out, said = ended(tmp_path, how, moment, "trace", "tiny_model:model", PYTHONPATH=str(tmp_path))
    assert code == 130 and out == "" and said.endswith("corl: interrupted\n"), said
