"""A family is one folder a tier: code that serves all families names none, and a family touches few files outside its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from corl import registry

ROOT = Path(__file__).resolve().parents[2]
SHARED = (
    "corl",
    "solvers/generic",
    "tests/support",
    "tests/warm_up.py",
    "tests/record_kernels.py",
    "tests/goldens/golden_cases.py",
)
OWN = ("corl/modelling", "corl/milp.py", "tests/support/families", "tests/support/figures", "tests/support/mixes")
"""Of these: the interfaces of single families, and the folders with a module for each."""
NAMED = {
    "corl/__init__.py": ["milp"],  # the module corl.milp
    "corl/benchmark/reporting/page.py": ["memory"],  # of a machine
    "corl/cli/trace.py": ["memory"],  # the command makes a program of it
    "corl/formatting.py": ["memory"],  # of a machine
    "tests/support/test_tiers.py": ["jobshop", "memory-static", "milp-branching"],  # whose order is tested
}
OUTSIDE = {
    "README.md": "the table of problems",
    "corl/documentation/overview.md": "the table of solvers",
    "pyproject.toml": "entry points",
    "corl/documentation/choosing.md": "which solver",
    "corl/documentation/mkdocs.yml": "the list of pages",
    "corl/documentation/tutorials/scheduling.md": "an example",
    "tests/corl/test_families.py": "this table",
    "tests/support/figures/front.py": "figures of choosing.md",
    "corl/documentation/arena.md": "headline figures",
    "tests/support/figures/arena.py": "headline figures",
    "tests/corl/test_recognition.py": "texts that two families read",
    "tests/problems/jobshop/test_stages.py": "texts that two families may read",
    "tests/studies/records.py": "what the archive of records holds",
    "tests/studies/test_records.py": "its bounds of flow shops",
}
"""Where flow shops, which came last, are named outside their folders, and for what."""


def families_in(path: Path, names: set[str]) -> Iterator[str]:
    """The families that a Python file imports, or has as a text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and node.value in names:
            yield str(node.value)
        parts = (node.module or "").split(".") if isinstance(node, ast.ImportFrom) else []
        if parts[:2] in (["corl", "problems"], ["corl", "solvers"]) and (name := parts[2].replace("_", "-")) in names:
            yield name


def test_what_serves_all_names_none():
    """A new entry of NAMED needs a reason; one that is not needed any more goes."""
    names, found = set(registry.problems()), {}
    for room in SHARED:
        for path in [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).rglob("*.py")):
            file = path.relative_to(ROOT).as_posix()
            named = sorted(set(families_in(path, names)))
            if named and not file.startswith(OWN):
                found[file] = named
    assert found == NAMED


def test_a_family_touches_few_files_outside_its_folders():
    """Of texts; goldens of networks and the patches of seeded faults are named after what they are of."""
    own = (
        "problems/flowshop/",
        "solvers/flowshop/",
        "instances/flowshop/",
        "tests/problems/flowshop/",
        "tests/solvers/flowshop/",
    )
    found = set()
    for room in ("corl", "problems", "solvers", "instances", "tests", "README.md", "pyproject.toml"):
        for path in [ROOT / room] if "." in room else (ROOT / room).rglob("*"):
            file = path.relative_to(ROOT).as_posix()
            if path.suffix not in (".py", ".md", ".toml", ".yml", ".json", ".csv") or file.startswith(
                (*own, "tests/goldens/data")
            ):
                continue
            if "flowshop" not in Path(file).parts and path.stem != "flowshop" and b"flowshop" in path.read_bytes():
                found.add(file)
    assert found == set(OUTSIDE)
