"""What the tests know of a family, a module a problem; a new problem adds one.

    CHEAP           a solver that is quick on small instances
    LARGE           by a name: generator and options of instances whose time limits are watched
    LESS_LARGE      likewise, for solvers that take none of these
    BUSY            generator and options of an instance that keeps every solver busy for seconds, for signals
    sample(seed)    a small instance of a kind that the seed chooses, so that kinds which no generator makes are met as well
    solved(seed)    a tiny instance, and its optimum by enumeration: None where there is no solution, infinite where there is no
                    best one. What solvers claim is held against these.

    kinds()         by a name, functions that make instances which take other ways through the solvers
    smallest()      the smallest and degenerate instances: every run on them ends by its iterations alone
    kernel_samples()  small instances of the kinds that the solvers have kernels for; RECORDED: solvers whose kernels are recorded
                    for them; COMPILATION: about how many seconds they take; compile_further(): what else there is to compile
    MIXES           how many mixes of support/mixes the gate solves; TINY_MIXES: how many of `solved`; MANY_MIXES: of either in
                    the long suite (1,000), and MANY_CLAIMS there of those that solvers' claims are held against (2,000)
    PAGE            generator and options of the instance whose page is looked at; PAGE_LIMIT: the limits of its solve; PICTURES:
                    whether it has any
    HELD            what users hold in Python with lists and numbers, in which NumPy's are taken as well
    INTEGERS        whether all numbers of its files are integers

    streamed(seed)  a small instance that is revealed over time, where any of the problem's are (contracts/test_streams.py)
    futures(seed)   two such instances that differ only in what happens after a time, and this time
    random_decision(stream, knowledge, random)  a decision that is permitted, where there is one to be made
    EXOGENOUS       the kinds of events that decisions do not influence; ONLINE: options of policies that make them quick
    RANDOMISED      the online policies whose decisions on that day differ between seeds

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
