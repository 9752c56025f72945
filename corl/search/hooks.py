"""What a problem attaches its environment's kernels to, so that compiled searches can call them.

A problem writes two scalar kernels over its pool of states (a NamedTuple of arrays, see corl.environment) and attaches
them for its own class of state:

    @overload(hooks.step)
    def _(state, src, dst, action):
        return my_step if hooks.is_state(state, MyState) else None

numba then picks the right one by the type of `state` where a kernel calls `hooks.step(...)`, at compile time and in a way
that can be cached (functions passed as arguments or closed over cannot).
"""

from __future__ import annotations

from typing import Any

__all__ = ["actions", "is_state", "step"]


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


def is_state(numba_type: Any, state_class: type) -> bool:
    """Whether a numba type, as an overload is given it, is that of the NamedTuple class `state_class`."""
    return getattr(numba_type, "instance_class", None) is state_class
