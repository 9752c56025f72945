"""Shared fixtures: README's example as an installed plug-in, and the benchmark data beside the checkout."""

from __future__ import annotations

import copy
import gc
import importlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

os.environ.setdefault("CORL_STRICT", "1")  # in every test a false report of a solver is an error; child processes inherit it

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
SUPPORT = Path(__file__).resolve().parent / "support"


def _importable() -> None:
    """Make tests/support a package; tests/ itself on the path would let tests/corl shadow corl in child processes."""
    spec = importlib.util.spec_from_file_location("support", SUPPORT / "__init__.py", submodule_search_locations=[str(SUPPORT)])
    assert spec is not None and spec.loader is not None
    sys.modules["support"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


if "support" not in sys.modules:
    _importable()
pytest_plugins = ["support.tiers"]

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's background job: children would ignore Ctrl-C too
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Where all tests are to run on several workers, compile their kernels first, each once. A worker has one thread."""
    from corl.compilation.cache import package_folder

    config = session.config
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    folder = package_folder("corl") if config.args_source == pytest.Config.ArgsSource.TESTPATHS else None
    if folder is not None and not (done := folder / "warm-for-tests").exists():
        subprocess.run([sys.executable, "-P", str(ROOT / "tests" / "warm_up.py")], check=True)
        done.touch()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public benchmark instances, where the checkout has it beside it."""
    if not DATA.is_dir():
        pytest.skip(f"the benchmark data is not beside the checkout ({DATA.parent.name}/{DATA.name})")
    return DATA


def _readme_block(language: str, containing: str) -> str:
    """The code block of README.md in that language that contains the given text."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    found = [block for block in blocks if containing in block]
    assert len(found) == 1, f"README has {len(found)} {language} blocks with {containing!r}"
    return found[0]


@pytest.fixture(scope="session")
def readme_block():
    """A function (language, text): the one code block of README in that language that contains the text."""
    return _readme_block


@pytest.fixture(scope="session")
def plugin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds README's "partition" example as an installed distribution, and an instance of it."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "partition.py").write_text(_readme_block("python", "class Partition"), encoding="utf-8")
    groups = tomllib.loads(_readme_block("toml", "partition:Partition"))["project"]["entry-points"]
    lines = [f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in entries.items()) for group, entries in groups.items()]
    info = folder / "partition-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: partition\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("\n\n".join(lines), encoding="utf-8")
    numbers = "\n".join(str(7 * k % 101 + k) for k in range(1, 31))
    (folder / "numbers.txt").write_text(f"PARTITION\n{numbers}\n", encoding="utf-8")
    return folder


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch):
    """A function that puts a plug-in's folder on this process's search path; the registry forgets it afterwards."""
    from corl import registry
    from corl.entry_points import declared
    from corl.learning.recipe import recipe_class
    from corl.networks import architectures

    def forget() -> None:
        for cached in (declared, registry._installed, registry.solver, recipe_class, architectures._installed):
            cached.cache_clear()

    def add(folder: Path) -> Path:
        monkeypatch.syspath_prepend(folder)
        forget()
        return folder

    yield add
    forget()


@pytest.fixture
def plugin(plugin_folder: Path, searched) -> Path:
    """README's plug-in on this process's search path."""
    return searched(plugin_folder)


@pytest.fixture(scope="session")
def plugin_environment(plugin_folder: Path) -> dict[str, str]:
    """Environment variables for a child process that sees the plug-in."""
    return os.environ | {"PYTHONPATH": str(plugin_folder)}


@pytest.fixture(scope="session")
def corl_command(plugin_folder: Path):
    """Run `corl ARGUMENTS` in a child process outside the source tree; returns the CompletedProcess with texts."""

    def call(*arguments: object, **keywords: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "corl", *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(plugin_folder)}
        keywords = {"capture_output": True, "text": True, "cwd": plugin_folder, "env": environment, "timeout": 300} | keywords
        return subprocess.run(command, **keywords)

    return call


class Clock:
    """Stands still until it is told that time passes."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of this process's solves: `clock.sleep(seconds)` makes time pass."""
    clock = Clock()
    for module in ("corl.run", "corl.solving"):
        monkeypatch.setattr(importlib.import_module(module), "time", clock)
    return clock


@pytest.fixture
def overtime(monkeypatch: pytest.MonkeyPatch):
    """A function (instance, solver, time_limit, **options): the processor seconds that `corl.solve` takes beyond its limit.

    From the start of the run's clock to the Result, the evaluation that verifies it included, without what child processes take.
    The clock shows processor time, so that a busy machine changes little: the least of up to three solves counts, and the garbage
    of other tests is not looked through. A solve before compiles and imports everything; what is measured meets a copy of the
    instance that knows nothing yet.
    """
    clock = SimpleNamespace(perf_counter=time.process_time)
    for module in ("corl.run", "corl.solving"):
        monkeypatch.setattr(importlib.import_module(module), "time", clock)
    import corl

    warm: set[str] = set()

    def beyond(instance: Any, solver: str, time_limit: float, **options: Any) -> float:
        if solver not in warm:
            corl.solve(copy.deepcopy(instance), solver=solver, time_limit=time_limit, **options)
            warm.add(solver)
        seen: list[float] = []
        while not seen or (seen[-1] > 0.2 and len(seen) < 3):
            fresh = copy.deepcopy(instance)
            gc.collect()
            gc.freeze()
            begun = time.process_time()
            result = corl.solve(fresh, solver=solver, time_limit=time_limit, **options)
            seen.append(time.process_time() - begun - result.setup_seconds - time_limit)
            gc.unfreeze()
        return min(seen)

    return beyond
