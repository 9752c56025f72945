"""Recipe `any.muzero`: a model of the problem learned from play, and a policy and a value from searching that model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.solvers.training.common import at_least, positive, taught

if TYPE_CHECKING:
    from corl.learning.selfplay import Episodes, Job, Source
    from corl.learning.training import Training

__all__ = ["MuZero"]

_RANDOM = 64  # episodes of random play that show what values and rewards there are


@dataclass(frozen=True)
class MuZero(Recipe):
    """MuZero (Schrittwieser et al., Nature 2020) with Gumbel search, on instances of one size, new ones in every generation.

    The environment makes the moves and nothing else: searches see the observation at their root and the learned model below.
    A generation is `episodes` instances, each played once; `updates` optimiser steps follow. The network is a MuZeroNetwork.
    """

    generator: str = ""
    """Which of the problem's generators makes the instances; "" for its first."""
    size: int = 20
    """Its option of that name, at least 1."""
    features: str = ""
    """Which of the problem's features the network sees; "" for the first."""
    episodes: int = 128
    """Instances of a generation, at least 1."""
    updates: int = 16
    """Optimiser steps from one generation to the next, at least 1."""
    batch: int = 64
    """Stretches of moves that an optimiser step looks at, at least 1."""
    replay: int = 20_000
    """The latest moves kept, at least those of one generation."""
    simulations: int = 16
    """Of the search for every move, at least 1."""
    considered: int = 8
    """Actions tried at the root of a search, at least 1."""
    value_scale: float = 0.1
    """How much the values of a search count beside the network's logits (c_scale of the Gumbel paper), from 0."""
    unroll: int = 5
    """K, moves over which the model is unrolled in training, at least 1."""
    td_steps: int = 10
    """Rewards that a value target adds up before it takes the value of a search, at least 1."""
    reanalyse: float = 0.5
    """Moves of the replay that are searched anew for each new move, from 0."""
    width: int = 64
    """Of the network's latent vectors, a multiple of `heads`."""
    layers: int = 2
    """Of the representation, at least 1."""
    dynamics_layers: int = 1
    """Of the dynamics, at least 1."""
    heads: int = 4
    """Of the attention, at least 1."""
    bins: int = 64
    """Of the histograms of value and reward, at least 2."""
    grid: int = 0
    """How many of the last tokens a convolution sees before the attention does, from 0."""
    rate: float = 1e-3
    """Learning rate at first, above 0; it falls to 0 as a cosine."""
    value_weight: float = 0.25
    """What the value's cross-entropy counts for beside the policy's, from 0 (0.25 as in the paper's reanalyse)."""
    reward_weight: float = 1.0
    """What the reward's counts for, from 0."""
    consistency: float = 1.0
    """What the likeness of imagined and observed latent states counts for, from 0."""
    teacher: str = ""
    """A solver whose solutions are played first (corl list solvers); "": none."""
    teacher_iterations: int = 100
    """Its limit for an instance, at least 1."""
    taught: float = 0.3
    """The share of the training in which the teacher plays instead of the search, 0 to 1."""
    watch: int = 64
    """Instances never trained on that the policy alone solves after every generation, for the curve "greedy"; 0 for none."""
    keep: bool = False
    """Whether to save the weights that did best on these, and not the last ones."""

    title: ClassVar[str] = "MuZero: self-play by Gumbel search in a learned model"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of self-play before it"

    def __post_init__(self) -> None:
        counts = ("size", "episodes", "updates", "batch", "replay", "simulations", "considered", "unroll", "td_steps", "width")
        at_least(self, (*counts, "layers", "dynamics_layers", "heads"), 1)
        at_least(self, ("watch", "grid"), 0)
        at_least(self, ("teacher_iterations",), 1)
        positive(self, ("value_scale", "reanalyse", "value_weight", "reward_weight", "consistency"), zero=True)
        positive(self, ("rate",))
        if not 0.0 <= self.taught <= 1.0:
            raise UsageError(f"taught is {self.taught}; accepted: a number from 0 to 1")
        if self.bins < 2:
            raise UsageError(f"bins is {self.bins}; accepted: an integer from 2")

    def train(self, training: Training) -> None:
        import torch

        from corl.learning import muzero
        from corl.learning.replay import Replay
        from corl.learning.selfplay import SelfPlay, Source
        from corl.learning.watch import Watch, descend
        from corl.networks.muzero import MuZeroNetwork

        source = Source(training.problem, self.generator, {"size": self.size}, training.seed)
        network = MuZeroNetwork(**self._config(source)).to(training.device)
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate)
        replay, watch = Replay(self.replay), Watch(training, source, self.watch, self.keep)
        weights = muzero.Weights(self.value_weight, self.reward_weight, self.consistency)
        training.manage(network=network, optimiser=optimiser, replay=replay, watch=watch)
        with SelfPlay(training, _player, self, training.problem.name, training.seed, network.config) as games:
            while training.budget():
                seen, random = {}, training.generator(2, training.step)
                if training.step % self.updates == 0:
                    number = training.step // self.updates
                    episodes = games.generation(network, number, self.episodes, taught(self, training))
                    if not taught(self, training):
                        self._reanalyse(network, replay, len(episodes.moves["slot"]), random)
                    replay.add(episodes.moves, episodes.lengths)
                    seen = watch(episodes, network)
                at = replay.sample(random, self.batch)
                batch = muzero.unroll(replay, at, self.unroll, self.td_steps, random)
                with training.autocast():
                    loss, terms = muzero.loss(network, batch, weights, training.device)
                descend(optimiser, loss, self.rate, training.fraction)
                training.log(loss=loss.item(), **terms, **seen)
        if self.keep and self.watch:
            watch(None, network)
            watch.restore(network)
        training.save(network)

    def _config(self, source: Source) -> dict[str, Any]:
        """The network's arguments: sizes of the tokens, and histograms that hold what random play shows."""
        import numpy as np

        from corl.learning.muzero import spans
        from corl.learning.replay import Replay
        from corl.learning.selfplay import play, random_choice, token_sizes

        instances = source.instances(0, _RANDOM)
        sizes = token_sizes(source.problem, self.features, instances[0])
        environment, rows = source.problem.environment(instances, _RANDOM), np.arange(_RANDOM)
        random = np.random.default_rng([source.seed, 3])
        base = environment.reset(rows, rows)
        episodes = play(environment, rows, base, source.problem.features[sizes["features"]], random_choice(random))
        seen = Replay(max(1, int(episodes.lengths.sum())))
        seen.add(episodes.moves, episodes.lengths)
        shape = {"width": self.width, "layers": self.layers, "dynamics_layers": self.dynamics_layers, "heads": self.heads}
        shape["grid"] = self.grid
        return {**sizes, **shape, "feedforward": 2 * self.width, "bins": self.bins, **spans(seen, self.unroll)}

    def _reanalyse(self, network: Any, replay: Any, count: int, random: Any) -> None:
        """Search `reanalyse` * count moves of the replay anew, as many at a time as there are episodes."""
        from corl.learning.muzero import reanalyse

        if not replay.size:
            return
        at = replay.sample(random, int(self.reanalyse * count))
        network.eval()
        for begin in range(0, len(at), self.episodes):
            part = at[begin : begin + self.episodes]
            reanalyse(replay, part, network, _search(self), random.integers(0, 2**63, len(part)).astype("uint64"))
        network.train()


def _search(recipe: MuZero) -> Any:
    from corl.search.gumbel import Gumbel

    return Gumbel(recipe.simulations, recipe.considered, value_scale=recipe.value_scale)


def _player(recipe: MuZero, problem_name: str, seed: int, config: dict[str, Any]) -> Any:
    """A Player (corl.learning.selfplay) that searches the model that a MuZeroNetwork has learned, on the CPU."""
    import numpy as np

    from corl.learning.muzero import search_latent
    from corl.learning.selfplay import Choice, Situation, Source, demonstrate, load_weights, play
    from corl.networks.muzero import MuZeroNetwork
    from corl.registry import problem

    source = Source(problem(problem_name), recipe.generator, {"size": recipe.size}, seed)
    network, search = MuZeroNetwork(**config).eval(), _search(recipe)

    def player(job: Job) -> Episodes:
        random = np.random.default_rng([seed, 1, job.first])
        if job.taught:
            teacher = recipe.teacher, recipe.teacher_iterations
            return demonstrate(source.problem, source.instances(job.first, job.count), teacher, network.tokens, random)
        load_weights(network, job.weights)
        rows = np.arange(job.count)
        environment = source.problem.environment(source.instances(job.first, job.count), job.count)
        base = environment.reset(rows, rows, random.integers(0, 2**63, job.count).astype(np.uint64))

        def choose(situation: Situation) -> Choice:
            keys = random.integers(0, 2**63, len(situation.rows)).astype(np.uint64)
            return Choice(*search_latent(network, search, situation.tokens, situation.actions, keys))

        return play(environment, rows, base, network.tokens, choose)

    return player
