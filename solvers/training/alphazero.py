"""Recipe `any.alphazero`: a policy and a value from self-play by Gumbel search in the environment itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.solvers.training.common import at_least, positive, taught

if TYPE_CHECKING:
    from corl.learning.selfplay import Episodes, Job
    from corl.learning.training import Training

__all__ = ["AlphaZero"]


@dataclass(frozen=True)
class AlphaZero(Recipe):
    """Gumbel AlphaZero (Danihelka et al., ICLR 2022) on instances of one size, new ones in every generation.

    A generation is `episodes` instances, each played once by search; `updates` optimiser steps on moves of the replay
    follow. The network is an AttentionPolicy.
    """

    generator: str = ""
    """Which of the problem's generators makes the instances; "" for its first."""
    size: int = 20
    """Its option of that name, at least 1."""
    features: str = ""
    """Which of the problem's features the network sees; "" for the first."""
    start: str = ""
    """A checkpoint with a value to go on from; "": a new network of the sizes below."""
    episodes: int = 128
    """Instances of a generation, at least 1."""
    updates: int = 16
    """Optimiser steps from one generation to the next, at least 1."""
    batch: int = 256
    """Moves that an optimiser step looks at, at least 1."""
    replay: int = 20_000
    """The latest moves kept, at least those of one generation."""
    simulations: int = 16
    """Of the search for every move, at least 1."""
    considered: int = 8
    """Actions tried at the root of a search, at least 1."""
    value_scale: float = 0.1
    """How much the values of a search count beside the network's logits (c_scale of the paper), from 0."""
    width: int = 64
    """Of the network's hidden vectors, a multiple of `heads`."""
    layers: int = 2
    """Of the network, at least 1."""
    heads: int = 4
    """Of its attention, at least 1."""
    grid: int = 0
    """How many of the last tokens a convolution sees before the attention does, from 0."""
    rate: float = 1e-3
    """Learning rate at first, above 0; it falls to 0 as a cosine."""
    value_weight: float = 1.0
    """What the squared error of the value counts for beside the policy's cross-entropy, from 0."""
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

    title: ClassVar[str] = "AlphaZero: self-play by Gumbel search in the environment"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of self-play before it"

    def __post_init__(self) -> None:
        counts = ("size", "episodes", "updates", "batch", "replay", "simulations", "considered", "width", "layers", "heads")
        at_least(self, counts, 1)
        at_least(self, ("watch", "grid"), 0)
        at_least(self, ("teacher_iterations",), 1)
        positive(self, ("value_scale", "value_weight"), zero=True)
        positive(self, ("rate",))
        if not 0.0 <= self.taught <= 1.0:
            raise UsageError(f"taught is {self.taught}; accepted: a number from 0 to 1")

    def train(self, training: Training) -> None:
        import torch

        from corl.learning import alphazero
        from corl.learning.replay import Replay
        from corl.learning.selfplay import SelfPlay, Source
        from corl.learning.watch import Watch, descend
        from corl.solvers.training.common import begin

        source = Source(training.problem, self.generator, {"size": self.size}, training.seed)
        network = begin(self, training, source)
        if not network.has_value:
            raise UsageError(f"start: {self.start} has no value, which the search needs")
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate)
        replay, watch = Replay(self.replay), Watch(training, source, self.watch, self.keep)
        training.manage(network=network, optimiser=optimiser, replay=replay, watch=watch)
        kind = network.architecture, network.config
        with SelfPlay(training, _player, self, training.problem.name, training.seed, *kind) as games:
            while training.budget():
                seen = {}
                if training.step % self.updates == 0:
                    number = training.step // self.updates
                    episodes = games.generation(network, number, self.episodes, taught(self, training))
                    replay.add(episodes.moves, episodes.lengths)
                    seen = watch(episodes, network)
                at = replay.sample(training.generator(2, training.step), self.batch)
                with training.autocast():
                    loss, terms = alphazero.loss(network, alphazero.draw(replay, at, training.device), self.value_weight)
                descend(optimiser, loss, self.rate, training.fraction)
                training.log(loss=loss.item(), **terms, **seen)
        if self.keep and self.watch:
            watch(None, network)
            watch.restore(network)
        training.save(network)


def _player(recipe: AlphaZero, problem_name: str, seed: int, architecture: str, config: dict[str, Any]) -> Any:
    """A Player (corl.learning.selfplay) that searches the environment with a network of that kind, on the CPU."""
    import numpy as np

    from corl import registry
    from corl.learning.selfplay import Choice, Situation, Source, demonstrate, load_weights, play
    from corl.search.gumbel import Gumbel
    from corl.search.models import SimulatorModel, rows_needed

    source = Source(registry.problem(problem_name), recipe.generator, {"size": recipe.size}, seed)
    network = registry.architecture(architecture)(**config).eval()
    search = Gumbel(recipe.simulations, recipe.considered, value_scale=recipe.value_scale)

    def player(job: Job) -> Episodes:
        random = np.random.default_rng([seed, 1, job.first])
        if job.taught:
            teacher = recipe.teacher, recipe.teacher_iterations
            return demonstrate(source.problem, source.instances(job.first, job.count), teacher, network.tokens, random)
        load_weights(network, job.weights)
        rows = np.arange(job.count)
        instances = source.instances(job.first, job.count)
        environment = source.problem.environment(instances, rows_needed(job.count, recipe.simulations))
        base = environment.reset(rows, rows, random.integers(0, 2**63, job.count).astype(np.uint64))
        model = SimulatorModel(environment, network, first=job.count)

        def choose(situation: Situation) -> Choice:
            found = search.search(model, situation.rows, random.integers(0, 2**63, len(situation.rows)).astype(np.uint64))
            slot = (situation.actions == found.action[:, None]).argmax(axis=1)
            return Choice(slot, found.policy.astype(np.float32), found.value)

        return play(environment, rows, base, network.tokens, choose)

    return player
