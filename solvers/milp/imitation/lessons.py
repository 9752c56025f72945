"""`Lessons`: labelled nodes for training and for validation.

A labelled node is a node of SCIP's tree with the distribution over its candidates that a network is to learn (the target).
"""

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

_TIE = 1e-5  # probabilities of a target with at most this relative difference count as equal


class Lessons:
    """Labelled nodes in two replays, `train` for training and `others` for validation, and the signatures of their programs.

    `at_root` counts the programs without a labelled node: SCIP solved them, or a limit ended the solve, before it branched.

    Of each `held_out` programs, one is for validation: its nodes are held out from training.
    """

    def __init__(self, capacity: int, held_out: int) -> None:
        self.train, self.others, self.held_out = Replay(capacity), Replay(capacity), held_out
        self.signatures: list[NDArray[np.float64]] = []
        self.updates, self.at_root = 0, 0

    @property
    def nodes(self) -> int:
        """The number of labelled nodes."""
        return self.train.size + self.others.size

    def add(self, instance: MilpInstance, episodes: Episodes) -> None:
        """Add the labelled nodes of a program."""
        (self.others if len(self.signatures) % self.held_out == 1 else self.train).add(episodes)
        self.at_root += not episodes.lengths.any()
        self.signatures.append(signature(instance))

    def check(self) -> None:
        """Check that there are training nodes; without any, use the held-out ones. Raises UsageError if no node was labelled."""
        if not self.train.size:
            self.train, self.others = self.others, self.train
        if not self.train.size:
            raise UsageError("no node was labelled: the programs were solved without branching, or the time was too short")

    def begin(self, network: Any) -> None:
        """Prepare for the first optimiser step: set the network's means and scales. Raises UsageError as `check` does."""
        self.check()
        network.standardise(draw(self.train, np.arange(self.train.size), network).states)

    def sample(self, network: Any, random: np.random.Generator, count: int) -> Batch:
        """Return a batch of `count` training nodes, drawn with replacement."""
        return draw(self.train, self.train.sample(random, count), network)

    def held(self, network: Any) -> Batch:
        """Return a batch of all held-out nodes."""
        return draw(self.others, np.arange(self.others.size), network)

    def describe(self, network: Any) -> None:
        """Store the range of the programs' signatures in the network's configuration, if it has entries "lower" and "upper"."""
        limits = dict(zip(("lower", "upper"), signature_range(self.signatures)))
        network.config |= {name: limits[name] for name in limits if name in network.config}

    def state_dict(self) -> dict[str, Any]:
        parts = {"train": self.train.state_dict(), "others": self.others.state_dict()}
        return {**parts, "signatures": self.signatures, "updates": self.updates, "at_root": self.at_root}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.train.load_state_dict(state["train"])
        self.others.load_state_dict(state["others"])
        self.signatures = list(state["signatures"])
        self.updates, self.at_root = int(state["updates"]), int(state["at_root"])


def choices(network: Any, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return each target's largest probability, and the target's probability of the network's choice, float32 [N] each."""
    with torch.no_grad():
        logits, _ = network(batch.states)
    taken = batch.target.gather(1, logits.argmax(1, keepdim=True))[:, 0]
    return batch.target.max(1).values, taken.clamp_min(torch.finfo(taken.dtype).tiny)


def agrees(best: Tensor, taken: Tensor) -> Tensor:
    """Return whether each of the network's choices is among the best, bool [N]; the arguments are the results of `choices`."""
    return taken >= best * (1.0 - _TIE)
