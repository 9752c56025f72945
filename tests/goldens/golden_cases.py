"""What the golden files are made of: the miniature instances and solves of support/families. Public names only."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from corl import registry

if "support" not in sys.modules:  # a script of this folder; behind corl, which tests/corl would shadow
    sys.path.append(str(Path(__file__).resolve().parents[1]))
from support.families import family

HERE = Path(__file__).resolve().parent
NETWORKS = HERE / "networks"
"""Checkpoints with random weights, for problems that ship none (`make.py networks` wrote them)."""

INSTANCES: dict[str, dict[str, tuple[str, dict[str, Any]] | str]] = {
    problem: getattr(family(problem), "GOLDENS", {}) for problem in registry.problems()
}
"""Problem -> name -> a generator and its parameters, or a file of the folder instances/."""


@cache
def instance(problem: str, name: str) -> Any:
    """The instance of that name."""
    adapter, recipe = registry.problem(problem), INSTANCES[problem][name]
    if isinstance(recipe, str):
        return adapter.read(HERE / "instances" / recipe)
    generator, parameters = recipe
    return adapter.generators[generator](**parameters)


class Case(NamedTuple):
    """One solve."""

    problem: str
    solver: str
    instance: str
    iterations: int | None = None
    options: str = ""
    """KEY=VALUE, separated by blanks; `network=NAME` stands for policy=networks/NAME.safetensors."""
    kind: str = "bits"
    """bits: all of it is the same on every run on one machine; proof: status, objective and bound are, an engine of others found
    them; engine: the status is."""
    engines: str = ""
    """The packages beside NumPy, SciPy and numba that the numbers depend on."""

    @property
    def key(self) -> str:
        """The name in the golden file and in the test's id."""
        limit = "" if self.iterations is None else f" {self.iterations}"
        return " ".join(f"{self.solver}{limit} {self.options} {self.instance}".split())


def _cases(problem: str, rows: str) -> list[Case]:
    """A case a line: solver, instance, iterations or -, then options, `proof` or `engine`, and +PACKAGE for its engines."""
    found = []
    for line in filter(str.strip, rows.splitlines()):
        solver, name, iterations, *rest = line.split()
        kind = next((word for word in rest if word in ("proof", "engine")), "bits")
        engines = " ".join(word[1:] for word in rest if word.startswith("+"))
        options = " ".join(word for word in rest if "=" in word)
        found.append(Case(problem, solver, name, None if iterations == "-" else int(iterations), options, kind, engines))
    return found


_POLICIES = """
policy {0} 200 network={1}-attention +torch
policy {0} 120 decoder=sample temperature=5 network={1}-attention +torch
policy {0} 90 decoder=without-replacement temperature=5 network={1}-attention +torch
tree-search {0} 400 network={1}-attention +torch
tree-search {0} 400 method=puct leaves=2 network={1}-attention +torch
muzero {0} 200 network={1}-muzero +torch
"""

CASES: list[Case] = []
for _problem in registry.problems():
    _played = getattr(family(_problem), "GOLDEN_NETWORKS", "")
    _rows = getattr(family(_problem), "GOLDEN_SOLVES", "") + (_POLICIES.format(_played, _problem) if _played else "")
    CASES += _cases(_problem, _rows)
