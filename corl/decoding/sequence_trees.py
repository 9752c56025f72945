"""SequenceTrees: the probability that is left for sampling without replacement, in a tree of action sequences.

J. Pirnay & D. G. Grimm, Self-improvement for neural combinatorial optimization: sample without replacement, but improve,
2024 (Gumbeldore), section 3.2: after each round the probability of the sampled sequences is subtracted from all their
prefixes. Here a node holds the remaining probability of each of its children and a parent holds the sum, so nothing is ever
subtracted from a nearly equal number, and an exhausted subtree has exactly 0. Nodes also keep the policy's output: the network
evaluates a prefix once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SequenceTrees"]


class SequenceTrees:
    """Trees for E entries with K slots; the nodes of all trees are numbered consecutively."""

    def __init__(self, entries: int, width: int) -> None:
        self.roots = np.full(entries, -1, np.int64)
        """[E] the node of the initial state; -1 before its first visit."""
        self.count = 0
        self.left = np.empty((16, width))
        """[nodes, K] the remaining log probability, from the root, of each child; -inf if exhausted or not legal."""
        self.given = np.empty((16, width))
        """[nodes, K] the log probability of the action by the policy."""
        self.child = np.empty((16, width), np.int32)
        """[nodes, K] the child's node; -1 before its first visit."""
        self.parent = np.empty(16, np.int64)
        self.slot = np.empty(16, np.int64)
        self.depth = np.empty(16, np.int32)

    def extend(
        self, parent: NDArray[np.int64], slot: NDArray[np.int64], mass: NDArray[np.float64], given: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Add nodes as children of parent[i] by slot[i]; if parent[i] is -1, as the root of entry slot[i].

        Args:
            parent: int64 [N].
            slot: int64 [N].
            mass: float64 [N], the remaining log probability of each.
            given: float64 [N, K], the log probabilities of their actions.

        Returns:
            The numbers of the nodes, int64 [N].
        """
        new = np.arange(self.count, self.count + len(parent))
        self._reserve(self.count + len(parent))
        self.left[new], self.given[new], self.child[new] = mass[:, None] + given, given, -1
        self.parent[new], self.slot[new] = parent, slot
        first = parent < 0
        self.roots[slot[first]] = new[first]
        self.child[parent[~first], slot[~first]] = new[~first]
        self.depth[new] = np.where(first, 0, self.depth[parent] + 1)
        self.count += len(parent)
        return new

    def spend(self, node: NDArray[np.int64], slot: NDArray[np.int64]) -> None:
        """Remove the probability of the sequences that end with slot[i] from node[i], which were sampled."""
        self.left[node, slot] = -np.inf
        depth, pending = int(self.depth[node].max(initial=0)), np.unique(node)
        while depth > 0:
            due = self.depth[pending] == depth
            at = pending[due]
            parents = self.parent[at]
            self.left[parents, self.slot[at]] = np.logaddexp.reduce(self.left[at], axis=1)
            pending = np.union1d(pending[~due], parents)
            depth -= 1

    def remaining(self, entry: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the remaining log probability of each entry, float64; 0 (everything) before its root is visited."""
        roots, left = self.roots[entry], np.zeros(len(entry))
        has_root = roots >= 0
        left[has_root] = np.logaddexp.reduce(self.left[roots[has_root]], axis=1)
        return left

    def _reserve(self, count: int) -> None:
        """Enlarge the arrays for at least `count` nodes."""
        if count <= len(self.parent):
            return
        most = max(count, 2 * len(self.parent))
        for name in ("left", "given", "child", "parent", "slot", "depth"):
            old = getattr(self, name)
            new = np.empty((most, *old.shape[1:]), old.dtype)
            new[: self.count] = old[: self.count]
            setattr(self, name, new)
