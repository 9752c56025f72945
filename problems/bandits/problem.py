"""Bandits: the adapter of restless bandits with coupled actions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corl.errors import Infeasible, InputError
from corl.problem import Problem
from corl.problems.bandits import generators
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policies import BanditPolicy, from_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Bandits"]


class Bandits(Problem):
    """Restless bandits whose arms are coupled by a budget, capacities, a schedule, a route, or shared interventions.

    A solution is a BanditPolicy: `result.solution.act(state)` is an action. Its objective is the mean reward a step over
    the instance's episodes, simulated with the instance's own luck.
    """

    name = "bandits"
    title = "restless bandits with combinatorial actions"
    sense = "max"
    instance_type = BanditInstance
    generators = {  # noqa: RUF012
        "capacity": generators.capacity,
        "scheduling": generators.scheduling,
        "routing": generators.routing,
        "interventions": generators.interventions,
        "budget": generators.budget,
        "machines": generators.machines,
        "adherence": generators.adherence,
        "attractor": generators.attractor,
    }

    def evaluate(self, instance: BanditInstance, solution: Any) -> float:
        """The mean reward a step. Raises Infeasible where the policy takes an action that the constraint forbids."""
        from corl.problems.bandits.simulation import simulate

        return simulate(instance, self._policy(instance, solution).actions).mean

    def recognises(self, head: str) -> bool:
        """Whether the head of a file is that of a JSON object with one of our formats."""
        return head.lstrip().startswith("{") and ('"corl-bandits-' in head or '"cormab-' in head)

    def read(self, path: Path) -> BanditInstance:
        """The instance in a JSON file. Raises InputError or OSError."""
        from corl.problems.bandits.formats import read_instance

        return read_instance(path)

    def write(self, instance: BanditInstance, path: Path) -> None:
        """Write a JSON file that `read` gives back to the bit."""
        from corl.problems.bandits.formats import write_instance

        write_instance(instance, path)

    def to_json(self, instance: BanditInstance, solution: BanditPolicy) -> dict[str, Any]:
        """The policy, what it earned, the 95 % interval over episodes, and the keys of their luck."""
        from corl.problems.bandits.simulation import episode_keys, simulate

        outcome = simulate(instance, solution.actions)
        return {
            "policy": {"kind": solution.kind, **solution.to_json()},
            "mean_reward": outcome.mean,
            "interval": None if outcome.interval is None else list(outcome.interval),
            "episode_seeds": [str(key) for key in episode_keys(instance)],
        }

    def from_json(self, instance: BanditInstance, value: Any) -> BanditPolicy:
        """The policy in a solution's JSON. Raises InputError."""
        if not isinstance(value, Mapping):
            raise InputError("accepted: an object with a policy", field="solution")
        return from_json(instance, value.get("policy"))

    def describe(self, instance: BanditInstance) -> dict[str, Any]:
        """Facts for `corl info`."""
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
        from corl.problems.bandits.drawing import draw_policy

        draw_policy(instance, None if solution is None else self._policy(instance, solution), axes)

    @staticmethod
    def _policy(instance: BanditInstance, solution: Any) -> BanditPolicy:
        if not isinstance(solution, BanditPolicy):
            raise Infeasible(f"a {type(solution).__name__} is no policy")
        if solution.instance.rewards.shape != instance.rewards.shape:
            raise Infeasible("a policy for other arms")
        return solution


def _span(counts: np.ndarray) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
