"""What the tests know of a family, a module a problem; a new problem adds one.

    CHEAP           a solver that is quick on small instances
    LARGE           by a name: generator and options of instances whose time limits are watched
    BUSY            generator and options of an instance that keeps every solver busy for seconds, for signals
    sample(seed)    a small instance of a kind that the seed chooses, so that kinds which no generator makes are met as well
    solved(seed)    a tiny instance, and its optimum by enumeration: None where there is no solution, infinite where there is no
                    best one. What solvers claim is held against these.

    GOLDENS         miniatures of the golden files by their names: a generator and its parameters, or a file of goldens/instances
    GOLDEN_SOLVES   solves of these, a line each (goldens/golden_cases.py says what stands in it)
    GOLDEN_NETWORKS the miniature that generic solvers play by networks with random weights

All of them may be missing. Where the environment variable CORL_TEST_FAMILY names a folder, its file family.py is the module of a
problem that no folder here knows, and its folder specimens/PROBLEM has files of that one.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from types import ModuleType

__all__ = ["GUEST", "family"]

GUEST = os.environ.get("CORL_TEST_FAMILY", "")


@cache
def family(name: str) -> ModuleType | None:
    """The module of a problem, if there is one."""
    module = f"{__name__}.{name.replace('-', '_')}"
    if importlib.util.find_spec(module):
        return importlib.import_module(module)
    return importlib.import_module("family") if GUEST else None  # of the folder, which is on the path
