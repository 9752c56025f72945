"""What a problem attaches its environment's kernels to, so that compiled searches can call them.

A problem writes two scalar kernels over its pool of states (a NamedTuple of arrays, see corl.environment) and attaches
them for its own class of state:

    @overload(hooks.step)
    def _(state, src, dst, action):
        return my_step if hooks.is_state(state, MyState) else None

numba then picks the right one by the type of `state` where a kernel calls `hooks.step(...)`, at compile time and in a way
that can be cached (functions passed as arguments or closed over cannot). `evaluate` is attached in the same way, by the
class of the model, which is a NamedTuple of arrays or numbers as well (its weights).

A problem whose steps draw random numbers keeps the keys of its rows in a field `key` of its state, uint64 [R].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

__all__ = ["actions", "evaluate", "is_model", "is_state", "rekey", "step"]


def step(state: Any, src: int, dst: int, action: int) -> float:
    """Make row `dst` the successor of row `src` by `action`, and return the float64 reward. src == dst is allowed.

    An action that is not legal returns NaN and changes nothing.
    """
    raise NotImplementedError("only compiled code can call a hook")


def actions(state: Any, row: int, out: Any) -> int:
    """Write the legal actions of a row into `out` (int32 [K]), at most K, the most promising first; return how many.

    0 means that the episode is over. The rest of `out` is left as it is.
    """
    raise NotImplementedError("only compiled code can call a hook")


def evaluate(model: Any, state: Any, row: int, actions: Any, count: int, logits: Any) -> float:
    """Write the logits of a row's `actions[:count]` (int32, as the hook of that name lists them) into `logits` (float32 [K]).

    Returns the value: the float64 sum of the rewards still to be expected, in the environment's units. count > 0.
    """
    raise NotImplementedError("only compiled code can call a hook")


def rekey(state: Any, row: int, key: int) -> int:
    """Replace the key (uint64) that a row draws its random numbers from; returns the one before.

    Where the state has no field `key`, nothing is random: nothing happens, and the result is 0.
    """
    raise NotImplementedError("only compiled code can call a hook")


def is_state(numba_type: Any, state_class: type) -> bool:
    """Whether a numba type, as an overload is given it, is that of the NamedTuple class `state_class`."""
    return getattr(numba_type, "instance_class", None) is state_class


is_model = is_state


@overload(rekey)
def _attach_rekey(state: Any, row: Any, key: Any) -> Any:
    return _exchange_key if "key" in getattr(state, "fields", ()) else _no_key


def _exchange_key(state: Any, row: Any, key: Any) -> Any:
    before = state.key[row]
    state.key[row] = key
    return before


def _no_key(state: Any, row: Any, key: Any) -> Any:
    return np.uint64(0)
