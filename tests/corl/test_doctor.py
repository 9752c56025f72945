"""What an installation has and lacks, and does without; completion of words in shells."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corl.cli import doctor
from corl.cli.main import COMMANDS, main
from corl.errors import missing_package
from corl.version import DISTRIBUTION


def test_doctor_says_what_is_here(capsys):
    """Versions as the metadata have them, the cache's folder, every problem's kernels; as JSON too."""
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["packages"]["numpy"] == np.__version__ and facts["missing"] == []
    assert facts["corl"].startswith(importlib.metadata.version(DISTRIBUTION))
    assert os.environ.get("CORL_CACHE", "") in facts["cache"] and {"tsp", "vrp"} <= set(facts["compiled"])
    assert main(["doctor"]) == 0
    assert "packages" in capsys.readouterr().out


def test_doctor_says_what_is_missing(capsys, monkeypatch):
    """A package that corl cannot do without: exit 1; one of an extra: how to install it."""
    true = importlib.metadata.version

    def version(name):
        if name in ("scipy", "pyvrp"):
            raise importlib.metadata.PackageNotFoundError(name)
        return true(name)

    monkeypatch.setattr(doctor.metadata, "version", version)
    assert main(["doctor", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["missing"] == ["scipy"] and facts["packages"]["scipy"] == "missing"
    assert facts["extras"]["peers"].endswith(f"pip install '{DISTRIBUTION}[peers]'")


def test_a_missing_package_is_one_line(capsys, monkeypatch):
    """With the name that pip knows; a module of corl that is missing is no package."""
    assert missing_package(ModuleNotFoundError("No module named 'torch_geometric.nn'", name="torch_geometric.nn")).startswith(
        "torch-geometric is not installed; pip install torch-geometric"
    )
    assert missing_package(ModuleNotFoundError("no", name="corl.nothing")) is None and missing_package(ImportError("no")) is None
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "matplotlib.backends.backend_agg", raising=False)
    assert main(["plot", "tsp/uniform-500", "--output", "a.png"]) == 2
    assert capsys.readouterr().err == "corl: matplotlib is not installed; pip install matplotlib (corl doctor shows all)\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(shell, tmp_path, capsys):
    """All commands, the options of each, and names; where the shell is there, it reads the script."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in COMMANDS) and "warm-start" in script and "ruin-recreate" in script
    (tmp_path / "script").write_text(script)
    if shutil.which(shell):
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_completion_in_bash(tmp_path, capsys):
    """What bash offers after `corl so`, `corl solve --warm`, `corl solve x --problem knap`."""
    if not shutil.which("bash"):
        pytest.skip("there is no bash")
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    for words, offered in {
        ("corl", "so"): "solve",
        ("corl", "solve", "--warm"): "--warm-start",
        ("corl", "solve", "--problem", "knap"): "knapsack",
        ("corl", "list", "rec"): "recipes",
    }.items():
        line = " ".join(words)
        code = f'. ./script; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _corl; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == offered, words


@pytest.mark.long
def test_every_classical_solver_works_without_torch(tmp_path):
    """In an environment with all libraries but torch: auto and every solver that takes no policy solve a problem's first kind."""
    folders = [path for path in map(Path, sys.path) if path.name == "site-packages"]
    for item in (item for folder in folders for item in folder.iterdir()):
        if not item.name.startswith(("torch", "functorch")) and (item.suffix != ".pth" or item.name.startswith("__editable__")):
            with contextlib.suppress(FileExistsError):
                (tmp_path / item.name).symlink_to(item)
    done = subprocess.run([sys.executable, "-S", "-P", "-c", _WITHOUT], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert len(done.stdout.splitlines()) > 30, done.stdout


_WITHOUT = """
import importlib.util, logging, os, site
site.addsitedir(os.getcwd())
import corl
from corl import registry
assert importlib.util.find_spec("torch") is None
logging.basicConfig()
learned = {"cp-agent", "heatmap-mcts", "iterative-dqn", "learned-branching", "learned-priority", "muzero", "policy",
           "sequoia", "slim", "tree-search"}
for problem in registry.working_problems():
    make = next(iter(problem.generators.values()))
    instance = make()
    for name in ["auto", *(name for name in registry.solvers(problem.name) if name not in learned)]:
        if name == "auto" or not registry.solver(problem.name, name)().accepts(instance):
            result = corl.solve(instance, problem=problem.name, solver=name, time_limit=0.2)
            print(problem.name, name, result.solver, result.status, flush=True)
"""
