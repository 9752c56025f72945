"""corl.compilation.companion: the wheel of compiled kernels is used where it fits, and nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from corl.cli.main import main
from corl.compilation import companion, companion_wheel

SOLVE = """
import sys
import corl
from corl.compilation.companion import examine
result = corl.solve(corl.problem("knapsack").generators["uniform"](size=20, seed=1), solver="dp")
modules = [module for name, module in sys.modules.items() if name.startswith("corl.solvers.knapsack.")]
stats = [each.stats for module in modules for each in vars(module).values() if hasattr(each, "stats")]
misses, hits = (sum(sum(counts.values()) for counts in kind) for kind in zip(*((s.cache_misses, s.cache_hits) for s in stats)))
print(result.objective, misses, hits)
print(examine()[1])
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder in which pip has installed the wheel with the kernels for knapsacks."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-P", "-m", "corl", "warm-up", "knapsack", "--wheel", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    assert done.stdout.startswith(f"{wheel}, ")
    install = [
        sys.executable,
        "-P",
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(folder / "site"),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True, text=True)
    return folder / "site"


def solved(installed, cache, **environment):
    """The objective value, how many kernels were compiled and how many were found, and what is said of the package."""
    environment = os.environ | {"PYTHONPATH": str(installed), "CORL_CACHE": str(cache)} | environment
    done = subprocess.run([sys.executable, "-P", "-c", SOLVE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers, said = done.stdout.splitlines()
    objective, misses, hits = map(float, numbers.split())
    return objective, misses, hits, said


linux = pytest.mark.skipif(
    sys.platform != "linux" or bool(companion.unfit(companion.versions())), reason="not the wheel's platform"
)


@linux
def test_nothing_is_compiled_where_it_fits(installed, tmp_path):
    """With an empty cache, which stays empty."""
    _, misses, hits, said = solved(installed, tmp_path)
    assert misses == 0 and hits > 0 and said.endswith("corl_kernels is used")
    assert not list(tmp_path.rglob("*.nbc"))


@linux
@pytest.mark.long
@pytest.mark.parametrize("variable", ["NUMBA_CPU_NAME=generic", "NUMBA_BOUNDSCHECK=1"])
def test_another_target_is_compiled(installed, tmp_path, variable):
    """To the same result."""
    expected = solved(installed, tmp_path)[0]
    objective, misses, hits, said = solved(installed, tmp_path, **dict([variable.split("=")]))
    assert objective == expected and misses > 0 and hits == 0
    assert said.endswith("is not used: the environment gives numba another target")


@linux
@pytest.mark.long
def test_other_sources_are_compiled(installed, tmp_path):
    """The kernels of a module of which the package has another digest; and all if the manifest is damaged."""
    manifest = installed / companion.PACKAGE / companion.MANIFEST
    text = manifest.read_text()
    known = json.loads(text)
    known["sources"] = dict.fromkeys(known["sources"], "0")
    try:
        manifest.write_text(json.dumps(known))
        _, misses, hits, said = solved(installed, tmp_path)
        assert misses > 0 and hits == 0 and said.endswith("is used")
        manifest.write_text("no JSON")
        assert solved(installed, tmp_path)[3].endswith("is not used: manifest.json cannot be read")
    finally:
        manifest.write_text(text)


def test_where_it_does_not_fit(monkeypatch):
    """Other versions, and a processor without a feature of the level."""
    ours = companion.versions()
    assert companion.unfit(ours | {"numba": "0.1"}).startswith("it is for numba 0.1, this is ")
    assert companion.unfit({}) == f"it is for python None, this is {ours['python']}"
    monkeypatch.setattr(companion.binding, "get_host_cpu_features", lambda: {"sse3": True})
    if not companion.unfit(ours).startswith(("it is for Linux", "the environment")):
        assert companion.unfit(ours).startswith("the processor lacks cx16, popcnt") and " sse3," not in companion.unfit(ours)


def test_a_wheel_for_another_system_is_refused(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(companion_wheel.platform, "machine", lambda: "arm64")
    assert main(["warm-up", "knapsack", "--wheel", str(tmp_path)]) == 2
    assert "accepted: Linux on x86-64" in capsys.readouterr().err


@linux
def test_kernels_that_cannot_be_compiled(monkeypatch, tmp_path, capsys):
    """Exit code 1, one line, and no wheel."""
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(companion_wheel.subprocess, "run", lambda *arguments, **keywords: failed)
    assert main(["warm-up", "knapsack", "--wheel", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "corl: the kernels of the wheel could not be compiled\n"
    assert not list(tmp_path.iterdir())
