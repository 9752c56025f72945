"""The agent's network in torch, for training; forward.py holds the same network as kernels, for rollouts."""

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
from corl.networks.policy import Arrays, Policy, Shape
from corl.solvers.jobshop.cp_agent.evaluator import CpEvaluator, check, state_arrays
from corl.solvers.jobshop.cp_agent.observation import FEATURES, SLOTS

if TYPE_CHECKING:
    from corl.adapter import Problem
    from corl.solvers.jobshop.cp_agent.forward import CpWeights

__all__ = ["CpBatch", "CpAgentNetwork"]


class CpBatch(NamedTuple):
    """B decisions with, in all, T listed jobs, C competing operations and L startable jobs, with up to K competitors each."""

    x: Tensor
    """float32 [T, SLOTS, FEATURES] tokens."""
    there: Tensor
    """bool [T, SLOTS] which tokens exist."""
    token: Tensor
    """int64 [C] the operations that compete for machines, as listed job * SLOTS + slot."""
    own: Tensor
    """int64 [L] the index in `token` of the operation of each job that can start."""
    keys: Tensor
    """int64 [L, K] the indices in `token` of its competitors, itself included; padded with 0."""
    real: Tensor
    """bool [L, K] which entries of `keys` are not padding."""
    decision: Tensor
    """int64 [L] the decision of each job that can start, ascending."""
    slot: Tensor
    """int64 [B, actions] the index of each listed action among the L jobs, then the B waits; -1 in empty slots."""


class CpAgentNetwork(Policy):
    """Attention within jobs, then among the operations that compete for a machine.

    The tokens of a job (start, window of intervals, end) attend to each other; then each operation that can start attends to the
    operations that compete for its machine. One perceptron returns its logit; the mean of a second one is the logit of waiting.

    After Tassel, Gebser and Schekotihin (ICAPS 2023, section 4), with two additions: the end token states when the job can end,
    and each interval how much work its machine has left. Their tokens have 8 features.
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
        """See Policy.sized; `hidden` is twice the width."""
        network = cls(shape.width, 2 * shape.width, problem.name, shape.environment or "intervals")
        check(problem.environment([instance], 1, name=network.environment))
        return network

    def on(self, environment: Environment) -> CpEvaluator:
        """See corl.policy.Policy; it is the agent as it is now, whatever is learned later."""
        return CpEvaluator(environment, self.weights())

    def look(self, view: View) -> Arrays:
        """See corl.solvers.jobshop.cp_agent.evaluator.state_arrays."""
        return state_arrays(view)

    def collate(self, contexts: Sequence[Arrays], observed: Sequence[Arrays], which: NDArray[np.int64]) -> CpBatch:
        """Return the Batch of the rows of all parts."""
        counts = np.concatenate([part["counts"] for part in observed]).astype(np.int64)
        can, listed, filled = counts.T
        after = np.cumsum(counts, axis=0) - counts

        def first_entries(name: str, count: NDArray[np.int64]) -> NDArray[Any]:
            """Return the first `count` [B] entries of each row, concatenated."""
            ends = np.cumsum([0, *(len(part[name]) for part in observed)])
            parts = zip(observed, ends, ends[1:])
            return np.concatenate([part[name][np.arange(part[name].shape[1]) < count[a:b, None]] for part, a, b in parts])

        of_job = np.repeat(after[:, 2], can)
        begin, end = first_entries("begin", can) + of_job, first_entries("end", can) + of_job
        padded = np.arange((end - begin).max())
        real = padded < (end - begin)[:, None]
        arrays = (
            first_entries("x", listed),
            first_entries("there", listed),
            first_entries("keys", filled) + np.repeat(after[:, 1] * SLOTS, filled),
            first_entries("own", can) + of_job,
            np.where(real, begin[:, None] + padded, 0),
            real,
            np.repeat(np.arange(len(can)), can),
            _slots(observed, after[:, 0], int(can.sum())),
        )
        device = next(self.parameters()).device
        return CpBatch(*(torch.from_numpy(array).to(device) for array in arrays))

    def forward(self, batch: CpBatch) -> tuple[Tensor, Tensor]:
        """See Policy.forward; the values are 0."""
        logits = torch.cat(self.outputs(batch))[batch.slot.clamp(min=0)].masked_fill(batch.slot < 0, float("-inf"))
        return logits, logits.new_zeros(len(logits))

    def outputs(self, batch: CpBatch) -> tuple[Tensor, Tensor]:
        """Return the logits of the jobs that can start, float32 [L], and of waiting, float32 [B]."""
        tokens = batch.x @ self.embed + self.slot
        job = batch.token // SLOTS
        here = tokens.reshape(-1, tokens.shape[-1])[batch.token]
        key, value = (tokens @ self.inside[k] for k in (1, 2))
        here = _attend(here, key[job], value[job], batch.there[job], self.inside)
        here = _feed_forward(here, self.inside_up, self.inside_down)
        key, value = (here @ self.across[k] for k in (1, 2))
        here = _attend(here[batch.own], key[batch.keys], value[batch.keys], batch.real, self.across)
        here = _feed_forward(here, self.across_up, self.across_down)
        start, wait = (torch.relu(_affine(here, self.head[k])) @ self.out[k, :-1] + self.out[k, -1] for k in range(2))
        decisions = len(batch.slot)
        count = torch.bincount(batch.decision, minlength=decisions)
        return start, torch.zeros(decisions, device=wait.device).index_add(0, batch.decision, wait) / count

    def weights(self) -> CpWeights:
        """Return copies of the parameters for the kernels."""
        from corl.solvers.jobshop.cp_agent.forward import CpWeights

        return CpWeights(**{name: array_of(each) for name, each in self.named_parameters()})


def _slots(observed: Sequence[Arrays], first: NDArray[np.int64], jobs: int) -> NDArray[np.int64]:
    """Return `CpBatch.slot`; `first` [B] is the index, among all `jobs`, of each row's first job that can start."""
    width, found, rows = max(part["slot"].shape[1] for part in observed), [], 0
    for part in observed:
        slot, waiting = part["slot"].astype(np.int64), part["x"].shape[1]
        row = np.arange(rows, rows + len(slot))
        place = np.where(slot == waiting, jobs + row[:, None], slot + first[row][:, None])
        found.append(np.pad(np.where(slot < 0, -1, place), [(0, 0), (0, width - slot.shape[1])], constant_values=-1))
        rows += len(slot)
    return np.concatenate(found)


def _affine(x: Tensor, matrix: Tensor) -> Tensor:
    return x @ matrix[:-1] + matrix[-1]


def _feed_forward(x: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return x + _affine(torch.relu(_affine(x, up)), down)


def _attend(x: Tensor, key: Tensor, value: Tensor, mask: Tensor, matrices: Tensor) -> Tensor:
    """Return x [N, d] plus one head of attention from it to keys and values [N, k, d] that mask [N, k] allows."""
    score = torch.einsum("nd,nkd->nk", x @ matrices[0], key) / math.sqrt(x.shape[-1])
    weight = torch.softmax(score.masked_fill(~mask, -torch.inf), -1)
    return x + torch.einsum("nk,nkd->nd", weight, value) @ matrices[3]
