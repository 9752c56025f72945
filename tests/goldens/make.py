"""Write golden files: `python tests/goldens/make.py [--bits] [FAMILY ...]`; a family is a file of data/ (default: all).

`data/` holds what is the same on every machine; `--bits` writes all of every row to `bits/` instead, for this machine alone.
`test_goldens.py` makes the same rows and compares them with both. README.md says when a golden may change.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import golden_episodes
import golden_names
import golden_policies
import golden_solves
from golden_cases import CASES, INSTANCES
from llvmlite import binding

from corl.networks.checkpoints import shipped

DATA = Path(__file__).resolve().parent / "data"
BITS = DATA.parent / "bits"  # not in the repository
_SOLVES = "solves-"
_PACKAGES = ("fast-tsp", "numba", "numpy", "ortools", "pyscipopt", "pyvrp", "scipy", "torch")


def families() -> list[str]:
    """The names of all golden files, sorted."""
    return sorted(["checkpoints", "environments", "names", *(f"{_SOLVES}{problem}" for problem in INSTANCES)])


def keys(family: str) -> list[str]:
    """The rows that a family has, sorted."""
    if family == "names":
        return sorted(golden_names.ROWS)
    if family == "checkpoints":
        return sorted(shipped())
    if family == "environments":
        return sorted(f"{problem} {name}" for problem in golden_episodes.environments() for name in INSTANCES[problem])
    return sorted(case.key for case in CASES if case.problem == family.removeprefix(_SOLVES))


def row(family: str, key: str) -> Any:
    """A row, made anew."""
    if family == "names":
        return golden_names.ROWS[key]()
    if family == "checkpoints":
        return golden_policies.row(key)
    if family == "environments":
        return golden_episodes.row(*key.split())
    return golden_solves.row(golden_solves.case_of(family.removeprefix(_SOLVES), key))


SAME = "nothing"
STATUS = "all but that it was solved"
OBJECTIVES = "the objective with a seed; their mean is at most 2 % worse"
"""What may differ between processors, as the rows of solves say it."""


def is_solved(row: Any) -> bool:
    """Whether a row of a solve has a solution."""
    return row["status"] in ("feasible", "optimal", "feasible or optimal")


def robust(family: str, key: str, row: Any) -> Any:
    """Of a row what is the same on every machine, or nearly so, as it says.

    Of a proof status, objective and bound; of a search that it solved the case, and the objectives of some seeds; of an
    environment shapes and width; of names and checkpoints all.
    """
    if family == "environments":
        return {name: row[name] for name in ("refused", "shapes", "width") if name in row}
    if not family.startswith(_SOLVES):
        return row
    case = golden_solves.case_of(family.removeprefix(_SOLVES), key)
    if case.kind == "proof" and not case.iterations:
        return {**row, "may_differ": SAME}
    found = {"solved": is_solved(row)}
    if case.kind != "bits":
        return {**found, "may_differ": STATUS}
    return {**found, "objectives": golden_solves.objectives(case), "may_differ": OBJECTIVES}


def made() -> dict[str, Any]:
    """What the numbers depend on beside the code: the processor that numba compiles for, and versions."""
    features = hashlib.sha256(binding.get_host_cpu_features().flatten().encode()).hexdigest()[:6]  # one name has several
    found = {"processor": f"{binding.get_host_cpu_name()} {features}", "python": ".".join(platform.python_version_tuple()[:2])}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found


def main(wanted: list[str]) -> int:
    """Write the families named, or all."""
    bits = "--bits" in wanted
    wanted = [name for name in wanted if name != "--bits"]
    if unknown := set(wanted) - set(families()):
        print(f"no family {sorted(unknown)[0]!r}; there are: {', '.join(families())}", file=sys.stderr)
        return 2
    folder = BITS if bits else DATA
    folder.mkdir(exist_ok=True)
    for family in wanted or families():
        rows = {key: row(family, key) for key in keys(family)}
        found = {"made": made(), "rows": rows} if bits else {key: robust(family, key, value) for key, value in rows.items()}
        text = json.dumps(found, indent=1, sort_keys=True, allow_nan=False)
        (folder / f"{family}.json").write_text(text + "\n", encoding="utf-8")
        print(f"{family}: {len(rows)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
