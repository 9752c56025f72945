"""LearnedPolicy: builds its actions pick by pick with a network from a checkpoint, optionally with a tree search.

A pick sets one entry of a step's action; commit ends the step (see `corl.problems.bandits.environment`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.deadline import seconds_left
from corl.errors import CorlError, InputError
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import BanditPolicy, read_array, read_integer

if TYPE_CHECKING:
    from corl.decoding import CountedEvaluator
    from corl.decoding.planning import Chooser
    from corl.problems.bandits.environment import BanditEnvironment

__all__ = ["SEARCHES", "LearnedPolicy"]

SEARCHES = ("", "gumbel", "puct")
"""Accepted as `LearnedPolicy.search`."""
_AT_ONCE = 64  # states of the arms for which actions are built together
_MAX_SIMULATIONS = 1 << 14


@dataclass(frozen=True, eq=False)
class LearnedPolicy(BanditPolicy):
    """Take the picks that a network finds most likely or, with a search, those that the search chooses, until commit.

    The action is a function of the arms' states and the time: a search uses its own random numbers, not those of the episode.
    """

    instance: BanditInstance
    checkpoint: str
    """The name of a shipped policy, or a file. JSON contains this name, not the weights."""
    digest: str
    """The digest of the checkpoint; a checkpoint with another digest is refused."""
    search: str = ""
    """The tree search before each pick: "" for none, "gumbel" or "puct" (corl.search)."""
    simulations: int = 0
    """The number of simulations of each search."""
    imagined: bool = False
    """Whether searches use the network's own model (MuZero) instead of the environment."""
    value_scale: float = 0.02
    """The weight of values relative to the network's logits in a Gumbel search. It is smaller than the 0.1 of deterministic
    problems because a value comes from one realisation of the random numbers: with 0.1, a search of 8 simulations earned up to
    18 % less than the network alone, with 0.02 or less no less."""

    kind = "learned"

    def actions(self, states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """See BanditPolicy.actions; the keys are not used."""
        from corl.networks.threads import one_thread

        distinct, inverse = np.unique(states, axis=0, return_inverse=True)
        time = min(time, self.instance.horizon - 1)
        with one_thread():
            found = [self._picked(distinct[begin : begin + _AT_ONCE], time) for begin in range(0, len(distinct), _AT_ONCE)]
        return np.concatenate(found)[inverse.reshape(-1)]

    def _picked(self, arms: NDArray[np.int32], time: int) -> NDArray[np.int8]:
        """Return the actions, int8 [R, action_size], for the arms' states `arms`, int32 [R, J], at a time."""
        from corl.decoding.noise import stream_keys

        environment, choose = self._player(len(arms))
        rows, number = np.arange(len(arms)), 0
        environment.place(rows, arms, time)
        while rows.size:
            listed = environment.actions(rows)
            slots = np.zeros(len(rows), np.int64)
            (undecided,) = np.nonzero((listed >= 0).sum(axis=1) > 1)
            if undecided.size:
                keys = stream_keys(np.full(len(undecided), time), number)
                slots[undecided] = choose(rows[undecided], listed[undecided], keys).slots
            environment.step(rows, rows, np.take_along_axis(listed, slots[:, None], axis=1)[:, 0])
            rows, number = rows[environment.state.time[rows] == time], number + 1
        chosen: NDArray[np.int8] = environment.state.chosen[: len(arms), time].copy()
        return chosen

    def _player(self, count: int) -> tuple[BanditEnvironment, Chooser]:
        """Return an environment for `count` states, and the function that chooses one of the listed actions for each row."""
        from corl.decoding import CountedEvaluator, LearnedPlanning, Planning
        from corl.decoding.planning import Chosen
        from corl.networks.checkpoints import load_cached
        from corl.problems.bandits.environment import BanditEnvironment
        from corl.search.gumbel import Gumbel
        from corl.search.puct import Puct

        network, _ = load_cached(self.checkpoint)
        if not self.search:
            environment = BanditEnvironment([self.instance], count)
            evaluator = CountedEvaluator(environment, network, ask=_in_time)
            return environment, lambda rows, listed, keys: Chosen(*_likeliest(evaluator, rows, listed))
        search: Any = Puct(self.simulations, noise=0.0)
        if self.search == "gumbel":
            search = Gumbel(self.simulations, noise=0.0, value_scale=self.value_scale)
        planning = LearnedPlanning(search) if self.imagined else Planning(search, rollouts=not network.has_value)
        environment = BanditEnvironment([self.instance], count * planning.rows)
        return environment, planning.chooser(CountedEvaluator(environment, network, ask=_in_time), count)

    def to_json(self) -> dict[str, Any]:
        """Return all fields but the weights."""
        names = ("checkpoint", "digest", "search", "simulations", "imagined", "value_scale")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_json(cls, instance: BanditInstance, values: Mapping[str, Any]) -> LearnedPolicy:
        """See BanditPolicy.from_json; the checkpoint must exist."""
        from corl.networks.checkpoints import load_cached

        name, digest, search, imagined = (values.get(key) for key in ("checkpoint", "digest", "search", "imagined"))
        if not isinstance(name, str) or not name:
            raise InputError("accepted: a shipped policy's name or a file", field="policy.checkpoint")
        if search not in SEARCHES:
            raise InputError(f"accepted: {', '.join(repr(each) for each in SEARCHES)}", field="policy.search")
        if not isinstance(imagined, bool):
            raise InputError("accepted: true or false", field="policy.imagined")
        try:
            network, header = load_cached(name)
        except (CorlError, OSError) as error:
            raise InputError(str(error), field="policy.checkpoint") from error
        if header["digest"] != digest:
            raise InputError(f"{name} is another network now; accepted: the one of the solution", field="policy.digest")
        if getattr(network, "problem", "") != "bandits" or (imagined and network.architecture != "muzero"):
            raise InputError(f"{name} holds no such policy for bandits", field="policy.checkpoint")
        simulations, scale = (
            read_integer(values, "simulations", int(search != ""), _MAX_SIMULATIONS),
            read_array(values, "value_scale"),
        )
        if scale.shape != () or scale < 0.0:
            raise InputError("accepted: a number from 0", field="policy.value_scale")
        return cls(instance, name, header["digest"], search, simulations, imagined, float(scale))


def _in_time(rows: int) -> bool:
    """Return True; raises OutOfTime if the deadline has passed. The evaluator asks before it evaluates rows."""
    return seconds_left() > 0.0


def _likeliest(
    evaluator: CountedEvaluator, rows: NDArray[np.int64], listed: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the slot of the most likely action in each row, int64 [R], and its log probability, float64 [R]."""
    scores = evaluator.log_probabilities(rows, listed)
    return scores.argmax(axis=1), scores.max(axis=1)
