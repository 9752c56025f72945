"""What the tests know of a family, a module a problem; a new problem adds one.

    CHEAP           a solver that is quick on small instances
    LARGE           by a name: generator and options of instances whose time limits are watched
    sample(seed)    a small instance of a kind that the seed chooses, so that kinds which no generator makes are met as well
    solved(seed)    a tiny instance, and its optimum by enumeration: None where there is no solution, infinite where there is no
                    best one. What solvers claim is held against these.

All of them may be missing.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from types import ModuleType

__all__ = ["family"]


@cache
def family(name: str) -> ModuleType | None:
    """The module of a problem, if there is one."""
    module = f"{__name__}.{name.replace('-', '_')}"
    return importlib.import_module(module) if importlib.util.find_spec(module) else None
