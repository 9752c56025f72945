"""Labelled nodes to learn from, in the replay that all learners share, and others to validate on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corl.errors import UsageError
from corl.learning.algorithms.imitation import Batch, draw
from corl.learning.episodes import Episodes
from corl.learning.replay import Replay
from corl.problems.milp.instance import MilpInstance
from corl.solvers.milp.branching.signature import signature, signature_range

__all__ = ["Lessons", "agrees", "choices"]

_SAME = 1e-5  # relative difference of two targets that count as equal


class Lessons:
    """Labelled nodes, those of every `held_out`-th program for validation; and the programs' signatures."""

    def __init__(self, capacity: int, held_out: int) -> None:
        self.train, self.others, self.held_out = Replay(capacity), Replay(capacity), held_out
        self.signatures: list[NDArray[np.float64]] = []
        self.updates = 0

    @property
    def nodes(self) -> int:
        """Labelled ones."""
        return self.train.size + self.others.size

    def add(self, instance: MilpInstance, episodes: Episodes) -> None:
        """Take one program's."""
        (self.others if len(self.signatures) % self.held_out == 1 else self.train).add(episodes)
        self.signatures.append(signature(instance))

    def check(self) -> None:
        """Train on what was held out, if there is nothing else. Raises UsageError where there is nothing at all."""
        if not self.train.size:
            self.train, self.others = self.others, self.train
        if not self.train.size:
            raise UsageError("no node was labelled: the programs were solved without branching, or the time was too short")

    def begin(self, network: Any) -> None:
        """Before the first optimiser step: means and scales of what the network sees. Raises UsageError as `check`."""
        self.check()
        network.standardise(draw(self.train, np.arange(self.train.size), network).states)

    def sample(self, network: Any, random: np.random.Generator, count: int) -> Batch:
        """Nodes to learn from, drawn with replacement."""
        return draw(self.train, self.train.sample(random, count), network)

    def held(self, network: Any) -> Batch:
        """All nodes that are held out."""
        return draw(self.others, np.arange(self.others.size), network)

    def describe(self, network: Any) -> None:
        """Tell the configuration of a network that has a use for it the range of the programs' signatures."""
        limits = dict(zip(("lower", "upper"), signature_range(self.signatures)))
        network.config |= {name: limits[name] for name in limits if name in network.config}

    def state_dict(self) -> dict[str, Any]:
        parts = {"train": self.train.state_dict(), "others": self.others.state_dict()}
        return {**parts, "signatures": self.signatures, "updates": self.updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.train.load_state_dict(state["train"])
        self.others.load_state_dict(state["others"])
        self.signatures, self.updates = list(state["signatures"]), int(state["updates"])


def choices(network: Any, batch: Batch) -> tuple[Tensor, Tensor]:
    """Of each node the largest probability of the target, and that of the network's first choice, both float32 [N]."""
    with torch.no_grad():
        logits, _ = network(batch.states)
    taken = batch.target.gather(1, logits.argmax(1, keepdim=True))[:, 0]
    return batch.target.max(1).values, taken.clamp_min(torch.finfo(taken.dtype).tiny)


def agrees(best: Tensor, taken: Tensor) -> Tensor:
    """Whether a first choice is one of the best."""
    return taken >= best * (1.0 - _SAME)
