"""The package as installed: what is shipped, what is imported, and that it works outside the source tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from corl.version import DISTRIBUTION

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("corl", "problems", "solvers")
THIRD_PARTY = ("numpy", "scipy", "numba", "torch", "torch_geometric", "ortools", "pyscipopt", "networkx", "matplotlib", "rich")


def loaded_by(code: str) -> set[str]:
    """Names of all modules that a fresh interpreter has after running `code`."""
    command = [sys.executable, "-P", "-c", f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import corl",
        "from corl.cli.main import parser_of; parser_of([]).format_help()",
        "from corl import registry; list(registry.working_problems())",
        "from corl import registry; [registry.solver(p, name) for p in registry.problems() for name in registry.solvers(p)]",
        "from corl.learning import recipe as r; [r.recipe_class(p, n) for p in r.registry.problems() for n in r.recipe_names(p)]",
    ],
)
def test_imports_are_lazy(code):
    """`import corl` and `corl --help` load no third party; the classes of all problems, solvers and recipes load no engine."""
    loaded = loaded_by(code)
    heavy = {"scipy", "numba", "torch", "ortools", "pyscipopt", "matplotlib", "networkx", "fast_tsp"}
    forbidden = heavy if "registry" in code else {*THIRD_PARTY, "importlib.metadata"}
    assert not loaded & forbidden


def test_entry_points_are_as_declared():
    """The installed metadata agree with pyproject.toml; if not, reinstall (`pip install -e .`)."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    for group, entries in declared.items():
        ours = [entry for entry in entry_points(group=group) if entry.dist and entry.dist.name == DISTRIBUTION]
        installed = {entry.name: entry.value for entry in ours}
        assert installed == entries, f"{group}: stale installation; run pip install again"


def test_every_entry_point_loads():
    """Each declared problem, solver, recipe and network exists, and says what it is."""
    from corl import registry
    from corl.learning.recipe import recipe_class, recipe_names
    from corl.networks.architectures import network_class

    for entry in entry_points(group="corl.networks"):
        assert network_class(entry.name).architecture == entry.name

    for name in registry.problems():
        assert registry.problem(name).name == name and registry.problem(name).title
        for short in registry.solvers(name):
            assert registry.solver(name, short).title, f"{name}.{short} has no title"
        for short in recipe_names(name):
            recipe = recipe_class(name, short)
            assert recipe.title and recipe.step, f"{name}.{short} has no title or step"


def test_top_level_is_the_layout():
    """Nothing is added to the top level but dot files."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    top = {name.split("/")[0] for name in tracked.stdout.split()}
    allowed = {"pyproject.toml", "README.md", "LICENSE", "corl", "problems", "solvers", "instances", "tests"}
    assert {name for name in top if not name.startswith(".")} <= allowed


def test_arrows_run_one_way():
    """corl imports neither problems nor solvers, but for models in code and corl.milp; problems import neither
    solvers nor the benchmark."""
    above = {ROOT / "corl" / "modelling", ROOT / "corl" / "milp.py"}
    rules = {"corl": r"(from|import) corl\.(problems|solvers)", "problems": r"(from|import) corl\.(solvers|benchmark)"}
    for folder, rule in rules.items():
        for file in (ROOT / folder).rglob("*.py"):
            if not above & {file, *file.parents}:
                assert not re.search(rule, file.read_text(encoding="utf-8")), f"{file} points the wrong way"


@pytest.mark.parametrize("name", ["problems", "solvers"])
def test_second_copies_are_refused(name):
    """`import problems` from the checkout's root would make a second copy of every class; it is refused with the right name."""
    done = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0 and f"corl.{name}" in done.stderr


def test_import_from_the_checkout_root_finds_the_problems():
    """`import corl` in the root picks up the source folder; corl.problems must resolve there too."""
    code = "import corl, corl.problems.tsp.instance as m; print(m.__name__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "corl.problems.tsp.instance", done.stderr


@pytest.mark.long
def test_wheel_outside_the_source_tree(tmp_path):
    """A wheel and an sdist are built from a copy; installed alone, the wheel lists, solves and checks a shipped instance."""
    source = tmp_path / "source"
    ignore = shutil.ignore_patterns(".git", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, source, ignore=ignore)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(source)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    wheel = next((tmp_path / "dist").glob("*.whl"))
    assert "corl/instances/memory/bert-b8.json.gz" in zipfile.ZipFile(wheel).namelist()
    venv.create(tmp_path / "venv", with_pip=True, system_site_packages=False)
    python = tmp_path / "venv" / "bin" / "python"
    quiet = {"capture_output": True, "text": True, "cwd": tmp_path}
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel], check=True, **quiet)
    # The dependencies come from this environment; corl itself only from the wheel.
    libraries = next(path for path in map(Path, sys.path) if (path / "numpy").is_dir())
    borrowed = tmp_path / "borrowed"
    borrowed.mkdir()
    for item in libraries.iterdir():
        if "corl" not in item.name.lower():
            (borrowed / item.name).symlink_to(item)
    environment = os.environ | {"PYTHONPATH": str(borrowed)}
    listed = subprocess.run([python, "-P", "-m", "corl", "list", "instances", "tsp", "--json"], env=environment, **quiet)
    assert listed.returncode == 0, listed.stderr
    row = json.loads(listed.stdout)[0]
    assert str(tmp_path / "venv") in row["path"]
    command = [python, "-P", "-m", "corl", "solve", row["path"], "--time-limit", "1", "--output", "a.tour"]
    solved = subprocess.run(command, env=environment, **quiet)
    assert solved.returncode == 0 and "verified" in solved.stdout, solved.stderr
    checked = subprocess.run([python, "-P", "-m", "corl", "check", row["path"], "a.tour"], env=environment, **quiet)
    assert checked.returncode == 0 and checked.stdout.startswith("feasible"), checked.stderr
