"""LearnedPolicy: a network from a checkpoint that builds its action pick by pick, optionally by a tree search."""

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
_AT_ONCE = 64  # situations that a network evaluates together
_MOST = 1 << 14  # the largest number of simulations of a search


@dataclass(frozen=True, eq=False)
class LearnedPolicy(BanditPolicy):
    """The most likely picks of a network, up to commit; or those of a search before each pick.

    The action is a function of the arms' states and of the time; searches draw their own random numbers, not the episode's.
    """

    instance: BanditInstance
    checkpoint: str
    """A shipped policy's name or a file. JSON contains this name, not the weights."""
    digest: str
    """The digest of the checkpoint; another one is refused."""
    search: str = ""
    """"": none; "gumbel" or "puct" (corl.search)."""
    simulations: int = 0
    imagined: bool = False
    """Whether searches use the network's own model (MuZero) instead of the environment."""
    value_scale: float = 0.02
    """The weight of values relative to the network's logits in a Gumbel search. A value comes from one realisation of the random
    numbers: with 0.1, as in deterministic problems, a search of 8 simulations lost up to 18 % of what its network earns alone,
    with 0.02 or less nothing."""

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
        """Return the actions, int8 [R, action_size], in the situations `arms` [R, J] at a time."""
        from corl.decoding.noise import stream_keys

        environment, choose = self._player(len(arms))
        rows, number = np.arange(len(arms)), 0
        environment.place(rows, arms, time)
        while rows.size:
            listed = environment.actions(rows)
            slots = np.zeros(len(rows), np.int64)
            (several,) = np.nonzero((listed >= 0).sum(axis=1) > 1)
            if several.size:
                keys = stream_keys(np.full(len(several), time), number)
                slots[several] = choose(rows[several], listed[several], keys).slots
            environment.step(rows, rows, np.take_along_axis(listed, slots[:, None], axis=1)[:, 0])
            rows, number = rows[environment.state.time[rows] == time], number + 1
        chosen: NDArray[np.int8] = environment.state.chosen[: len(arms), time].copy()
        return chosen

    def _player(self, count: int) -> tuple[BanditEnvironment, Chooser]:
        """Return a pool for `count` situations, and the function that chooses in it."""
        from corl.decoding import CountedEvaluator, LearnedPlanning, Planning
        from corl.decoding.planning import Chosen
        from corl.networks.checkpoints import loaded
        from corl.problems.bandits.environment import BanditEnvironment
        from corl.search.gumbel import Gumbel
        from corl.search.puct import Puct

        network, _ = loaded(self.checkpoint)
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
        from corl.networks.checkpoints import loaded

        name, digest, search, imagined = (values.get(key) for key in ("checkpoint", "digest", "search", "imagined"))
        if not isinstance(name, str) or not name:
            raise InputError("accepted: a shipped policy's name or a file", field="policy.checkpoint")
        if search not in SEARCHES:
            raise InputError(f"accepted: {', '.join(repr(each) for each in SEARCHES)}", field="policy.search")
        if not isinstance(imagined, bool):
            raise InputError("accepted: true or false", field="policy.imagined")
        try:
            network, header = loaded(name)
        except (CorlError, OSError) as error:
            raise InputError(str(error), field="policy.checkpoint") from error
        if header["digest"] != digest:
            raise InputError(f"{name} is another network now; accepted: the one of the solution", field="policy.digest")
        if getattr(network, "problem", "") != "bandits" or (imagined and network.architecture != "muzero"):
            raise InputError(f"{name} holds no such policy for bandits", field="policy.checkpoint")
        simulations, scale = read_integer(values, "simulations", int(search != ""), _MOST), read_array(values, "value_scale")
        if scale.shape != () or scale < 0.0:
            raise InputError("accepted: a number from 0", field="policy.value_scale")
        return cls(instance, name, header["digest"], search, simulations, imagined, float(scale))


def _in_time(rows: int) -> bool:
    """Return whether there is time for the network to evaluate rows. Raises OutOfTime."""
    return seconds_left() > 0.0


def _likeliest(
    evaluator: CountedEvaluator, rows: NDArray[np.int64], listed: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the slot of the most likely action in each row, and its log probability."""
    scores = evaluator.log_probabilities(rows, listed)
    return scores.argmax(axis=1), scores.max(axis=1)
