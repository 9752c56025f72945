"""Disjoint sets of the integers 0..n - 1 as a forest in an array, by path halving.

root[i] is another element of the set of i, nearer to the set's representative; a representative points to itself. At first,
root[i] = i for all i. To join two sets with the representatives a and b, set root[a] = b. R. Tarjan and J. van Leeuwen,
Worst-case analysis of set union algorithms, Journal of the ACM 31, 1984.
"""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["find", "number_sets"]


@kernel(inline=True, borrow=True)
def find(root: Any, element: Any) -> Any:
    """Return the representative of an element's set.

    Args:
        root: integer array [n], see the module; path halving modifies it in place.
        element: 0..n - 1.
    """
    while root[element] != element:
        root[element] = root[root[element]]
        element = root[element]
    return element


@kernel(borrow=True)
def number_sets(root: Any, name: Any, count: Any) -> Any:
    """Number the sets 0, 1, ... in the order of their representatives. Each of these must be the least element of its set.

    Args:
        root: integer array [>= count], see the module; path halving modifies it in place.
        name: integer array [>= count]; in place, name[i] becomes the number of the set of i.
        count: number of elements.

    Returns:
        The number of sets.
    """
    sets = 0
    for i in range(count):
        if root[i] == i:
            name[i] = sets
            sets += 1
        else:
            name[i] = name[find(root, i)]
    return sets
