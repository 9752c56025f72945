"""corl: good solutions to hard combinatorial problems, with learned policies, tree search and classical solvers.

`corl.solve(...)` is the one call. Importing this package imports nothing of a third party: every name below is
loaded when it is first used.
"""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.environment import Environment
    from corl.errors import CorlError, Infeasible, InputError, SolverError, UsageError
    from corl.networks.checkpoints import load_policy
    from corl.problem import Problem
    from corl.result import Result
    from corl.run import Run
    from corl.solver import Solver
    from corl.solving import solve

__version__ = "0.1.0"

_HOME = {
    "CorlError": "errors",
    "Environment": "environment",
    "Infeasible": "errors",
    "InputError": "errors",
    "Problem": "problem",
    "Result": "result",
    "Run": "run",
    "Solver": "solver",
    "SolverError": "errors",
    "UsageError": "errors",
    "load_policy": "networks.checkpoints",
    "solve": "solving",  # not solve.py: a submodule of that name, once imported, would hide the function
}

__all__ = [
    "CorlError",
    "Environment",
    "Infeasible",
    "InputError",
    "Problem",
    "Result",
    "Run",
    "Solver",
    "SolverError",
    "UsageError",
    "load_policy",
    "solve",
]

logging.getLogger(__name__).addHandler(logging.NullHandler())

# In a source checkout problems/, solvers/ and instances/ lie beside this folder, not inside it. A plain `import corl` from the
# checkout's root would find this folder without them; with the root on the search path corl.problems resolves again.
_root = Path(__file__).resolve().parent.parent
if not (Path(__file__).parent / "problems").is_dir() and (_root / "problems").is_dir() and (_root / "pyproject.toml").is_file():
    __path__.append(str(_root))


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"corl.{_HOME[name]}"), name)
    raise AttributeError(f"module 'corl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
