"""Self-play: whole episodes by some search over a batch of instances, as arrays of moves for a Replay.

    with SelfPlay(training, make_player, recipe, ...) as games:     # make_player(recipe, ...) -> Player, in every worker
        episodes = games.generation(network, number, 128)
        replay.add(episodes.moves, episodes.lengths)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.learning.workers import Workers
from corl.networks.tokens import Tokens

if TYPE_CHECKING:
    from torch import nn

    from corl.learning.training import Training
    from corl.problem import Problem

__all__ = [
    "Choice", "Episodes", "Job", "Player", "SelfPlay", "Situation", "Source", "demonstrate", "load_weights", "play",
    "random_choice", "token_sizes",
]  # fmt: skip

_PART = 64  # episodes that a worker plays at once; a generation is cut into the same parts whatever the number of workers


class Choice(NamedTuple):
    """What a search makes of R states."""

    slot: NDArray[np.integer]
    """[R] the slot of the action to take."""
    policy: NDArray[np.float32]
    """[R, K] the improved policy, the target of the network's: probabilities, 0 in empty slots."""
    value: NDArray[np.float64]
    """[R] the value that the search gives the state, in the environment's units."""


class Episodes(NamedTuple):
    """E episodes of self-play."""

    moves: dict[str, NDArray[Any]]
    """The moves of episode 0 from its first to its last, then those of episode 1 ..., [sum of lengths, ...]: x, mask, pairs
    (where there are any) and scale as in Tokens; actions int32 [., K]; slot; policy and value as in Choice; reward and
    come, the sum of the rewards from this one on, in the environment's units."""
    lengths: NDArray[np.int64]
    """[E]"""
    objective: NDArray[np.float64]
    """[E] base + rewards: the objective of the solution, its negative where the problem minimises."""


class Situation(NamedTuple):
    """R states in which a choice is to be made."""

    rows: NDArray[np.int64]
    """[R] of the environment's pool."""
    actions: NDArray[np.int32]
    """[R, K] as the environment lists them."""
    tokens: Tokens


def play(
    environment: Environment,
    rows: NDArray[np.int64],
    base: NDArray[np.float64],
    see: Callable[[dict[str, NDArray[Any]]], Tokens],
    choose: Callable[[Situation], Choice],
) -> Episodes:
    """Play the episodes that stand in `rows` [E] to their ends. `base` is what `reset` returned for them.

    `see(observation)` makes the tokens, `choose` the choices for those of `rows` that go on.
    """
    moves: list[dict[str, NDArray[Any]]] = []
    episode = np.arange(len(rows))
    while True:
        actions = environment.actions(rows[episode])
        live = (actions >= 0).any(axis=1)
        episode, actions = episode[live], actions[live]
        if not len(episode):
            break
        at = rows[episode]
        tokens = see(environment.observe(at))
        choice = choose(Situation(at, actions, tokens))
        reward = environment.step(at, at, actions[np.arange(len(at)), choice.slot])
        move: dict[str, NDArray[Any]] = {"episode": episode, "actions": actions, "reward": reward, **choice._asdict()}
        moves.append(move | {name: array for name, array in tokens._asdict().items() if array is not None})
    return _laid_out(moves, base)


def _laid_out(steps: list[dict[str, NDArray[Any]]], base: NDArray[np.float64]) -> Episodes:
    """Step by step -> episode by episode."""
    lengths = np.zeros(len(base), np.int64)
    if not steps:
        return Episodes({}, lengths, base)
    moves = {name: np.concatenate([step[name] for step in steps]) for name in steps[0]}
    order = np.argsort(moves["episode"], kind="stable")
    moves = {name: array[order] for name, array in moves.items()}
    lengths += np.bincount(moves.pop("episode"), minlength=len(base))
    moves["come"] = _sums_to_come(moves["reward"], lengths)
    first = np.cumsum(lengths) - lengths
    some = lengths > 0
    objective = base.copy()
    objective[some] += moves["come"][first[some]]
    return Episodes(moves, lengths, objective)


def _sums_to_come(reward: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of the rewards from each move to the end of its episode; both arrays as in Episodes."""
    come = np.empty_like(reward)
    end = 0
    for length in lengths:
        come[end : end + length] = np.cumsum(reward[end : end + length][::-1])[::-1]
        end += length
    return come


class Source(NamedTuple):
    """Where the instances of a training come from: all are a function of the seed and their number."""

    problem: Problem
    generator: str
    """A name among the problem's; "" for the first."""
    options: Mapping[str, Any]
    """Keyword arguments of the generator."""
    seed: int

    def instances(self, first: int, count: int) -> list[Any]:
        """Instances number first, first + 1, ... Raises UsageError for a generator or an option that there is not."""
        from corl.options import call

        known = self.problem.generators
        name = self.generator or next(iter(known), "")
        if name not in known:
            raise UsageError(f"{self.problem.name} has no generator {name!r}; accepted: {', '.join(known) or 'none'}")
        seeds = [int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0]) for number in range(first, first + count)]
        return [call(known[name], {**self.options, "seed": seed}) for seed in seeds]


def token_sizes(problem: Problem, features: str, instance: Any) -> dict[str, Any]:
    """The arguments "problem", "features", "inputs", "pairs" and "extra" of a network that sees such instances.

    `features` is a name among the problem's, "" for the first. Raises UsageError where there is none.
    """
    name = features or next(iter(problem.features), "")
    if name not in problem.features:
        raise UsageError(f"{problem.name} has no features {name!r}; accepted: {', '.join(problem.features) or 'none'}")
    environment = problem.environment([instance], 1)
    environment.reset([0], [0])
    tokens = problem.features[name](environment.observe([0]))
    pairs = 0 if tokens.pairs is None else tokens.pairs.shape[3]
    extra = tokens.x.shape[1] - environment.width
    return {"problem": problem.name, "features": name, "inputs": tokens.x.shape[2], "pairs": pairs, "extra": extra}


def random_choice(random: np.random.Generator) -> Callable[[Situation], Choice]:
    """A `choose` that takes any action, each as likely."""

    def choose(situation: Situation) -> Choice:
        there = situation.actions >= 0
        slot = np.where(there, random.random(there.shape), -1.0).argmax(axis=1)
        policy = (there / there.sum(axis=1, keepdims=True)).astype(np.float32)
        return Choice(slot, policy, np.zeros(len(slot)))

    return choose


def demonstrate(
    problem: Problem,
    instances: list[Any],
    teacher: tuple[str, int],
    see: Callable[[dict[str, NDArray[Any]]], Tokens],
    random: np.random.Generator,
) -> Episodes:
    """Episodes that lead to the solutions of a teacher, (solver, iterations), by `Problem.decisions`.

    The policy of a move is what was done, its value what came. An instance that the teacher does not solve is played at random.
    """
    import corl
    from corl import registry

    limit: dict[str, Any] = {"iterations": teacher[1]} if registry.solver(problem.name, teacher[0]).iteration else {}
    rows, keys = np.arange(len(instances)), np.array([int(random.integers(problem.starts(one))) for one in instances], np.uint64)
    plans: list[NDArray[np.integer]] = []
    for given, key in zip(instances, keys.tolist()):
        seed = int(random.integers(2**31))
        found = corl.solve(given, problem=problem.name, solver=teacher[0], seed=seed, **limit).solution
        plans.append(np.zeros(0, np.int64) if found is None else problem.decisions(given, found, key))
    environment, step = problem.environment(instances, len(rows)), 0

    def choose(situation: Situation) -> Choice:
        nonlocal step
        wished = np.array([plans[row][step] if step < len(plans[row]) else -1 for row in situation.rows])
        step += 1
        hit = situation.actions == wished[:, None]
        known = hit.any(axis=1)
        drawn = random_choice(random)(situation)
        slot = np.where(known, hit.argmax(axis=1), drawn.slot)
        policy = np.where(known[:, None], hit, drawn.policy).astype(np.float32)
        return Choice(slot, policy, np.zeros(len(slot)))

    episodes = play(environment, rows, environment.reset(rows, rows, keys), see, choose)
    if episodes.moves:
        episodes.moves["value"] = episodes.moves["come"].copy()
    return episodes


@dataclass(frozen=True)
class Job:
    """What a player is asked for: `count` episodes, the first of which is number `first` of the training."""

    weights: dict[str, NDArray[Any]]
    first: int
    count: int
    taught: bool = False
    """Whether a teacher plays (`demonstrate`) and not the network."""


def load_weights(network: nn.Module, weights: Mapping[str, NDArray[Any]]) -> None:
    """Give a network the weights of a job."""
    import torch

    network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})


class Player(Protocol):
    """Plays; what it does is a function of the job alone, on one machine."""

    def __call__(self, job: Job, /) -> Episodes: ...


class SelfPlay:
    """Generations of episodes, by the training's workers while it waits; by this process where it has one worker."""

    def __init__(self, training: Training, make: Callable[..., Player], *arguments: Any) -> None:
        count = training.workers if training.workers > 1 else 0
        self._workers = Workers(count, make, *arguments, executor=training.executor)

    def __enter__(self) -> SelfPlay:
        return self

    def __exit__(self, *exception: object) -> None:
        self._workers.__exit__(*exception)

    def generation(self, network: nn.Module, number: int, episodes: int, taught: bool = False) -> Episodes:
        """Episodes number * episodes, ... by a network as it is now, or by the teacher; any number of workers gives the same."""
        weights = {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}
        cuts = [*range(0, episodes, _PART), episodes]
        jobs = [Job(weights, number * episodes + begin, end - begin, taught) for begin, end in pairwise(cuts)]
        parts: list[Episodes] = self._workers.map(jobs)
        played = [part.moves for part in parts if part.moves]
        moves = {name: np.concatenate([part[name] for part in played]) for name in (played[0] if played else ())}
        lengths, objective = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        return Episodes(moves, lengths, objective)
