"""Who imports whom, late imports and those for types alone included: no circles between folders, and arrows run one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).resolve().parents[2]
GROUND = ("adapter", "environment", "hooks", "parts", "policy", "solver", "tokens")
"""The contracts. They import one another and what stands here; from a folder only what they describe a picture with."""
BENEATH = ("deprecation", "errors", "jit", "judging", "online.stream", "options", "run", "termination", "tolerance", "view.scene")
ALONE = {"corl.benchmark": ("corl.cli", "corl.tuning"), "corl.cli": ("corl.__main__",)}
"""Folders that nobody imports but those behind."""


def sources() -> dict[str, Path]:
    """The files of the package by the names of their modules."""
    found = {}
    for top in ("corl", "problems", "solvers"):
        for file in (ROOT / top).rglob("*.py"):
            parts = file.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if top == "corl" else ("corl", *parts))] = file
    return found


def imported(file: Path) -> Iterator[str]:
    """The names after `import`, and after `from` with each name that is imported from there."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.fixture(scope="module")
def arrows() -> networkx.DiGraph:
    """From each module of the package to those that it imports."""
    modules, graph = sources(), networkx.DiGraph()
    for name, file in modules.items():
        for target in imported(file):
            while target and target not in modules:
                target = target.rpartition(".")[0]
            if target and target != name:
                graph.add_edge(name, target)
    return graph


def test_no_circles_between_folders(arrows):
    """Files that import each other, in however many steps, lie in one folder."""
    modules = sources()
    for circle in networkx.strongly_connected_components(arrows):
        folders = {modules[name].parent for name in circle}
        assert len(folders) == 1, f"a circle through {len(folders)} folders: {sorted(circle)}"


def test_contracts_import_nothing_above_them(arrows):
    """The waist of the house is on the ground."""
    allowed = {f"corl.{name}" for name in (*GROUND, *BENEATH)}
    for name in GROUND:
        assert set(arrows.successors(f"corl.{name}")) <= allowed, name


@pytest.mark.parametrize("folder", ALONE)
def test_the_top_is_imported_by_the_top_alone(arrows, folder):
    """The benchmark and the command line are on top of everything."""
    into = {name for name, target in arrows.edges if target.startswith(folder)}
    strangers = {name for name in into if not name.startswith((folder, *ALONE[folder]))}
    assert into and not strangers
