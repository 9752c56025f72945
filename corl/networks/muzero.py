"""MuZeroNetwork: a learned model of the problem on latent states, with a policy and a value.

Representation, dynamics and prediction as in Schrittwieser et al., Nature 2020, with value and reward by classification, and the
projections of the consistency loss from EfficientZero (Ye et al., NeurIPS 2021). A latent state is a set of vectors, one for each
token of the observation at the root. So every action has a token: the dynamics marks the token of the action taken, and lets the
tokens attend to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from corl.environment import Environment, View
from corl.errors import UsageError
from corl.networks.attention import Layer
from corl.networks.heads import HLGauss
from corl.networks.policy import Arrays, NetworkPolicy, Observer
from corl.networks.stem import Stem
from corl.networks.tokens import TokenBatch

__all__ = ["MuZeroNetwork", "Slots"]


class ListedTokens(NamedTuple):
    """A TokenBatch whose slot a is action a, with the actions that the environment lists for each row."""

    x: Tensor
    mask: Tensor
    pairs: Tensor | None
    action: Tensor
    """int64 [R, K], -1 after the last."""


class MuZeroNetwork(NetworkPolicy):
    """Representation, dynamics and prediction over Tokens. As a NetworkPolicy, it returns the prediction at the root.

    A latent state is a float32 tensor [R, T, D + 1]: a vector for each token, scaled to mean 0 and variance 1, followed by 1 if
    the token is present and 0 if not. Rewards and values are in the unit of the root's row ("scale").

    Actions are given by slots. All states below a root have the root's slots, so that an action that becomes legal later has no
    slot. Therefore, if the environment has `kinds` (Environment.kinds), slot a is action a in every state, legal or not. Below
    the root there is no mask: the network must learn which actions are legal.
    """

    architecture: ClassVar[str] = "muzero"
    options: ClassVar[tuple[str, ...]] = ("grid",)  # see NetworkPolicy

    def __init__(
        self,
        problem: str,
        features: str,
        inputs: int,
        pairs: int = 0,
        extra: int = 2,
        width: int = 64,
        layers: int = 2,
        dynamics_layers: int = 1,
        heads: int = 4,
        feedforward: int = 128,
        bins: int = 64,
        values: tuple[float, float] = (-10.0, 10.0),
        rewards: tuple[float, float] = (-10.0, 10.0),
        grid: int = 0,
        environment: str = "",
        kinds: int = 0,
    ) -> None:
        """Create a network with random weights.

        Args:
            problem, features, environment: As for NetworkPolicy.
            inputs, pairs, extra, width, layers, heads, feedforward, grid: As for AttentionPolicy.
            dynamics_layers: The number of layers of the dynamics.
            bins: The number of bins of the heads for value and reward.
            values, rewards: The ranges (low, high) of these heads, in the unit of a row.
            kinds: Environment.kinds.

        Raises:
            UsageError: The sizes do not fit together.
        """
        super().__init__(problem, features, environment)
        if min(inputs, width, layers, dynamics_layers, heads, feedforward) < 1 or min(pairs, extra, grid) < 0 or width % heads:
            raise UsageError(f"width {width} of a MuZero network must be a multiple of heads, {heads}; all sizes are positive")
        if kinds < 0 or (kinds and pairs):
            raise UsageError(f"a MuZero network with {kinds} kinds of actions and {pairs} features of pairs; accepted: either")
        self.config = {
            "problem": problem, "features": features, "inputs": inputs, "pairs": pairs, "extra": extra, "width": width,
            "layers": layers, "dynamics_layers": dynamics_layers, "heads": heads, "feedforward": feedforward, "bins": bins,
            "values": list(values), "rewards": list(rewards), "grid": grid,
            "environment": environment, "kinds": kinds,
        }  # fmt: skip
        self.kinds = kinds
        self.kind = nn.Parameter(torch.randn(kinds, width) * width**-0.5) if kinds else None  # a vector for each action
        self.extra, self.heads, self.has_value = extra, heads, True
        self.embed = Stem(inputs, width, grid) if grid else nn.Linear(inputs, width)
        self.bias = nn.Linear(pairs, layers * heads, bias=False) if pairs else None
        self.layers = nn.ModuleList(Layer(width, heads, feedforward) for _ in range(layers))
        # `chosen` marks the token of the action taken; `told` maps this token's vector to what all tokens get.
        self.chosen, self.told = nn.Parameter(torch.randn(width) * width**-0.5), nn.Linear(width, width)
        self.dynamics_layers = nn.ModuleList(Layer(width, heads, feedforward) for _ in range(dynamics_layers))
        self.score = _mlp(width, width, 1)
        self.value_head, self.reward_head = HLGauss(*values, bins), HLGauss(*rewards, bins)
        self.value = _mlp(width, width, bins)
        self.reward = _mlp(3 * width, width, bins)
        self.project, self.predict = _mlp(width, width, width), _mlp(width, width, width)

    def state_arrays(self, view: View) -> Arrays:
        """See NetworkPolicy.state_arrays. With `kinds`, token a belongs to action a, and is zero if a is not listed.

        A further array "action", int32 [R, K], then has the listed actions. Raises UsageError if the environment has other
        `kinds`.
        """
        arrays = super().state_arrays(view)
        if not self.kinds:
            return arrays
        if (kinds := view.environment.kinds) != self.kinds:
            raise UsageError(f"the muzero network has {self.kinds} kinds of actions; the environment has {kinds}")
        action = view.actions
        row, slot = np.nonzero((action >= 0) & arrays["mask"][:, : action.shape[1]])
        x, mask = (
            np.concatenate([np.full((len(action), self.kinds, *a.shape[2:]), fill, a.dtype), a[:, action.shape[1] :]], 1)
            for a, fill in ((arrays["x"], 0), (arrays["mask"], True))
        )
        x[row, action[row, slot]] = arrays["x"][row, slot]
        return {**arrays, "x": x, "mask": mask, "action": action}

    def collate(self, contexts: Sequence[Arrays], observed: Sequence[Arrays], which: NDArray[np.int64]) -> Any:
        """See NetworkPolicy.collate; with `kinds` the result is a ListedTokens."""
        batch = super().collate(contexts, observed, which)
        if not self.kinds:
            return batch
        action = torch.from_numpy(np.concatenate([part["action"] for part in observed])).to(batch.x.device).long()
        return ListedTokens(batch.x, batch.mask, batch.pairs, action)

    def representation(self, x: Tensor, mask: Tensor, pairs: Tensor | None) -> Tensor:
        """Return the latent states [R, T, D + 1] of observations, given as the tensors of Tokens."""
        hidden, excluded = self.embed(x), _excluded(mask)
        if self.kind is not None:
            hidden = torch.cat([hidden[:, : self.kinds] + self.kind, hidden[:, self.kinds :]], 1)
        biases: list[Tensor] = [excluded] * len(self.layers)
        if self.bias is not None and pairs is not None:  # [R, T, T, L * H] -> L times [R, H, T, T]
            rows, tokens = mask.shape
            shaped = self.bias(pairs).view(rows, tokens, tokens, len(self.layers), self.heads).permute(3, 0, 4, 1, 2)
            biases = [bias + excluded for bias in shaped]
        for layer, bias in zip(self.layers, biases):
            hidden = layer(hidden, bias)
        return _latent(hidden, mask)

    def dynamics(self, latent: Tensor, slot: Tensor) -> tuple[Tensor, Tensor]:
        """Return the latent states after the actions in `slot`, int64 [R], and the logits [R, bins] of the rewards."""
        hidden, mask = latent[..., :-1], latent[..., -1] > 0.5
        at = torch.arange(len(slot), device=slot.device)
        taken_vector = hidden[at, slot]
        mark = functional.one_hot(slot, hidden.shape[1]).to(hidden.dtype)[..., None]
        after = hidden + mark * self.chosen + self.told(taken_vector)[:, None]
        excluded = _excluded(mask)
        for layer in self.dynamics_layers:
            after = layer(after, excluded)
        successor = _latent(after, mask)
        summary = torch.cat([taken_vector, successor[at, slot, :-1], _pooled(successor)], dim=-1)
        return successor, self.reward(summary)

    def prediction(self, latent: Tensor) -> tuple[Tensor, Tensor]:
        """Return the policy's logits [R, K], -inf for slots that are empty at the root, and the values' logits [R, bins]."""
        slots = latent.shape[1] - self.extra
        logits = self.score(latent[:, :slots, :-1]).squeeze(-1).masked_fill(latent[:, :slots, -1] < 0.5, float("-inf"))
        return logits, self.value(_pooled(latent))

    def forward(self, batch: TokenBatch | ListedTokens) -> tuple[Tensor, Tensor]:
        """See NetworkPolicy.forward: returns the prediction of the representation."""
        logits, value = self.prediction(self.representation(*batch[:3]))
        if isinstance(batch, ListedTokens):
            logits = logits.gather(1, batch.action.clamp_min(0)).masked_fill(batch.action < 0, float("-inf"))
        return logits, self.value_head.mean(value)

    def on(self, environment: Environment) -> ModelObserver:
        """See NetworkPolicy.on; the evaluator also has the learned model."""
        return ModelObserver(self, environment)

    def ids(self, actions: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the model's ids of listed `actions` [R, K], -1 after the last: slots, or with `kinds` the actions themselves."""
        return actions if self.kinds else np.where(actions >= 0, np.arange(actions.shape[1]), -1).astype(np.int32)

    def similarity(self, latent: Tensor, observed: Tensor) -> Tensor:
        """Return the cosine [R, T] of predicted and observed latent vectors after projection.

        No gradient passes through the observed ones.
        """
        predicted = self.predict(self.project(latent[..., :-1]))
        with torch.no_grad():
            target = self.project(observed[..., :-1])
        return functional.cosine_similarity(predicted, target, dim=-1)


class Slots:
    """A MuZeroNetwork with the interface of corl.search.models.LatentNetwork.

    Its actions are the slots of a search's root or, with `kinds`, the actions themselves.

    model = LearnedModel(Slots(network, environment.width))
    ids = network.ids(view.actions)
    result = search.search(model, (network.observe(view), ids), keys)
    """

    def __init__(self, network: MuZeroNetwork, slots: int) -> None:
        self.network, self.slots = network, network.kinds or slots

    def initial(self, observed: Arrays) -> tuple[Tensor, Tensor, Tensor]:
        """Return latent states, logits [R, slots] and values [R], in the units of the rows, from observations."""
        latent = self.network.representation(*self.network.collate([], [observed], np.zeros(0, np.int64))[:3])
        logits, value = self.network.prediction(latent)
        return latent, logits, self.network.value_head.mean(value)

    def recurrent(self, latent: Tensor, slots: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return latent states, rewards [R], logits [R, slots] and values [R] after the actions in `slots`, int64 [R]."""
        after, reward = self.network.dynamics(latent, slots)
        logits, value = self.network.prediction(after)
        return after, self.network.reward_head.mean(reward), logits, self.network.value_head.mean(value)


def _mlp(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, outputs))


def _excluded(mask: Tensor) -> Tensor:
    """Return the tensor that, added to attention scores [R, H, T, T], excludes absent tokens."""
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -1e9)[:, None, None, :]


def _latent(hidden: Tensor, mask: Tensor) -> Tensor:
    """Return latent states: vectors scaled to mean 0 and variance 1 (zero for absent tokens), followed by the mask."""
    present = mask.to(hidden.dtype)[..., None]
    return torch.cat([functional.layer_norm(hidden, hidden.shape[-1:]) * present, present], dim=-1)


def _pooled(latent: Tensor) -> Tensor:
    """Return the mean vector [R, D] of the present tokens."""
    present = latent[..., -1:]
    return (latent[..., :-1] * present).sum(1) / present.sum(1).clamp_min(1.0)


class ModelObserver(Observer, Slots):
    """A MuZeroNetwork on the pool of an environment, with the interface of corl.policy.ModelEvaluator."""

    def __init__(self, network: MuZeroNetwork, environment: Environment) -> None:
        Observer.__init__(self, network, environment)
        Slots.__init__(self, network, environment.width)

    def root(self, view: View) -> tuple[Arrays, NDArray[np.int32]]:
        """See corl.policy.ModelEvaluator."""
        return self.network.observe(view), self.network.ids(view.actions)
