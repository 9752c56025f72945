"""The agent's network in torch, for training; forward.py has the same in numba, for rollouts."""

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
from corl.solvers.jobshop.cp_agent.evaluator import CpEvaluator, check, look
from corl.solvers.jobshop.cp_agent.observation import FEATURES, SLOTS

if TYPE_CHECKING:
    from corl.adapter import Problem
    from corl.solvers.jobshop.cp_agent.forward import Weights

__all__ = ["Batch", "CpAgentNetwork"]


class Batch(NamedTuple):
    """B decisions: T listed jobs and C competing operations in all, L jobs that can start, at most K competitors of one."""

    x: Tensor
    """float32 [T, SLOTS, FEATURES]"""
    there: Tensor
    """bool [T, SLOTS]"""
    token: Tensor
    """int64 [C] the operations that compete for machines: listed job x SLOTS + slot."""
    own: Tensor
    """int64 [L] where the operation of each job that can start stands in `token`."""
    keys: Tensor
    """int64 [L, K] where those stand that compete with it, itself among them; padded with 0."""
    real: Tensor
    """bool [L, K] which of them are no padding."""
    decision: Tensor
    """int64 [L] the decision of each job that can start, rising."""
    slot: Tensor
    """int64 [B, K] which of the L, then of B waits, each listed action is; -1 in empty slots."""


class CpAgentNetwork(NetworkPolicy):
    """A job's tokens (start, window of intervals, end) attend to each other; then what can start attends to the operations that
    compete for its machine; an MLP gives its logit, and the mean of a second MLP that of waiting.

    After Tassel, Gebser and Schekotihin (ICAPS 2023, section 4). Theirs keeps 8 numbers a token; the end token of ours says
    when the job can end, and each interval how much work its machine has, which theirs has no token for.
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
        """See corl.policy.Policy; it is the agent as it is now, whatever is learned later."""
        return CpEvaluator(environment, self.weights())

    def state_arrays(self, view: View) -> Arrays:
        """See corl.solvers.jobshop.cp_agent.evaluator.look."""
        return look(view)

    def collate(self, contexts: Sequence[Arrays], seen: Sequence[Arrays], which: NDArray[np.int64]) -> Batch:
        """What is listed in each row, row after row."""
        counts = np.concatenate([part["counts"] for part in seen]).astype(np.int64)
        can, listed, filled = counts.T
        after = np.cumsum(counts, axis=0) - counts

        def taken(name: str, count: NDArray[np.int64]) -> NDArray[Any]:
            """The first `count` [B] of each row."""
            ends = np.cumsum([0, *(len(part[name]) for part in seen)])
            parts = zip(seen, ends, ends[1:])
            return np.concatenate([part[name][np.arange(part[name].shape[1]) < count[a:b, None]] for part, a, b in parts])

        of_job = np.repeat(after[:, 2], can)
        begin, end = taken("begin", can) + of_job, taken("end", can) + of_job
        padded = np.arange((end - begin).max())
        real = padded < (end - begin)[:, None]
        arrays = (
            taken("x", listed),
            taken("there", listed),
            taken("keys", filled) + np.repeat(after[:, 1] * SLOTS, filled),
            taken("own", can) + of_job,
            np.where(real, begin[:, None] + padded, 0),
            real,
            np.repeat(np.arange(len(can)), can),
            _slots(seen, after[:, 0], int(can.sum())),
        )
        device = next(self.parameters()).device
        return Batch(*(torch.from_numpy(array).to(device) for array in arrays))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """See NetworkPolicy.forward; the values are 0."""
        logits = torch.cat(self.outputs(batch))[batch.slot.clamp(min=0)].masked_fill(batch.slot < 0, float("-inf"))
        return logits, logits.new_zeros(len(logits))

    def outputs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits of the jobs that can start, float32 [L], and of waiting, float32 [B]."""
        tokens = batch.x @ self.embed + self.slot
        job = batch.token // SLOTS
        here = tokens.reshape(-1, tokens.shape[-1])[batch.token]
        key, value = (tokens @ self.inside[k] for k in (1, 2))
        here = _attend(here, key[job], value[job], batch.there[job], self.inside)
        here = _between(here, self.inside_up, self.inside_down)
        key, value = (here @ self.across[k] for k in (1, 2))
        here = _attend(here[batch.own], key[batch.keys], value[batch.keys], batch.real, self.across)
        here = _between(here, self.across_up, self.across_down)
        start, wait = (torch.relu(_affine(here, self.head[k])) @ self.out[k, :-1] + self.out[k, -1] for k in range(2))
        decisions = len(batch.slot)
        count = torch.bincount(batch.decision, minlength=decisions)
        return start, torch.zeros(decisions, device=wait.device).index_add(0, batch.decision, wait) / count

    def weights(self) -> Weights:
        """Copies for the kernels."""
        from corl.solvers.jobshop.cp_agent.forward import Weights

        return Weights(**{name: array_of(each) for name, each in self.named_parameters()})


def _slots(seen: Sequence[Arrays], first: NDArray[np.int64], jobs: int) -> NDArray[np.int64]:
    """Batch.slot; `first` [B] where each row's jobs that can start begin among all `jobs`."""
    most, found, done = max(part["slot"].shape[1] for part in seen), [], 0
    for part in seen:
        slot, waiting = part["slot"].astype(np.int64), part["x"].shape[1]
        row = np.arange(done, done + len(slot))
        place = np.where(slot == waiting, jobs + row[:, None], slot + first[row][:, None])
        found.append(np.pad(np.where(slot < 0, -1, place), [(0, 0), (0, most - slot.shape[1])], constant_values=-1))
        done += len(slot)
    return np.concatenate(found)


def _affine(x: Tensor, matrix: Tensor) -> Tensor:
    return x @ matrix[:-1] + matrix[-1]


def _between(x: Tensor, up: Tensor, down: Tensor) -> Tensor:
    return x + _affine(torch.relu(_affine(x, up)), down)


def _attend(x: Tensor, key: Tensor, value: Tensor, mask: Tensor, matrices: Tensor) -> Tensor:
    """x [N, d] + one head of attention of it to keys and values [N, k, d], where mask [N, k] allows it."""
    score = torch.einsum("nd,nkd->nk", x @ matrices[0], key) / math.sqrt(x.shape[-1])
    weight = torch.softmax(score.masked_fill(~mask, -torch.inf), -1)
    return x + torch.einsum("nk,nkd->nd", weight, value) @ matrices[3]
