"""Recipe `any.muzero`: a model of the problem learned from play, and a policy and a value from searching that model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.options import option
from corl.solvers.training.common import PolicyRecipe, check_learned, check_teacher, futile, source_of, taught

if TYPE_CHECKING:
    from corl.decoding.play import Turn
    from corl.learning.episodes import Episodes
    from corl.learning.selfplay import Job
    from corl.learning.session import Training
    from corl.learning.source import Source
    from corl.networks.policy import Arrays

__all__ = ["MuZero"]

_RANDOM = 64  # episodes of random play, and of the teacher, that show what values and rewards there are


@dataclass(frozen=True)
class MuZero(PolicyRecipe):
    """MuZero (Schrittwieser et al., Nature 2020) with Gumbel search, on new instances in every generation.

    The environment makes the moves and nothing else: searches see the observation at their root and the learned model below.
    A generation is `episodes` instances, each played once; `updates` optimiser steps follow. The network is a MuZeroNetwork.
    """

    network: Literal["muzero"] = option("muzero", "The architecture.")
    episodes: int = option(128, "Instances of a generation.", low=1, scale="log")
    updates: int = option(16, "Optimiser steps from one generation to the next.", low=1, scale="log")
    batch: int = option(64, "Stretches of moves that an optimiser step looks at.", low=1, scale="log")
    replay: int = option(20_000, "The latest moves kept, at least those of one generation.", low=1, scale="log")
    simulations: int = option(16, "Of the search for every move.", low=1, scale="log")
    considered: int = option(8, "Actions tried at the root of a search.", low=1)
    value_scale: float = option(0.1, "Weight of a search's values beside the network's logits (c_scale of Gumbel MuZero).", low=0)
    unroll: int = option(5, "Moves over which the model is unrolled in training (K of the paper).", low=1)
    td_steps: int = option(10, "Rewards that a value target adds up before it takes the value of a search.", low=1)
    reanalyse: float = option(0.5, "Moves of the replay that are searched anew for each new move.", low=0)
    dynamics_layers: int = option(1, "Of the dynamics; `layers` are those of the representation.", low=1)
    bins: int = option(64, "Of the histograms of value and reward.", low=2)
    grid: int = option(0, "How many of the last tokens a convolution sees before the attention does.", low=0)
    value_weight: float = option(
        0.25, "Weight of the value's cross-entropy beside the policy's; 0.25 as in the paper's Reanalyze.", low=0
    )
    reward_weight: float = option(1.0, "Weight of the reward's cross-entropy.", low=0)
    consistency: float = option(1.0, "Weight of the agreement between imagined and observed latent states.", low=0)
    teacher: str = option("", "A solver that iterations can limit, whose solutions are played first; empty: none.")
    teacher_iterations: int = option(100, "The teacher's limit for an instance.", low=1, scale="log")
    taught: float = option(0.3, "The share of the training in which the teacher plays instead of the search.", low=0, high=1)
    explored: float = option(
        0.5,
        "While the teacher plays, the share of a generation that the search plays all the same: the model then sees what other "
        "actions bring, and the policy does not imitate them.",
        low=0,
        high=1,
    )
    keep: bool = option(False, "Whether to save the weights that did best on the watched instances, not the last ones.")

    title: ClassVar[str] = "MuZero: self-play by Gumbel search in a learned model"
    step: ClassVar[str] = "one optimiser step; with every `updates`-th a generation of self-play before it"

    def train(self, training: Training) -> None:

        from corl.learning import muzero
        from corl.learning.optimise import gradient_step, new_optimiser
        from corl.learning.replay import Replay
        from corl.learning.selfplay import SelfPlay
        from corl.learning.validation import Validation
        from corl.networks.muzero import MuZeroNetwork

        check_teacher(self, training.problem.name)
        source = source_of(self, training.problem, training.seed)
        network = MuZeroNetwork(**self._config(source)).to(training.device)
        optimiser = new_optimiser(network, self.rate)
        replay, validate = Replay(self.replay), Validation(source, self.watch, self.keep)
        weights = muzero.Weights(self.value_weight, self.reward_weight, self.consistency)
        training.manage(network=network, optimiser=optimiser, replay=replay, watch=validate)
        with SelfPlay(training, _player, self, source, network.config) as games:
            while training.budget():
                seen, random = {}, training.generator(2, training.step)
                if training.step % self.updates == 0:
                    number = training.step // self.updates
                    teaching = taught(self, training)
                    share = 1.0 - self.explored if teaching else 0.0
                    episodes = games.generation(network, number, self.episodes, share)
                    if not teaching:
                        self._reanalyse(network, replay, sum(int(part.lengths.sum()) for part in episodes), random)
                    for part in episodes:
                        replay.add(part)
                    seen = validate(network, episodes)
                if replay.size:
                    at = replay.sample(random, self.batch)
                    batch = muzero.unroll(replay, at, self.unroll, self.td_steps, network.extra, random, network.kinds)
                    with training.autocast():
                        loss, terms = muzero.loss(network, batch, weights, training.device)
                    gradient_step(optimiser, loss, self.rate, training.fraction)
                    seen = {"loss": loss.item(), **terms, **seen}
                else:
                    check_learned(training, optimiser)
                training.log(**seen)
        check_learned(training, optimiser, over=True)
        if self.keep and self.watch:
            validate(network)
            validate.restore(network)
        training.save(network)

    def _config(self, source: Source) -> dict[str, Any]:
        """The network's arguments: sizes of the tokens, and histograms that hold what random play and the teacher show."""
        import numpy as np

        from corl.learning.episodes import random_choice, record
        from corl.learning.imitation import Teacher, demonstrate
        from corl.learning.muzero import spans
        from corl.learning.replay import Replay
        from corl.networks.muzero import MuZeroNetwork
        from corl.networks.tokens import token_sizes

        instances, rows = source.instances(0, _RANDOM), np.arange(_RANDOM)
        sizes = token_sizes(source.problem, self.features, self.environment, instances[0])
        environment = source.problem.environment(instances, _RANDOM, name=self.environment)
        random, base = np.random.default_rng([source.seed, 3]), environment.reset(rows, rows)
        eyes = MuZeroNetwork(**sizes, width=1, heads=1, layers=1, feedforward=1)
        episodes = record(eyes, environment, rows, base, random_choice(random))
        if not episodes.moves:
            raise futile(f"{_RANDOM} episodes of random play")
        parts = [episodes]
        if self.teacher:
            teacher = Teacher(self.teacher, self.teacher_iterations)
            parts.append(demonstrate(eyes, source.problem, instances, teacher, None, random))
        seen = Replay(sum(int(part.lengths.sum()) for part in parts))
        for part in parts:
            seen.add(part)
        shape = {"width": self.width, "layers": self.layers, "dynamics_layers": self.dynamics_layers, "heads": self.heads}
        shape |= {"grid": self.grid, "kinds": environment.kinds}
        return {**sizes, **shape, "feedforward": 2 * self.width, "bins": self.bins, **spans(seen, self.unroll, eyes.extra)}

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


def _player(recipe: MuZero, source: Source, config: dict[str, Any]) -> Any:
    """A Player (corl.learning.selfplay) that searches the model that a MuZeroNetwork has learned, on the CPU."""
    import numpy as np

    from corl.learning.episodes import Choice, record
    from corl.learning.imitation import Teacher, demonstrate
    from corl.learning.muzero import search_latent
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

        def choose(turn: Turn, seen: Arrays) -> Choice:
            keys = random.integers(0, 2**63, len(turn.rows)).astype(np.uint64)
            found = search_latent(network, search, seen, turn.actions, keys)
            return found._replace(policy=np.zeros_like(found.policy)) if job.explores else found

        return record(network, pool, rows, base, choose)

    return player
