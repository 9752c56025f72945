"""SCIP's LP as arrays: the right libscip, values equal to PySCIPOpt's, and the fall-back."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np
import pyscipopt
import pytest

from corl.problems.milp.generators import facility_location, multiple_knapsack, set_cover
from corl.solvers.milp.scip import functions as scip_functions
from corl.solvers.milp.scip import lp_reading
from corl.solvers.milp.scip.model import fill

_LIBRARY_OF = """
import ctypes, sys
import ortools.linear_solver.pywraplp
from corl.solvers.milp.scip import functions as scip_functions
class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]
find = ctypes.CDLL(None).dladdr
find.argtypes = [ctypes.c_void_p, ctypes.POINTER(Info)]
assert scip_functions.load()
for name, where in scip_functions._addresses().items():
    info = Info()
    assert find(where, ctypes.byref(info)) and info.name.decode() == name
    print(info.file.decode())
"""


def graphs(instance, nodes, read):
    """What `read(model)` returns in each of the first nodes' callbacks, SCIP without cuts and heuristics."""
    found = []

    class Look(pyscipopt.Branchrule):
        def branchexeclp(self, allowaddcons):
            found.append(read(self.model))
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}

    model = pyscipopt.Model()
    model.hideOutput()
    fill(model, instance)
    model.setParam("limits/nodes", nodes)
    model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)  # small programs branch too
    for name in ("presolving/maxrestarts", "separating/maxroundsroot", "separating/maxrounds"):
        model.setParam(name, 0)
    model.includeBranchrule(Look(), "look", "", 536870911, -1, 1.0)
    model.optimize()
    model.freeProb()
    return found


def same(one, two):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, two))


@pytest.mark.skipif(sys.platform == "win32", reason="no dladdr")
def test_functions_are_those_of_pyscipopts_library():
    """With OR-Tools loaded first, which has functions of the same names."""
    done = subprocess.run([sys.executable, "-P", "-c", _LIBRARY_OF], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    files = set(done.stdout.split())
    assert len(files) == 1 and "ortools" not in files.pop()


def test_functions_are_known_to_kernels_without_a_model():
    """`corl warm-up` compiles kernels that call them before there is any; LLVM ended the process at the next kernel."""
    code = "import corl.solvers.milp.branching.scoring as _, llvmlite.binding as binding; "
    code += "print(binding.address_of_symbol('corl_pyscipopt_SCIPbranchVar'))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert int(done.stdout) > 0, done.stderr


@pytest.mark.parametrize(
    "instance",
    [set_cover(rows=100, columns=200, density=0.08, seed=2), facility_location(customers=15, facilities=15, seed=1),
     multiple_knapsack(items=30, knapsacks=4, seed=1)],
    ids=lambda instance: instance.name,
)  # fmt: skip
def test_values_are_pyscipopts(instance):
    """To the last bit, in every node, with and without an incumbent; without edges the rest is the same."""
    assert scip_functions.load()

    def read(model):
        reader = lp_reading.LpReader(model)
        return reader.read(), reader.read(edges=False), lp_reading.builtin_graph(model)

    found = graphs(instance, 30, read)
    assert len(found) >= 3
    for ours, bare, theirs in found:
        assert same(ours, theirs) and same(bare[:2], theirs[:2]) and len(bare.edge_row) == 0 < len(ours.edge_row)
    assert lp_reading._verdict() == [True]


def test_fall_back(monkeypatch, caplog):
    """Where kernels read something else, or find no functions, PySCIPOpt's own arrays are given."""
    instance = set_cover(rows=100, columns=200, density=0.08, seed=2)
    fast = lp_reading._fast_graph

    def wrong(model, edges):
        graph = fast(model, edges)
        return graph._replace(rows=graph.rows + 1.0)

    for change in ((lp_reading, "_fast_graph", wrong), (scip_functions, "load", lambda: False)):
        with monkeypatch.context() as patch:
            verdict = []
            patch.setattr(lp_reading, "_verdict", lambda kept=verdict: kept)
            patch.setattr(*change)
            for ours, theirs in graphs(
                instance, 5, lambda model: (lp_reading.LpReader(model).read(), lp_reading.builtin_graph(model))
            ):
                assert same(ours, theirs)
            assert verdict == [False]
    assert "differs from PySCIPOpt in rows" in caplog.text


def test_a_library_without_the_functions_is_passed_over(monkeypatch, tmp_path):
    """Files that cannot be loaded or lack a function are skipped; if none is left there are no functions."""
    (tmp_path / "libscip.so").write_text("not a library")
    scip_functions._addresses.cache_clear()
    monkeypatch.setattr(scip_functions, "_libraries", lambda: [tmp_path / "libscip.so", ctypes.__file__])
    try:
        assert scip_functions._addresses() == {}
    finally:
        scip_functions._addresses.cache_clear()
