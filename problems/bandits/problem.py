"""Bandits: the `corl.Problem` of restless bandits whose actions are coupled by a constraint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import InputError
from corl.files.json_instances import Field, plain
from corl.problems.bandits.generators import GENERATORS
from corl.problems.bandits.instance import BanditInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.policy import NamedPolicy
    from corl.problems.bandits.environment import BanditEnvironment
    from corl.problems.bandits.policy import BanditPolicy
    from corl.problems.bandits.stream import BanditStream
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["Bandits"]


def _picks(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.bandits.features.picks."""
    from corl.problems.bandits.features import picks

    return picks(observation)


class Bandits(Problem):
    """Restless bandits whose arms are coupled by a budget, capacities, a schedule, a route, or shared interventions.

    A solution is a BanditPolicy: `result.solution.act(state)` is an action. Its objective value is the mean reward per step over
    the instance's episodes, simulated with the instance's own random numbers.
    """

    name = "bandits"
    title = "restless bandits with combinatorial actions"
    sense = "max"
    instance_type = BanditInstance
    generators = GENERATORS
    size_option = "arms"
    solutions_are_policies = True
    features = {"picks": _picks}  # noqa: RUF012

    def evaluate(self, instance: BanditInstance, solution: Any) -> float:
        """Return the mean reward per step. Raises Infeasible if the policy takes an action that the constraint forbids."""
        from corl.problems.bandits.evaluation import objective

        return objective(instance, solution)

    def recognises(self, head: str) -> bool:
        """Return whether `head`, the beginning of a file, is that of a JSON object in a format for bandits."""
        return head.lstrip().startswith("{") and ('"corl-bandits-' in head or '"cormab-' in head)

    def read(self, path: Path) -> BanditInstance:
        """Return the instance in a JSON file. Raises InputError or OSError."""
        from corl.problems.bandits.formats import read_instance

        return read_instance(path)

    def adapts(self, data: Any) -> bool:
        """Return whether `data` is a mapping with a "format" for bandits."""
        return isinstance(data, Mapping) and str(data.get("format")).startswith(("corl-bandits-", "cormab-"))

    def adapt(self, data: Any) -> BanditInstance:
        """Return the instance of a mapping in the layout of the JSON files. Raises InputError."""
        from corl.problems.bandits.formats import from_json_value

        return from_json_value(Field(plain(data)), "object") if isinstance(data, Mapping) else super().adapt(data)

    def write(self, instance: BanditInstance, path: Path) -> None:
        """Write a JSON file from which `read` returns an identical instance."""
        from corl.problems.bandits.formats import write_instance

        write_instance(instance, path)

    def to_json(self, instance: BanditInstance, solution: BanditPolicy) -> dict[str, Any]:
        """Return the policy, its mean reward with the 95 % interval over episodes, and the keys of the episodes."""
        from corl.problems.bandits.evaluation import episode_keys, outcome_of

        outcome = outcome_of(instance, solution)
        return {
            "policy": {"kind": solution.kind, **solution.to_json()},
            "mean_reward": outcome.mean,
            "interval": None if outcome.interval is None else list(outcome.interval),
            "episode_seeds": [str(key) for key in episode_keys(instance)],
        }

    def from_json(self, instance: BanditInstance, value: Any) -> BanditPolicy:
        """Return the policy in a solution's JSON. Raises InputError."""
        if not isinstance(value, Mapping):
            raise InputError("accepted: an object with a policy", field="solution")
        from corl.problems.bandits.policy import policy_from_json

        return policy_from_json(instance, value.get("policy"))

    def policy_solution(self, instance: BanditInstance, policy: NamedPolicy) -> BanditPolicy:
        """Return the bandit policy that builds its actions pick by pick with a network. Raises InputError."""
        from corl.problems.bandits.policy import policy_from_json

        return policy_from_json(instance, {"kind": "learned", **policy._asdict()})

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.problems.bandits.formats import SCHEMAS

        return SCHEMAS

    def describe(self, instance: BanditInstance) -> dict[str, Any]:
        """Return facts for `corl info`."""
        facts: dict[str, Any] = {
            "arms": instance.arms,
            "states": _span(instance.states),
            "levels": _span(instance.levels),
            "constraint": instance.constraint.kind,
            "horizon": instance.horizon,
            "discount": instance.discount,
            "episodes": instance.episodes,
        }
        if instance.comment:
            facts["comment"] = instance.comment
        return facts

    def draw(self, instance: BanditInstance, solution: Any, axes: Axes) -> None:
        """Draw the share of episodes in which a policy acts on each arm at each time."""
        from corl.problems.bandits.drawing import draw
        from corl.problems.bandits.evaluation import check

        draw(instance, None if solution is None else check(instance, solution), axes)

    def view(self, instance: BanditInstance, solution: Any) -> Scene | None:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.bandits.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[BanditInstance], rows: int, width: int | None = None, name: str = ""
    ) -> BanditEnvironment:
        """Return an environment of `rows` episodes of `instances`; a pick sets one entry of a step's action.

        At most `width` picks are listed, by decreasing gain. Raises UsageError if a constraint has too many rooms to list
        (`Constraint.rooms`).
        """
        from corl.problems.bandits.environment import BanditEnvironment

        self.environment_name(name)
        return BanditEnvironment(instances, rows) if width is None else BanditEnvironment(instances, rows, width)

    def realised_instance(self, instance: BanditInstance, key: int) -> BanditInstance:
        """Return an instance whose only episode is the one that the environment plays after a reset with this key."""
        from corl.problems.bandits.environment import episode_of

        return episode_of(instance, key)

    def stream(self, instance: BanditInstance) -> BanditStream:
        """See Process.stream: the states are revealed step by step. Raises UsageError for an instance of several episodes."""
        from corl.problems.bandits.stream import BanditStream

        return BanditStream(instance)

    def decisions(self, instance: BanditInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the environment's actions (picks and commits) with which a policy plays the episode of this key."""
        from corl.problems.bandits.decisions import decisions

        self.environment_name(name)
        return decisions(instance, solution, key)

    def start_count(self, instance: BanditInstance) -> int:
        """Return the number of episodes, which differ in the initial states of the arms and in their random numbers."""
        return instance.episodes

    def warm_up_instance(self, instance: BanditInstance) -> BanditInstance:
        """Return an instance of eight arms with the same kind of constraint, two pulls, one step and two episodes."""
        return GENERATORS[instance.constraint.kind](arms=8, pulls=2, horizon=1, episodes=2)


def _span(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
