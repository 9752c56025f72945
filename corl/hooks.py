"""Hooks: the functions to which a problem attaches its environment's kernels, so that compiled searches can call them.

A kernel is a function that numba compiles (corl.jit). A problem writes two kernels, `step` and `actions`, for single rows of its
pool of states (a NamedTuple of arrays, see corl.environment) and attaches them for its own class of state:

    @attach(hooks.step, MyState)
    def _step(state, src, dst, action): ...

A call of `hooks.step(...)` in a kernel is resolved by the type of `state` at compile time, so that the machine code can be cached
on disk. (With functions as arguments or in closures, it could not.)

A hook consists of two numba overloads, made once, and a table. An overload for each class would change the type that numba gives
to the hook. A compilation may import modules with further classes in the middle of its work, when it reads a kernel from the disk
cache; numba would then meet two types of one function and fail with "Cannot unify Function(step)".

A problem whose steps draw random numbers keeps the keys of its rows in a field `key` of its state, uint64 [R].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba.extending import overload

__all__ = ["actions", "attach", "hook", "rekey", "step"]

_F = TypeVar("_F", bound=Callable[..., Any])
_attached: dict[tuple[Any, bool], dict[tuple[type, ...], Callable[..., Any]]] = {}


def hook(stub: _F) -> _F:
    """Turn a stub into a function that compiled code may call, once something is attached to it. Python code cannot call it."""
    for borrow in (False, True):
        table = _attached[stub, borrow] = {}
        options: Any = {"error_model": "numpy"} | ({"_nrt": False} if borrow else {})
        overload(stub, jit_options=options, strict=False)(_chooser(table))
    return stub


def attach(stub: Callable[..., Any], *classes: type, borrow: bool = False) -> Callable[[_F], _F]:
    """Return a decorator that attaches a function to `stub`, for calls whose first arguments are of the given classes.

    Args:
        stub: A hook.
        *classes: NamedTuple classes of the first arguments. If two attached functions fit, the one with more classes is called.
        borrow: As in `corl.jit.kernel`.
    """

    def decorate(function: _F) -> _F:
        _attached[stub, borrow][classes] = function
        return function

    return decorate


def _chooser(table: dict[tuple[type, ...], Callable[..., Any]]) -> Callable[..., Any]:
    """Return the function that numba calls with the types of a call's arguments, and which returns the function to compile."""

    def choose(*types: Any) -> Callable[..., Any] | None:
        given = [getattr(each, "instance_class", None) for each in types]
        fitting = [classes for classes in table if list(classes) == given[: len(classes)]]
        return table[max(fitting, key=len)] if fitting else None

    return choose


@hook
def step(state: Any, src: int, dst: int, action: int) -> float:
    """Write the successor of row `src` by `action` to row `dst`, and return the reward, float64. src == dst is allowed.

    For an action that is not legal it returns NaN and changes nothing.
    """
    raise NotImplementedError("only compiled code can call a hook")


@hook
def actions(state: Any, row: int, out: Any) -> int:
    """Write the legal actions of a row into `out` (int32 [K]), at most K, the most promising first; return their number.

    0 means that the episode is over. Entries of `out` after the last action are not changed.
    """
    raise NotImplementedError("only compiled code can call a hook")


def rekey(state: Any, row: int, key: int) -> int:
    """Replace the key (uint64) from which a row draws its random numbers; return the previous one.

    A state without a field `key` has no random events; it is not changed, and the result is 0.
    """
    raise NotImplementedError("only compiled code can call a hook")


@overload(rekey)
def _attach_rekey(state: Any, row: Any, key: Any) -> Any:
    return _exchange_key if "key" in getattr(state, "fields", ()) else _no_key


def _exchange_key(state: Any, row: Any, key: Any) -> Any:
    before = state.key[row]
    state.key[row] = key
    return before


def _no_key(state: Any, row: Any, key: Any) -> Any:
    return np.uint64(0)
