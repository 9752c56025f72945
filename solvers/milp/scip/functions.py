"""SCIP's C functions for kernels, from the libscip that PySCIPOpt uses, under symbol names that numba can cache.

OR-Tools ships a libscip as well, with different structures, so that searching the process for a symbol might find the wrong one.
The functions are therefore looked up through the file of PySCIPOpt's extension module: the dynamic linker searches the libraries
that this file is linked with. On Windows it does not; there, the library in the folder `pyscipopt.libs` of the wheel is used.

In kernels, pointers are int64, `SCIP_Bool` is unsigned int, and `SCIP_Real` is double. The functions are available once this
module is imported; `pointer_of` returns the SCIP* that a kernel needs.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from numba import types
from numba.core.typing.templates import signature

from corl.errors import SolverError

__all__ = ["call", "load", "pointer_of"]

_PREFIX = "corl_pyscipopt_"  # makes symbol names that no library has
_P, _I, _D, _B = types.int64, types.int32, types.float64, types.uint32
_functions: dict[str, str] = {}  # SCIP's name of each function declared below -> the symbol name for kernels


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    """Return a function for kernels: SCIP's function of this name, with these types."""
    _functions[name] = _PREFIX + name
    return types.ExternalFunction(_PREFIX + name, signature(result, *arguments))  # type: ignore[no-untyped-call]


# The LP: arrays of pointers and their lengths.
get_lp_cols = _declare("SCIPgetLPCols", _P, _P)
get_n_lp_cols = _declare("SCIPgetNLPCols", _I, _P)
get_lp_rows = _declare("SCIPgetLPRows", _P, _P)
get_n_lp_rows = _declare("SCIPgetNLPRows", _I, _P)
get_lp_obj = _declare("SCIPgetLPObjval", _D, _P)
is_lp_basic = _declare("SCIPisLPSolBasic", _B, _P)
get_lp_basis = _declare("SCIPgetLPBasisInd", _I, _P, _P)
get_lp_inverse_row = _declare("SCIPgetLPBInvRow", _I, _P, _I, _P, _P, _P)
get_lp_branch_cands = _declare("SCIPgetLPBranchCands", _I, _P, _P, _P, _P, _P, _P, _P)
# Columns.
col_var = _declare("SCIPcolGetVar", _P, _P)
col_lb = _declare("SCIPcolGetLb", _D, _P)
col_ub = _declare("SCIPcolGetUb", _D, _P)
col_obj = _declare("SCIPcolGetObj", _D, _P)
col_primal = _declare("SCIPcolGetPrimsol", _D, _P)
col_basis = _declare("SCIPcolGetBasisStatus", _I, _P)
col_age = _declare("SCIPcolGetAge", _I, _P)
col_position = _declare("SCIPcolGetLPPos", _I, _P)
col_rows = _declare("SCIPcolGetRows", _P, _P)
col_values = _declare("SCIPcolGetVals", _P, _P)
col_n_nonz = _declare("SCIPcolGetNLPNonz", _I, _P)
col_reduced_cost = _declare("SCIPgetColRedcost", _D, _P, _P)
# Rows: lhs <= activity <= rhs, where the activity includes the constant.
row_lhs = _declare("SCIProwGetLhs", _D, _P)
row_rhs = _declare("SCIProwGetRhs", _D, _P)
row_constant = _declare("SCIProwGetConstant", _D, _P)
row_norm = _declare("SCIProwGetNorm", _D, _P)
row_dual = _declare("SCIProwGetDualsol", _D, _P)
row_basis = _declare("SCIProwGetBasisStatus", _I, _P)
row_age = _declare("SCIProwGetAge", _I, _P)
row_position = _declare("SCIProwGetLPPos", _I, _P)
row_cols = _declare("SCIProwGetCols", _P, _P)
row_values = _declare("SCIProwGetVals", _P, _P)
row_n_nonz = _declare("SCIProwGetNLPNonz", _I, _P)
row_activity = _declare("SCIPgetRowLPActivity", _D, _P, _P)
row_parallelism = _declare("SCIPgetRowObjParallelism", _D, _P, _P)
# Variables. Directions: 0 down, 1 up.
var_col = _declare("SCIPvarGetCol", _P, _P)
var_type = _declare("SCIPvarGetType", _I, _P)
var_index = _declare("SCIPvarGetProbindex", _I, _P)
var_average = _declare("SCIPvarGetAvgSol", _D, _P)
var_root = _declare("SCIPvarGetRootSol", _D, _P)
var_pseudocost = _declare("SCIPgetVarPseudocostVal", _D, _P, _P, _D)
var_pseudocost_count = _declare("SCIPgetVarPseudocostCountCurrentRun", _D, _P, _P, _I)
var_inferences = _declare("SCIPgetVarAvgInferences", _D, _P, _P, _I)
var_cutoffs = _declare("SCIPgetVarAvgCutoffs", _D, _P, _P, _I)
branch_on = _declare("SCIPbranchVar", _I, _P, _P, _P, _P, _P)
# The solve.
get_best_solution = _declare("SCIPgetBestSol", _P, _P)
get_solution_value = _declare("SCIPgetSolVal", _D, _P, _P, _P)
get_depth = _declare("SCIPgetDepth", _I, _P)
get_cutoff_bound = _declare("SCIPgetCutoffbound", _D, _P)
get_objective_norm = _declare("SCIPgetObjNorm", _D, _P)
is_infinite = _declare("SCIPisInfinity", _B, _P, _D)
is_equal = _declare("SCIPisEQ", _B, _P, _D, _D)
feasible_fraction = _declare("SCIPfeasFrac", _D, _P, _D)


def _libraries() -> list[Path]:
    """Return the files to look the functions up through: the extension module, then libraries in the wheel."""
    import pyscipopt.scip

    home = Path(pyscipopt.scip.__file__)
    return [home, *sorted(home.parent.parent.glob("pyscipopt.libs/*scip*")), *sorted(home.parent.glob(".dylibs/*scip*"))]


@cache
def _addresses() -> dict[str, int]:
    """Return SCIP's name of each declared function -> its address; empty if any function is missing."""
    for path in _libraries():
        try:
            library = ctypes.CDLL(str(path))
            return {name: int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0) for name in _functions}
        except (OSError, AttributeError):  # the file cannot be loaded, or lacks a function
            continue
    return {}


@cache
def load() -> bool:
    """Make the functions available to kernels; return whether they were found."""
    import llvmlite.binding

    addresses = _addresses()
    for name, address in addresses.items():
        llvmlite.binding.add_symbol(_functions[name], address)
    return bool(addresses)


def call(name: str, pointer: int) -> int:
    """Call a SCIP function whose only argument is a pointer; return its result, an integer or a pointer as an integer.

    Requires that `load()` has returned True.
    """
    return int(_caller(name)(pointer) or 0)


@cache
def _caller(name: str) -> Any:
    pointer = name in ("SCIPgetLPCols", "SCIPgetLPRows", "SCIPgetBestSol")
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p if pointer else ctypes.c_int, ctypes.c_void_p)
    return kind(_addresses()[name])


_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def pointer_of(model: Any) -> int:
    """Return the SCIP* of a pyscipopt Model, valid until the Model is freed. Raises SolverError if SCIP was not found."""
    if not load():
        raise SolverError("the SCIP functions that kernels call were not found in PySCIPOpt's library")
    capsule = model.to_ptr(False)
    return int(_capsule_pointer(capsule, _capsule_name(capsule)))


load()  # at import: a kernel that calls the functions may be compiled, or loaded from the cache, before there is a Model
