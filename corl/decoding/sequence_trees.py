"""SequenceTrees: the remaining probability of action sequences, for sampling without replacement.

J. Pirnay & D. G. Grimm, Self-improvement for neural combinatorial optimization: sample without replacement, but improve,
2024 (Gumbeldore), section 3.2: after each round, the probability of the sampled sequences is subtracted from all their
prefixes. Here, instead, a node stores the remaining probability of each of its children, and the probability of a node is the sum
over its children. So there is no cancellation, and an exhausted subtree has exactly probability 0. Nodes also store the policy's
output, so that the network evaluates each prefix once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SequenceTrees"]


class SequenceTrees:
    """Trees of E entries, which are initial states. A node is a prefix of actions, with K slots for the next one.

    The nodes of all trees are numbered together.
    """

    def __init__(self, entries: int, width: int) -> None:
        self.roots = np.full(entries, -1, np.int64)
        """[E] the node of the initial state; -1 before its first visit."""
        self.count = 0
        """The number of nodes of all trees."""
        self.log_remaining = np.empty((16, width))
        """[nodes, K] the log of the remaining probability of all sequences through each child; -inf if exhausted or not legal."""
        self.log_probability = np.empty((16, width))
        """[nodes, K] the policy's log probability of the action, given the prefix."""
        self.child = np.empty((16, width), np.int32)
        """[nodes, K] the child's node; -1 before its first visit."""
        self.parent = np.empty(16, np.int64)
        """[nodes] the parent node; -1 for a root."""
        self.slot = np.empty(16, np.int64)
        """[nodes] the slot of the parent that leads to the node; for a root, its entry."""
        self.depth = np.empty(16, np.int32)
        """[nodes] the number of actions in the prefix."""

    def extend(
        self,
        parent: NDArray[np.int64],
        slot: NDArray[np.int64],
        log_mass: NDArray[np.float64],
        log_probabilities: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Add N nodes, and return their numbers, int64 [N].

        Args:
            parent: int64 [N], the parents; -1 adds a root.
            slot: int64 [N], the slots of the parents, or the entry of a root.
            log_mass: float64 [N], the log of the remaining probability of each node.
            log_probabilities: float64 [N, K], the policy's log probabilities of the next actions.
        """
        new = np.arange(self.count, self.count + len(parent))
        self._reserve(self.count + len(parent))
        self.log_remaining[new], self.log_probability[new], self.child[new] = (
            log_mass[:, None] + log_probabilities,
            log_probabilities,
            -1,
        )
        self.parent[new], self.slot[new] = parent, slot
        first = parent < 0
        self.roots[slot[first]] = new[first]
        self.child[parent[~first], slot[~first]] = new[~first]
        self.depth[new] = np.where(first, 0, self.depth[parent] + 1)
        self.count += len(parent)
        return new

    def spend(self, node: NDArray[np.int64], slot: NDArray[np.int64]) -> None:
        """Remove the probability of sampled sequences, which end with slot[i] of node[i]."""
        self.log_remaining[node, slot] = -np.inf
        depth, pending = int(self.depth[node].max(initial=0)), np.unique(node)
        while depth > 0:
            due = self.depth[pending] == depth
            due_nodes = pending[due]
            parents = self.parent[due_nodes]
            self.log_remaining[parents, self.slot[due_nodes]] = np.logaddexp.reduce(self.log_remaining[due_nodes], axis=1)
            pending = np.union1d(pending[~due], parents)
            depth -= 1

    def remaining(self, entry: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the log of the remaining probability of each entry, float64 [entries]; 0 if the entry has no root yet."""
        roots, remaining = self.roots[entry], np.zeros(len(entry))
        has_root = roots >= 0
        remaining[has_root] = np.logaddexp.reduce(self.log_remaining[roots[has_root]], axis=1)
        return remaining

    def _reserve(self, count: int) -> None:
        """Enlarge the arrays for at least `count` nodes."""
        if count <= len(self.parent):
            return
        capacity = max(count, 2 * len(self.parent))
        for name in ("log_remaining", "log_probability", "child", "parent", "slot", "depth"):
            array = getattr(self, name)
            larger = np.empty((capacity, *array.shape[1:]), array.dtype)
            larger[: self.count] = array[: self.count]
            setattr(self, name, larger)
