"""MuZero, the recipe `any.muzero`: a model of the problem learned from play, and a policy and a value from searching that model.

The model is unrolled along segments, which are sequences of successive moves from the replay (corl.learning.unrolling), and
fitted to the states observed there. Sources: Schrittwieser et al., Nature 2020 (appendix G for the loss, K = 5 steps and the
scaling of gradients, appendix H for reanalyse); EfficientZero (Ye et al., NeurIPS 2021) for the consistency loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from corl.learning.loop import Loop, PolicyRecipe, nothing_to_learn
from corl.options import option

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from torch import Tensor

    from corl.decoding.play import DecisionStep
    from corl.learning.episodes import Choice, Episodes
    from corl.learning.replay import Replay
    from corl.learning.selfplay import Job, JobPlayer, SelfPlay
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.learning.unrolling import Unroll
    from corl.networks.muzero import MuZeroNetwork
    from corl.networks.policy import Arrays
    from corl.search.gumbel import Gumbel

__all__ = ["LossWeights", "MuZero", "loss", "reanalyse", "search_latent"]

_RANGE_EPISODES = 64  # episodes of random play, and as many of the teacher, from which the ranges of the heads are estimated
_GRADIENT_SHARE = 0.5  # the share of the gradient that passes through each step of the dynamics (appendix G)


@dataclass(frozen=True)
class MuZero(PolicyRecipe):
    """MuZero (Schrittwieser et al., Nature 2020) with Gumbel search, on new instances in every generation.

    The environment only executes the moves: a search uses the observation at its root, and the learned model below the root.
    A generation is `episodes` instances, each played once; `updates` optimiser steps follow. The network is a MuZeroNetwork.
    """

    network: Literal["muzero"] = option("muzero", "The architecture.")
    episodes: int = option(128, "Instances per generation.", low=1, scale="log")
    updates: int = option(16, "Optimiser steps from one generation to the next.", low=1, scale="log")
    batch: int = option(64, "Segments of `unroll` moves per optimiser step.", low=1, scale="log")
    replay: int = option(
        20_000, "Capacity of the replay, which keeps the latest moves; those of one generation must fit.", low=1, scale="log"
    )
    simulations: int = option(16, "Simulations of the search for each move.", low=1, scale="log")
    considered: int = option(8, "Actions considered at the root of a search.", low=1)
    value_scale: float = option(
        0.1, "Weight of a search's values relative to the network's logits (c_scale of Gumbel MuZero).", low=0
    )
    unroll: int = option(5, "Moves along which the model is unrolled in training (K of the paper).", low=1)
    td_steps: int = option(
        10, "A value target is the sum of this many rewards and the search's value of the state after them.", low=1
    )
    reanalyse: float = option(0.5, "Moves of the replay that are searched again, for each new move.", low=0)
    dynamics_layers: int = option(1, "Layers of the dynamics; `layers` sets those of the representation.", low=1)
    bins: int = option(64, "Bins of the histograms of value and reward.", low=2)
    value_weight: float = option(
        0.25, "Weight of the value's cross-entropy relative to the policy's; 0.25 as in the paper's Reanalyze.", low=0
    )
    reward_weight: float = option(1.0, "Weight of the reward's cross-entropy.", low=0)
    consistency: float = option(1.0, "Weight of the agreement between predicted and observed latent states.", low=0)
    teacher: str = option(
        "", "A solver that iterations can limit; its solutions are played at the start of the training. Empty: no teacher."
    )
    teacher_iterations: int = option(100, "The teacher's iterations per instance.", low=1, scale="log")
    taught: float = option(
        0.3, "The share of the training, at its start, in which the teacher plays instead of the search.", low=0, high=1
    )
    explored: float = option(
        0.5,
        "While the teacher plays: the share of a generation's episodes that the search plays instead. From these episodes the "
        "model learns the effects of other actions; the policy does not imitate them.",
        low=0,
        high=1,
    )
    keep: bool = option(False, "Whether to save the weights with the best validation result instead of the last ones.")

    title: ClassVar[str] = "MuZero: self-play by Gumbel search in a learned model"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of self-play before it"

    def train(self, training: Training) -> None:
        from corl.learning.demonstrations import check_teacher
        from corl.learning.replay import Replay
        from corl.learning.selfplay import SelfPlay
        from corl.learning.unrolling import unroll

        check_teacher(self, training.problem.name)
        loop, replay = Loop(self, training, keep=self.keep), Replay(self.replay)
        network: Any = loop.network
        weights = LossWeights(self.value_weight, self.reward_weight, self.consistency)
        loop.manage(replay=replay)

        def segments() -> tuple[Unroll | None, dict[str, float]]:
            curves, random = {}, training.generator(2, training.step)
            if training.step % self.updates == 0:
                episodes = self._generation(training, self_play, network, replay, random)
                curves = loop.validate(episodes)
            if not replay.size:
                return None, curves
            at = replay.sample(random, self.batch)
            # network.extra: the number of tokens that belong to no action
            return unroll(replay, at, self.unroll, self.td_steps, network.extra, random, network.kinds), curves

        def unrolled(batch: Unroll) -> tuple[Tensor, dict[str, float]]:
            return loss(network, batch, weights, training.device)

        with SelfPlay(training, _player, self, loop.source, network.config) as self_play:
            loop.run(segments, loop.minimise(unrolled))

    def _generation(
        self, training: Training, self_play: SelfPlay, network: MuZeroNetwork, replay: Replay, random: np.random.Generator
    ) -> list[Episodes]:
        """Play a generation and add its episodes to the replay; unless a teacher plays, search earlier moves again before."""
        from corl.learning.demonstrations import teacher_plays

        taught = teacher_plays(self, training)
        teacher_share = 1.0 - self.explored if taught else 0.0
        episodes = self_play.generation(network, training.step // self.updates, self.episodes, teacher_share)
        if not taught:
            self._reanalyse(network, replay, sum(int(part.lengths.sum()) for part in episodes), random)
        for part in episodes:
            replay.add(part)
        return episodes

    def first_network(self, training: Training, source: Source) -> MuZeroNetwork:
        """See PolicyRecipe.first_network."""
        from corl.networks.muzero import MuZeroNetwork

        return MuZeroNetwork(**self._config(source)).to(training.device)

    def _config(self, source: Source) -> dict[str, Any]:
        """Return the network's arguments: sizes of the tokens, and ranges of values and rewards that fit the play.

        The ranges are estimated from episodes of random play and, if there is a teacher, from its episodes.
        """
        import numpy as np

        from corl.learning.demonstrations import Teacher, demonstrate
        from corl.learning.episodes import random_choice, record
        from corl.learning.replay import Replay
        from corl.learning.unrolling import spans
        from corl.networks.architectures import network_options
        from corl.networks.muzero import MuZeroNetwork
        from corl.networks.tokens import token_sizes

        instances, rows = source.instances(0, _RANGE_EPISODES), np.arange(_RANGE_EPISODES)
        sizes = token_sizes(source.problem, self.features, self.environment, instances[0])
        environment = source.problem.environment(instances, _RANGE_EPISODES, name=self.environment)
        random, base = np.random.default_rng([source.seed, 3]), environment.reset(rows, rows)
        observer = MuZeroNetwork(**sizes, width=1, heads=1, layers=1, feedforward=1)  # computes features only, so any width does
        episodes = record(observer, environment, rows, base, random_choice(random))
        if not episodes.moves:
            raise nothing_to_learn(f"{_RANGE_EPISODES} episodes of random play")
        parts = [episodes]
        if self.teacher:
            teacher = Teacher(self.teacher, self.teacher_iterations)
            parts.append(demonstrate(observer, source.problem, instances, teacher, None, random))
        collected = Replay(sum(int(part.lengths.sum()) for part in parts))
        for part in parts:
            collected.add(part)
        shape = {"width": self.width, "layers": self.layers, "dynamics_layers": self.dynamics_layers, "heads": self.heads}
        shape |= {"kinds": environment.kinds, **network_options(MuZeroNetwork, self.network_options)}
        return {
            **sizes,
            **shape,
            "feedforward": 2 * self.width,
            "bins": self.bins,
            **spans(collected, self.unroll, observer.extra),
        }

    def _reanalyse(self, network: MuZeroNetwork, replay: Replay, count: int, random: np.random.Generator) -> None:
        """Search `reanalyse` * count random moves of the replay again, `episodes` of them at a time."""
        if not replay.size:
            return
        at = replay.sample(random, int(self.reanalyse * count))
        network.eval()
        for begin in range(0, len(at), self.episodes):
            part = at[begin : begin + self.episodes]
            reanalyse(replay, part, network, _search(self), random.integers(0, 2**63, len(part)).astype("uint64"))
        network.train()


class LossWeights(NamedTuple):
    """The weights of the loss's terms, relative to the term of the policy."""

    value: float = 0.25
    reward: float = 1.0
    consistency: float = 1.0


def loss(network: MuZeroNetwork, batch: Unroll, weights: LossWeights, device: torch.device) -> tuple[Tensor, dict[str, float]]:
    """Return the loss of a batch, and its terms. The root's terms have weight 1, the terms of each of the K steps 1 / K.

    The terms of value and reward are cross-entropies with the HL-Gauss targets. The term of consistency is minus the cosine of
    the unrolled latent vectors with the representation of the observed state; no gradient passes through this representation.
    """
    import torch

    targets: dict[str, Any] = {
        name: None if array is None else torch.from_numpy(array).to(device) for name, array in batch._asdict().items()
    }
    steps = batch.slot.shape[1]
    pairs = targets["pairs"]
    latent = network.representation(targets["x"][:, 0], targets["mask"][:, 0], None if pairs is None else pairs[:, 0])
    observed = _observed_latents(network, targets) if weights.consistency else None
    terms = _prediction_terms(network, latent, targets, 0)
    total = terms["policy"] + weights.value * terms["value"]
    sums = {name: term.item() for name, term in terms.items()} | {"reward": 0.0, "consistency": 0.0}
    for k in range(1, steps + 1):
        latent, reward = network.dynamics(_with_gradient_share(latent, _GRADIENT_SHARE), targets["slot"][:, k - 1])
        known = targets["known"][:, k].float()
        terms = _prediction_terms(network, latent, targets, k)
        terms["reward"] = (network.reward_head.loss(reward, targets["reward"][:, k - 1]) * known).mean()
        total = total + (terms["policy"] + weights.value * terms["value"] + weights.reward * terms["reward"]) / steps
        if observed is not None:
            terms["consistency"] = _consistency(network, latent, observed[:, k - 1], targets["counterpart"][:, k], known)
            total = total + weights.consistency * terms["consistency"] / steps
        for name in ("reward", "consistency"):
            sums[name] += terms[name].item() / steps if name in terms else 0.0
    return total, sums


def _prediction_terms(network: MuZeroNetwork, latent: Tensor, targets: Mapping[str, Any], k: int) -> dict[str, Tensor]:
    """Return the loss terms of policy and value at step k, from the arrays of an Unroll as tensors."""
    from torch.nn import functional

    logits, value = network.prediction(latent)
    known = targets["known"][:, k].float()
    policy_terms = -(targets["policy"][:, k] * functional.log_softmax(logits, dim=1).clamp_min(-1e4)).sum(dim=1)
    value_terms = network.value_head.loss(value, targets["value"][:, k])
    return {
        "policy": (policy_terms * targets["policy_weight"][:, k] * known).mean(),
        "value": (value_terms * known).mean(),
    }


def _observed_latents(network: MuZeroNetwork, targets: Mapping[str, Any]) -> Tensor:
    """Return the representations of the K observed states after the root, float32 [N, K, T, D + 1], without gradients.

    A state has T tokens, each with D hidden numbers, and 1 if the token is present, otherwise 0 (MuZeroNetwork).
    """
    import torch

    rows, steps, tokens = targets["mask"][:, 1:].shape
    x, mask = targets["x"][:, 1:].flatten(0, 1), targets["mask"][:, 1:].flatten(0, 1)
    pairs = None if targets["pairs"] is None else targets["pairs"][:, 1:].flatten(0, 1)
    with torch.no_grad():
        return network.representation(x, mask, pairs).view(rows, steps, tokens, -1)


def _consistency(network: MuZeroNetwork, latent: Tensor, observed: Tensor, counterpart: Tensor, known: Tensor) -> Tensor:
    """Return minus the mean cosine of latent and observed vectors, first over the tokens of a row, then over the rows.

    Args:
        network: The model, which projects the vectors before they are compared.
        latent: float32 [N, T, D + 1], the unrolled latent states: for each of T tokens D hidden numbers, then 1 if it is present.
        observed: float32 [N, T, D + 1], the representations of the observed states.
        counterpart: int64 [N, T], for each token of `latent` the token of `observed` with the same meaning; -1 if there is none.
        known: float32 [N], 1 for rows whose state the model can reach (Unroll.known), 0 for the others, which do not count.
    """
    present = (counterpart >= 0).float() * known[:, None]
    counterparts = observed.gather(1, counterpart.clamp_min(0)[..., None].expand(-1, -1, observed.shape[2]))
    cosine = network.similarity(latent, counterparts)
    return -((cosine * present).sum(1) / present.sum(1).clamp_min(1.0)).mean()


def _with_gradient_share(tensor: Tensor, share: float) -> Tensor:
    """Return a tensor with the same values, through which only the given share of the gradient passes."""
    return tensor * share + tensor.detach() * (1.0 - share)


def search_latent(
    network: MuZeroNetwork, search: Gumbel, observed: Arrays, actions: NDArray[np.int32], keys: NDArray[np.uint64]
) -> Choice:
    """Search R states in the learned model, and return the action to take in each, with the targets for the network.

    Args:
        network: The model.
        search: The tree search.
        observed: The network's features of the states, arrays [R, ...].
        actions: int32 [R, K], the legal actions, -1 after the last. The search is restricted to them at the root alone.
        keys: uint64 [R], the keys of the random numbers.
    """
    import numpy as np

    from corl.learning.episodes import Choice
    from corl.networks.muzero import Slots
    from corl.search.models import LearnedModel

    slots, model_actions = actions.shape[1], network.ids(actions)
    found = search.search(LearnedModel(Slots(network, slots)), (observed, model_actions), keys)
    slot = (model_actions == found.action[:, None]).argmax(axis=1)
    return Choice(slot, found.policy[:, :slots].astype(np.float32), found.value * observed["scale"])


def reanalyse(replay: Replay, at: NDArray[np.int64], network: MuZeroNetwork, search: Gumbel, keys: NDArray[np.uint64]) -> None:
    """Search the states of some moves of the replay again, and replace these moves' targets in the replay, in place.

    Args:
        replay: The replay.
        at: int64 [N], the numbers of the moves, ascending.
        network: The model, with its current weights.
        search: The tree search.
        keys: uint64 [N], the keys of the random numbers.
    """
    from corl.tokens import joined

    observed = joined(replay.collate_inputs(at).observed, network.extra)
    found = search_latent(network, search, observed, replay.field("actions", at, -1), keys)
    replay.put("policy", at, found.policy)
    replay.put("value", at, found.value)


def _search(recipe: MuZero) -> Gumbel:
    """Return the tree search with a recipe's options."""
    from corl.search.gumbel import Gumbel

    return Gumbel(recipe.simulations, recipe.considered, value_scale=recipe.value_scale)


def _player(recipe: MuZero, source: Source, config: dict[str, Any]) -> JobPlayer:
    """Return a player that searches the learned model of a MuZeroNetwork, on the CPU."""
    import numpy as np

    from corl.learning.demonstrations import Teacher, demonstrate
    from corl.learning.episodes import record
    from corl.learning.selfplay import load_weights
    from corl.networks.muzero import MuZeroNetwork

    network, search = MuZeroNetwork(**config).eval(), _search(recipe)

    def player(job: Job) -> Episodes:
        random = np.random.default_rng([source.seed, 1, job.first])
        instances = source.instances(job.first, job.count)
        if job.taught:
            teacher = Teacher(recipe.teacher, recipe.teacher_iterations)
            return demonstrate(network, source.problem, instances, teacher, None, random)
        load_weights(network, job.weights)
        rows = np.arange(len(instances))
        pool = source.problem.environment(instances, len(rows), name=network.environment)
        base = pool.reset(rows, rows, random.integers(0, 2**63, len(rows)).astype(np.uint64))

        def choose(decision: DecisionStep, observed: Arrays) -> Choice:
            keys = random.integers(0, 2**63, len(decision.rows)).astype(np.uint64)
            found = search_latent(network, search, observed, decision.actions, keys)
            return found._replace(policy=np.zeros_like(found.policy)) if job.explores else found

        return record(network, pool, rows, base, choose)

    return player
