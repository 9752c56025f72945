"""Disks that are full: a line that says which file, the documented exit code, and nothing lost that was finished."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from corl.store import Store

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="POSIX limits of file sizes, Linux's /dev/full")

SUITE = """
problem = "tsp"
time_limits = [0.1]
seeds = 6
[[instances]]
generate = "uniform"
parameters = { size = 60 }
[[solvers]]
solver = "nearest-neighbour"
"""


def full_at(size: int) -> Callable[[], None]:
    """For a child: files grow to `size` bytes, where a full disk would end them (the error is EFBIG in place of ENOSPC)."""
    import resource

    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.fixture
def corl(tmp_path):
    """Run `corl ARGUMENTS` in tmp_path, where files grow to `size` bytes."""

    def call(*arguments: object, size: int = -1, **keywords: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "corl", *map(str, arguments)]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | keywords
        whole = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # it would keep the beginnings of modules for everybody
        return subprocess.run(command, text=True, cwd=tmp_path, env=whole, timeout=300, preexec_fn=full_at(size), **streams)

    return call


def one_line(done, *words: str) -> bool:
    """Whether all that was said is a line with these words, of corl's own."""
    return done.stderr.startswith("corl: ") and done.stderr.count("\n") == 1 and all(word in done.stderr for word in words)


SOLVE = ("solve", "tsp/uniform-1000", "--solver", "nearest-neighbour", "--json")


def test_a_solution_that_cannot_be_written(corl, tmp_path):
    """The result is printed, what --output named stays as it was, --plot is tried all the same; exit code 2 and a line each."""
    (tmp_path / "best.tour").write_text("precious")
    done = corl(*SOLVE, "--output", "best.tour", size=1000)
    assert done.returncode == 2 and one_line(done, "best.tour: cannot be written"), done.stderr
    assert json.loads(done.stdout)["status"] == "feasible"
    assert (tmp_path / "best.tour").read_text() == "precious" and os.listdir(tmp_path) == ["best.tour"]


def test_a_picture_that_cannot_be_written(corl, tmp_path):
    """The solution is printed and written, where it is small enough; a line about the picture."""
    done = corl("solve", "tsp/uniform-100", "--solver", "nearest-neighbour", "--output", "a.tour", "--plot", "a.png", size=4000)
    assert done.returncode == 2 and one_line(done, "a.png: cannot be written"), done.stderr
    assert os.listdir(tmp_path) == ["a.tour"]


def test_a_solution_is_written_where_standard_output_is_full(corl, tmp_path):
    """What --output asked for is there, though the result could not be printed; exit code 1."""
    with open("/dev/full", "w") as full:
        done = corl(*SOLVE, "--output", "best.json", stdout=full)
    assert done.returncode == 1 and one_line(done, "standard output cannot be written"), done.stderr
    assert json.loads((tmp_path / "best.json").read_text())["verified"]


@pytest.mark.long
def test_a_store_that_is_full(corl, tmp_path):
    """What was said to be finished is in the store; a line, exit code 2; with room again --resume does the rest."""
    (tmp_path / "s.toml").write_text(SUITE)
    done = corl("bench", "s.toml", "--store", "s.db", size=90_000)
    assert done.returncode == 2 and "corl: s.db: the store cannot be used" in done.stderr.splitlines()[-1], done.stderr
    assert "Traceback" not in done.stderr
    with Store(tmp_path / "s.db") as store:
        kept = store.records()
    finished = [line for line in done.stderr.splitlines() if line.partition("/")[0].isdigit()]
    assert len(finished) == len(kept) < 6
    done = corl("bench", "s.toml", "--store", "s.db", "--resume")
    with Store(tmp_path / "s.db") as store:
        complete = store.records()
    assert done.returncode == 0 and complete[: len(kept)] == kept and len(complete) == 6, done.stderr


@pytest.mark.long
def test_a_network_that_cannot_be_written(corl, tmp_path):
    """`corl train` names the file, in a line at the end, with exit code 2."""
    train = ("train", "knapsack", "--recipe", "policy-gradient", "--steps", 1, "--option", "size=8", "--output", "k.safetensors")
    done = corl(*train, size=20_000)
    assert done.returncode == 2 and "cannot be written" in done.stderr.splitlines()[-1], done.stderr
    assert "Traceback" not in done.stderr and os.listdir(tmp_path) == []


@pytest.mark.long
def test_kernels_that_cannot_be_kept(corl, tmp_path, monkeypatch):
    """Where the cache is full kernels are compiled for the process alone."""
    monkeypatch.setenv("CORL_CACHE", str(tmp_path / "cache"))
    done = corl(*SOLVE, size=2000)
    assert done.returncode == 0 and json.loads(done.stdout)["verified"] and "Traceback" not in done.stderr, done.stderr
