"""Fixtures of the benchmark's tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def toy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plug-in "toy" (benchmark_plugin.py) and instances z2, z3, z10 of it."""
    spec = importlib.util.spec_from_file_location("benchmark_plugin", Path(__file__).with_name("benchmark_plugin.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.install(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def toy(toy_folder: Path, searched) -> Path:
    """The plug-in on this process's search path."""
    return searched(toy_folder)


@pytest.fixture(scope="session")
def toy_environment(toy_folder: Path) -> Iterator[dict[str, str]]:
    """Environment variables for a child process that sees the plug-in (and the sources that this process sees).

    Its temporary folder is its own, and so are the claims on processors that lie there: other tests' runs take none away. Its
    name is short, because Ray's sockets lie there.
    """
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(toy_folder), *([inherited] if inherited else [])])
    with tempfile.TemporaryDirectory(prefix="corl", ignore_cleanup_errors=True) as folder:
        yield os.environ | {"PYTHONPATH": path, "TMPDIR": folder}


@pytest.fixture
def bench(toy_environment: dict[str, str], tmp_path: Path):
    """Run `corl bench ARGUMENTS` in a child process, in tmp_path; returns the CompletedProcess with texts."""

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "corl", "bench", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=toy_environment, timeout=300)

    return call


@pytest.fixture
def suite(toy_folder: Path, tmp_path: Path):
    """Write a suite of the toy problem with the given solvers; returns its path."""

    def write(*solvers: str, name: str = "s", instances: str = 'generate = "line"', head: str = "time_limits = [0.2]") -> Path:
        blocks = "\n".join(f"[[solvers]]\n{solver if '=' in solver else f'solver = {solver!r}'}" for solver in solvers)
        path = tmp_path / f"{name}.toml"
        path.write_text(f'problem = "toy"\n{head}\n[[instances]]\n{instances}\n{blocks}\n')
        return path

    return write
