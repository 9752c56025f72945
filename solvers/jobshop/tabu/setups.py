"""Set-up times between consecutive operations of a machine, as a part of longest paths.

The arc from an operation to its machine successor has the length of the set-up between the two. Kernels receive the Setups of the
instance, or None if it has no set-ups: numba compiles a kernel for each of the two types, and removes the branches of the other.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["Setups", "after_setup", "after_setup_on", "setups_of"]


class Setups(NamedTuple):
    """The set-up times of N operations on M machines, with F families of operations; family F stands for no operation."""

    machine: NDArray[np.int32]
    """[N] the machine of each operation; the same array as in the Shop."""
    family: NDArray[np.int32]
    """[N + 1] the family of each operation; F at index N."""
    time: NDArray[np.int32]
    """[M, F + 1, F + 1] the set-up time of each machine from one family to another: in row F before the first operation of the
    machine, in column F zeros."""


def setups_of(instance: JobShopInstance, machine: NDArray[np.int32]) -> Setups | None:
    """Return the Setups of an instance, None if it has no set-ups. machine: int32 [N], `Shop.machine`."""
    rules = instance.rules
    if rules is None or rules.setups is None:
        return None
    families = rules.setups.shape[1]
    time = np.zeros((instance.machines, families + 1, families + 1), np.int32)
    time[:, :families, :families] = rules.setups
    if rules.first_setups is not None:
        time[:, families, :families] = rules.first_setups
    return Setups(machine, np.append(rules.families(instance), families).astype(np.int32), time)


@kernel(inline=True, borrow=True)
def after_setup(time, setups, i, x, y):
    """Return `time` plus the set-up on the machine of operation i between x and y; one of these is N if there is none."""
    if setups is None:
        return time
    return time + setups.time[setups.machine[i], setups.family[x], setups.family[y]]


@kernel(inline=True, borrow=True)
def after_setup_on(time, setups, m, x, y):
    """Return `time` plus the set-up on machine m between operations x and y; one of these is N if there is none."""
    if setups is None:
        return time
    return time + setups.time[m, setups.family[x], setups.family[y]]
