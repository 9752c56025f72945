"""The agent's network in PyTorch, for training; forward.py holds the same network as kernels, for episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from corl.environment import Environment, View
from corl.errors import UsageError
from corl.networks.compiled import array_of
from corl.networks.policy import Arrays, NetworkPolicy, Shape
from corl.solvers.jobshop.cp_agent.evaluator import CpEvaluator, check, state_arrays
from corl.solvers.jobshop.cp_agent.observation import FEATURES, SLOTS

if TYPE_CHECKING:
    from corl.adapter import Problem
    from corl.solvers.jobshop.cp_agent.forward import CpWeights

__all__ = ["CpBatch", "CpAgentNetwork"]


class CpBatch(NamedTuple):
    """A batch of B decisions, which together have T listed jobs, C competing operations and L jobs that can start.

    A listed job has tokens. An operation that can start competes with up to K operations for its machine. SLOTS is the number of
    tokens of a job; a slot is the position of a token among these.
    """

    x: Tensor
    """float32 [T, SLOTS, FEATURES] the tokens."""
    there: Tensor
    """bool [T, SLOTS] which tokens exist."""
    token: Tensor
    """int64 [C] the competing operations, as (index of the listed job) * SLOTS + slot."""
    own: Tensor
    """int64 [L] for each job that can start, the index in `token` of its operation."""
    keys: Tensor
    """int64 [L, K] for each job that can start, the indices in `token` of the operations that compete with its operation, itself
    included; padded with 0."""
    real: Tensor
    """bool [L, K] which entries of `keys` are not padding."""
    decision: Tensor
    """int64 [L] the decision to which each job that can start belongs, ascending."""
    slot: Tensor
    """int64 [B, actions] the index of each listed action in the logits: first those of the L jobs, then those of waiting in the B
    decisions; -1 if there is no action."""


class CpAgentNetwork(NetworkPolicy):
    """Attention within jobs, then among the operations that compete for a machine.

    The tokens of a job (its start, a window of its operations, its end) attend to each other. Then each operation that can start
    attends to the operations that compete for its machine. A perceptron maps the result to the operation's logit; the logit of
    waiting is the mean of a second perceptron over these operations.

    The network follows Tassel, Gebser and Schekotihin (ICAPS 2023, section 4), whose tokens have 8 features. Here the token of
    the end states when the job can end, and the token of an operation how much work its machine still has.
    """

    architecture: ClassVar[str] = "jobshop-cp"

    def __init__(self, width: int = 16, hidden: int = 32, problem: str = "jobshop", environment: str = "intervals") -> None:
        super().__init__(problem, "", environment)
        if width < 1 or hidden < 1:
            raise UsageError(f"width and hidden are {width} and {hidden}; accepted: integers from 1")
        self.config = {"width": width, "hidden": hidden, "problem": problem, "environment": environment}

        def parameter(*shape: int, inputs: int) -> nn.Parameter:
            return nn.Parameter(torch.randn(shape) / math.sqrt(inputs))

        self.embed = parameter(FEATURES, width, inputs=FEATURES)
        self.slot = parameter(SLOTS, width, inputs=4)
        self.inside = parameter(4, width, width, inputs=width)
        self.inside_up = parameter(width + 1, hidden, inputs=width)
        self.inside_down = parameter(hidden + 1, width, inputs=4 * hidden)
        self.across = parameter(4, width, width, inputs=width)
        self.across_up = parameter(width + 1, hidden, inputs=width)
        self.across_down = parameter(hidden + 1, width, inputs=4 * hidden)
        self.head = parameter(2, width + 1, width, inputs=width)
        self.out = parameter(2, width + 1, inputs=16 * width)

    @classmethod
    def sized(cls, problem: Problem, instance: Any, shape: Shape) -> CpAgentNetwork:
        """See NetworkPolicy.sized; `hidden` is twice the width."""
        network = cls(shape.width, 2 * shape.width, problem.name, shape.environment or "intervals")
        check(problem.environment([instance], 1, name=network.environment))
        return network

    def on(self, environment: Environment) -> CpEvaluator:
        """See corl.policy.Policy. The result holds a copy of the weights, which later training does not change."""
        return CpEvaluator(environment, self.weights())

    def state_arrays(self, view: View) -> Arrays:
        """See corl.solvers.jobshop.cp_agent.evaluator.state_arrays."""
        return state_arrays(view)

    def collate(self, contexts: Sequence[Arrays], observed: Sequence[Arrays], which: NDArray[np.int64]) -> CpBatch:
        """Return the CpBatch of the rows of all parts of `observed`, which are arrays of `state_arrays`."""
        counts = np.concatenate([part["counts"] for part in observed]).astype(np.int64)
        startable, listed, key_counts = counts.T
        offsets = np.cumsum(counts, axis=0) - counts

        def first_entries(name: str, count: NDArray[np.int64]) -> NDArray[Any]:
            """Return the first `count` [B] entries of each row, concatenated."""
            ends = np.cumsum([0, *(len(part[name]) for part in observed)])
            parts = zip(observed, ends, ends[1:])
            return np.concatenate([part[name][np.arange(part[name].shape[1]) < count[a:b, None]] for part, a, b in parts])

        key_offset = np.repeat(offsets[:, 2], startable)
        begin, end = first_entries("begin", startable) + key_offset, first_entries("end", startable) + key_offset
        padded = np.arange((end - begin).max())
        real = padded < (end - begin)[:, None]
        arrays = (
            first_entries("x", listed),
            first_entries("there", listed),
            first_entries("keys", key_counts) + np.repeat(offsets[:, 1] * SLOTS, key_counts),
            first_entries("own", startable) + key_offset,
            np.where(real, begin[:, None] + padded, 0),
            real,
            np.repeat(np.arange(len(startable)), startable),
            _slots(observed, offsets[:, 0], int(startable.sum())),
        )
        device = next(self.parameters()).device
        return CpBatch(*(torch.from_numpy(array).to(device) for array in arrays))

    def forward(self, batch: CpBatch) -> tuple[Tensor, Tensor]:
        """See NetworkPolicy.forward. The network estimates no values: they are 0."""
        logits = torch.cat(self.outputs(batch))[batch.slot.clamp(min=0)].masked_fill(batch.slot < 0, float("-inf"))
        return logits, logits.new_zeros(len(logits))

    def outputs(self, batch: CpBatch) -> tuple[Tensor, Tensor]:
        """Return the logits of the jobs that can start, float32 [L], and of waiting, float32 [B]."""
        tokens = batch.x @ self.embed + self.slot
        job = batch.token // SLOTS
        x = tokens.reshape(-1, tokens.shape[-1])[batch.token]
        key, value = (tokens @ self.inside[k] for k in (1, 2))
        x = _attend(x, key[job], value[job], batch.there[job], self.inside)
        x = _feed_forward(x, self.inside_up, self.inside_down)
        key, value = (x @ self.across[k] for k in (1, 2))
        x = _attend(x[batch.own], key[batch.keys], value[batch.keys], batch.real, self.across)
        x = _feed_forward(x, self.across_up, self.across_down)
        start, wait = (torch.relu(_affine(x, self.head[k])) @ self.out[k, :-1] + self.out[k, -1] for k in range(2))
        decisions = len(batch.slot)
        count = torch.bincount(batch.decision, minlength=decisions)
        return start, torch.zeros(decisions, device=wait.device).index_add(0, batch.decision, wait) / count

    def weights(self) -> CpWeights:
        """Return copies of the parameters for the kernels."""
        from corl.solvers.jobshop.cp_agent.forward import CpWeights

        return CpWeights(**{name: array_of(each) for name, each in self.named_parameters()})


def _slots(observed: Sequence[Arrays], first: NDArray[np.int64], jobs: int) -> NDArray[np.int64]:
    """Return `CpBatch.slot`.

    Args:
        observed: The arrays of all rows, B together.
        first: int64 [B], for each row the number of jobs that can start in the rows before it.
        jobs: The number of jobs that can start, of all rows together.
    """
    width, padded, rows = max(part["slot"].shape[1] for part in observed), [], 0
    for part in observed:
        slot, waiting = part["slot"].astype(np.int64), part["x"].shape[1]
        row = np.arange(rows, rows + len(slot))
        index = np.where(slot == waiting, jobs + row[:, None], slot + first[row][:, None])
        padded.append(np.pad(np.where(slot < 0, -1, index), [(0, 0), (0, width - slot.shape[1])], constant_values=-1))
        rows += len(slot)
    return np.concatenate(padded)


def _affine(x: Tensor, matrix: Tensor) -> Tensor:
    return x @ matrix[:-1] + matrix[-1]


def _feed_forward(x: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return x + _affine(torch.relu(_affine(x, up)), down)


def _attend(x: Tensor, key: Tensor, value: Tensor, mask: Tensor, matrices: Tensor) -> Tensor:
    """Return x [N, d] plus one head of attention from x to the keys and values [N, k, d] at which `mask` [N, k] is True."""
    score = torch.einsum("nd,nkd->nk", x @ matrices[0], key) / math.sqrt(x.shape[-1])
    weight = torch.softmax(score.masked_fill(~mask, -torch.inf), -1)
    return x + torch.einsum("nk,nkd->nd", weight, value) @ matrices[3]
