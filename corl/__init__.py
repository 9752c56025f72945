"""corl: good solutions to hard combinatorial problems, with learned policies, tree search and classical solvers.

`corl.solve(...)` is the main function. Importing this package imports no third-party package: each name below is loaded when it
is first used.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl.version import __version__ as __version__

if TYPE_CHECKING:
    from corl import milp, online
    from corl.adapter import Problem
    from corl.environment import Environment
    from corl.errors import CorlError, Infeasible, InputError, SolverError, UsageError
    from corl.learning.recipe import Recipe
    from corl.learning.training import train
    from corl.loading import generate, read
    from corl.networks.checkpoints import load_policy
    from corl.online.dispatcher import dispatcher
    from corl.options import option
    from corl.policy import RulePolicy
    from corl.registry import problem
    from corl.result import Result
    from corl.run import Run
    from corl.solver import Solver
    from corl.solving import solve
    from corl.tuning.tuner import tune

_HOME = {
    "CorlError": "errors",
    "Environment": "environment",
    "Infeasible": "errors",
    "InputError": "errors",
    "Problem": "adapter",
    "Recipe": "learning.recipe",
    "Result": "result",
    "RulePolicy": "policy",
    "Run": "run",
    "Solver": "solver",
    "SolverError": "errors",
    "UsageError": "errors",
    "dispatcher": "online.dispatcher",
    "generate": "loading",
    "load_policy": "networks.checkpoints",
    "milp": "milp",
    "online": "online",
    "option": "options",
    "problem": "registry",  # not problem.py: a submodule of that name, once imported, would hide the function
    "read": "loading",
    "solve": "solving",  # not solve.py: a submodule of that name, once imported, would hide the function
    "train": "learning.training",
    "tune": "tuning.tuner",
}

__all__ = [
    "CorlError",
    "Environment",
    "Infeasible",
    "InputError",
    "Problem",
    "Recipe",
    "Result",
    "RulePolicy",
    "Run",
    "Solver",
    "SolverError",
    "UsageError",
    "dispatcher",
    "generate",
    "load_policy",
    "milp",
    "online",
    "option",
    "problem",
    "read",
    "solve",
    "train",
    "tune",
]

# In a source checkout, problems/, solvers/ and instances/ lie beside this folder, not inside it. Without the checkout's root in
# __path__, importing `corl.problems` from the root would fail.
_root = Path(__file__).resolve().parent.parent
if not (Path(__file__).parent / "problems").is_dir() and (_root / "problems").is_dir() and (_root / "pyproject.toml").is_file():
    __path__.append(str(_root))


if not TYPE_CHECKING:  # a type checker must report names that are not imported above

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            module = importlib.import_module(f"corl.{_HOME[name]}")
            return module if name == _HOME[name] else getattr(module, name)
        raise AttributeError(f"module 'corl' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
