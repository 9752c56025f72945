"""Bandits: the adapter of restless bandits with coupled actions."""

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
        """Return whether `head` begins a JSON object with one of our formats."""
        return head.lstrip().startswith("{") and ('"corl-bandits-' in head or '"cormab-' in head)

    def read(self, path: Path) -> BanditInstance:
        """Return the instance in a JSON file. Raises InputError or OSError."""
        from corl.problems.bandits.formats import read_instance

        return read_instance(path)

    def adapts(self, data: Any) -> bool:
        """Return whether `data` is an object with one of our formats."""
        return isinstance(data, Mapping) and str(data.get("format")).startswith(("corl-bandits-", "cormab-"))

    def adapt(self, data: Any) -> BanditInstance:
        """Return the instance of an object in the layout of the JSON files. Raises InputError."""
        from corl.problems.bandits.formats import from_json_value

        return from_json_value(Field(plain(data)), "object") if isinstance(data, Mapping) else super().adapt(data)

    def write(self, instance: BanditInstance, path: Path) -> None:
        """Write a JSON file from which `read` returns an identical instance."""
        from corl.problems.bandits.formats import write_instance

        write_instance(instance, path)

    def to_json(self, instance: BanditInstance, solution: BanditPolicy) -> dict[str, Any]:
        """Return the policy, its mean reward, the 95 % interval over episodes, and the keys of their random numbers."""
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
        """Return a network that chooses an action pick by pick. Raises InputError."""
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
        """Draw how often a policy acts on each arm over time, in all episodes."""
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
        """Return an environment that plays episodes pick by pick: `rows` of them over `instances`.

        At most `width` picks are listed, those of the largest gains first. Raises UsageError if a constraint allows too many sets
        to list (walks, packings).
        """
        from corl.problems.bandits.environment import BanditEnvironment

        self.environment_name(name)
        return BanditEnvironment(instances, rows) if width is None else BanditEnvironment(instances, rows, width)

    def episode(self, instance: BanditInstance, key: int) -> BanditInstance:
        """Return the instance with the one episode that the environment plays from this key, with random numbers of its own."""
        from corl.problems.bandits.environment import episode_of

        return episode_of(instance, key)

    def decisions(self, instance: BanditInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the picks and commits by which a policy plays the episode of this key."""
        from corl.problems.bandits.decisions import decisions

        self.environment_name(name)
        return decisions(instance, solution, key)

    def starts(self, instance: BanditInstance) -> int:
        """Return the number of episodes: they begin with the arms in different states, and have different random numbers."""
        return instance.episodes

    def miniature(self, instance: BanditInstance) -> BanditInstance:
        """Return an instance of eight arms with the same kind of constraint, two pulls, one step and two episodes."""
        return GENERATORS[instance.constraint.kind](arms=8, pulls=2, horizon=1, episodes=2)


def _span(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
