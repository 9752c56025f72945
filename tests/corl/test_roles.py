"""The same role has the same file, names and first arguments in every family: the table of contributing.md, read and checked."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from corl import registry

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "corl" / "documentation" / "contributing.md"
SHARED = {"instance", "evaluation"}
"""What a family may import of its siblings."""
EXCEPTIONS = {
    "milp scene": "a matrix has no page of its own",
    "milp decisions": "no environment: a callback of SCIP cannot be stepped; milp_branching is its environment",
    "milp observe": "as above",
    "milp State": "as above",
    "milp-branching observe": "a relaxation is an object of HiGHS, which no kernel can hold: features are made in NumPy",
    "tsp observe": "coordinates are observed by surroundings (transitions.py), matrices by assignment_lookahead.py",
}
"""FAMILY NAME -> why the family has it elsewhere or not at all."""
FEATURES = {"edges", "f", "nodes", "out", "pairs", "seen", "slots", "table", "values", "whole", "x"}
"""What arrays of features, or rows of them, are called where they are written."""
SIBLINGS = {
    "memory-static memory.problem": "its instances are made of traced programs",
    "milp milp_branching.candidates": "learned branching in SCIP sees the candidates of the environment",
    "milp milp_branching.features": "as above",
    "milp-branching milp.problem": "an instance is a program, read, generated and cut down as one",
    "milp-branching milp.scaling": "and scaled as one",
    "orienteering tsp.drawing": "its graph is an instance of tsp, laid out as one",
    "orienteering tsp.symmetries": "and mirrored as one",
}
"""FAMILY MODULE -> why a family imports more of a sibling."""


def roles() -> list[tuple[str, str, list[str]]]:
    """(file, name, first arguments) of each name in the table; no arguments for what is no function."""
    rows = re.findall(r"^\| [^|`]+ \| `(\S+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    found = [(file, name, each) for file, cell in rows for name, each in re.findall(r"`(\w+)(?:\(([^)]*)\))?`", cell)]
    return [(file, name, arguments.split(", ") if arguments else []) for file, name, arguments in found]


def named(file: Path) -> dict[str, list[str]]:
    """What a module has at its top level, imports among it, and the arguments of its functions."""
    found: dict[str, list[str]] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else []:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = [each.arg for each in node.args.args]
        elif isinstance(node, ast.ClassDef):
            found[node.name] = []
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: [] for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: [] for target in targets if isinstance(target, ast.Name)}
    return found


def sources(family: str) -> Iterator[Path]:
    """The Python files of a family."""
    for tier in ("problems", "solvers"):
        yield from (ROOT / tier / family.replace("-", "_")).rglob("*.py")


def test_the_table_is_read():
    """Every row of the table says a file and at least one name."""
    assert len(roles()) >= 9 and {"check", "GENERATORS", "State", "observe", "decisions", "scene", "choose"} <= {
        name for _, name, _ in roles()
    }


@pytest.mark.parametrize("family", registry.problems())
def test_every_family_has_every_role(family):
    """Under the names of the table, with these first arguments, but for the exceptions, all of which are needed."""
    missing = set()
    for file, name, arguments in roles():
        found = named(ROOT / file.replace("FAMILY", family.replace("-", "_")))
        if name not in found or found[name][: len(arguments)] != arguments:
            missing.add(f"{family} {name}")
    assert missing == {key for key in EXCEPTIONS if key.split()[0] == family}


def test_a_solver_is_a_file_or_a_folder_with_a_solver():
    """What a method has besides its class lies in its folder, beside its `solver.py`."""
    entries = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]["corl.solvers"]
    for name, entry in entries.items():
        module = entry.partition(":")[0].split(".")[3:]
        folder = ROOT / "solvers" / name.split(".")[0].replace("-", "_") / module[0]
        assert not folder.is_dir() if len(module) == 1 else module[-1] == "solver", name


@pytest.mark.parametrize("folder", sorted(ROOT.glob("problems/*/environments/*/")), ids=lambda folder: folder.name)
def test_further_environments_use_the_same_names(folder):
    """Each has its environment and features, and what else is in a file of the table has the name of the table."""
    if folder.name == "__pycache__":
        pytest.skip("no environment")
    assert {"environment.py", "features.py"} <= {file.name for file in folder.glob("*.py")}
    for file, name, arguments in roles():
        here = folder / Path(file).name
        if name != "observe" and here.exists():
            assert named(here)[name][: len(arguments)] == arguments
    kernels = [named(file).get("observe") for file in sorted(folder.glob("*.py"))]
    assert ["state", "rows", "actions"] in [kernel[:3] for kernel in kernels if kernel]


@pytest.mark.parametrize("tier", ["problems", "solvers"])
def test_feature_columns_have_names(tier):
    """Nothing is written into a column of features by its number."""
    files = [file for name in ("features*", "observation", "items") for file in sorted((ROOT / tier).rglob(f"{name}.py"))]
    assert files
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) in FEATURES:
                column = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
                assert not re.fullmatch(r"-?\d+", ast.unparse(column)), f"{file}, line {node.lineno}: {ast.unparse(node)}"


def test_offsets_of_a_pool_say_of_what():
    """No field of a pool is called `first`, or ends so, or in `at`: offsets are called THING_start."""
    pools = [*ROOT.glob("problems/*/transitions.py"), *ROOT.glob("problems/*/environments/*/transitions.py")]
    for file in [*pools, ROOT / "problems/memory/pool.py", ROOT / "corl/routing/graph_pool.py"]:
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name in ("State", "GraphPool"):
                fields = [field.target.id for field in node.body if isinstance(field, ast.AnnAssign)]
                assert not [field for field in fields if re.search(r"(^first|_first|_at)$", field)], file


@pytest.mark.parametrize("family", registry.problems())
def test_siblings_share_instances_and_judges_alone(family):
    """But for the exceptions, all of which are needed."""
    found = set()
    for file in sources(family):
        for module in re.findall(r"corl\.problems\.(\w+(?:\.\w+)?)", file.read_text(encoding="utf-8")):
            sibling, _, part = module.partition(".")
            if sibling != family.replace("-", "_") and part and part not in SHARED:
                found.add(f"{family} {module}")
    assert found == {key for key in SIBLINGS if key.split()[0] == family}
