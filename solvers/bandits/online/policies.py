"""Online policies for bandits with unknown transitions. What they decide is in `corl.solvers.bandits.online.learner`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from corl.errors import UsageError
from corl.online.stream import Decision, OnlinePolicy, Seeds, Stream
from corl.options import option

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance
    from corl.problems.bandits.knowledge import Knowledge
    from corl.problems.bandits.stream import BanditStream
    from corl.solvers.bandits.online.learner import Learner

__all__ = ["Clairvoyant", "LearningPolicy", "Random", "Thompson", "UcWhittle", "Ucb", "Wiql"]

_MODELS = ("none", "arm", "features")  # by the models' numbers in corl.solvers.bandits.online.beliefs


@dataclass(frozen=True)
class LearningPolicy(OnlinePolicy):
    """A policy for arms with two levels, of which a fixed number is pulled in a step."""

    min_pulls: int = option(
        0, "Pulls that each arm gets at least in an episode, one in each of so many parts of it; 0: none.", low=0
    )

    method: ClassVar[str]

    def accepts(self, instance: BanditInstance) -> str:
        from corl.problems.bandits.constraints.budget import Budget

        constraint = instance.constraint
        if not isinstance(constraint, Budget) or (constraint.costs != constraint.costs[0]).any():
            return "it takes a budget of pulls that all cost the same"
        if (instance.states < instance.states.max()).any() or instance.states.max() < 2:
            return "it takes arms with equal numbers of states, at least 2"
        if self.min_pulls and self._window(instance) * self._budget(instance) < instance.arms:
            most = instance.horizon // -(-instance.arms // max(1, self._budget(instance)))
            return f"there are not enough pulls for min_pulls={self.min_pulls}; accepted: up to {most}"
        return ""

    def prepare(self, instance: BanditInstance) -> None:
        """See OnlinePolicy.prepare."""
        from dataclasses import replace

        from corl.problems.bandits.environment import episode_of
        from corl.solvers.bandits.online.simulation import simulate_days

        short = replace(episode_of(instance, 0), horizon=1)
        simulate_days(short, replace(self, min_pulls=0).learner(short), [0])

    def decide(self, stream: Stream, knowledge: Knowledge, seconds: float, seeds: Seeds) -> Decision:
        """See OnlinePolicy.decide. As samples are kept for some steps, random numbers follow from the day's seed, the time and
        the states."""
        from corl.solvers.bandits.online.deciding import decide

        known = cast("BanditStream", stream)
        return {"action": decide(self.learner(known.instance, seeds.day), known, knowledge).tolist()}

    def learner(self, instance: BanditInstance, seed: int = 0) -> Learner:
        """Return the method, what it knows besides the history, and the seed of a day's random numbers, for the kernels."""
        from corl.solvers.bandits.online.deciding import make_learner

        return make_learner(instance, self.method, window=self._window(instance), seed=seed, **self._settings(instance))

    def _settings(self, instance: BanditInstance) -> dict[str, Any]:
        return {}

    def _window(self, instance: BanditInstance) -> int:
        return instance.horizon // self.min_pulls if self.min_pulls else 0

    @staticmethod
    def _budget(instance: BanditInstance) -> int:
        return instance.constraint.budget // int(instance.constraint.costs[0])  # type: ignore[attr-defined,no-any-return]


@dataclass(frozen=True)
class _Planning(LearningPolicy):
    """A policy that plans with Whittle's index or the fluid relaxation."""

    planner: Literal["fluid", "whittle"] = option("fluid", "The value of a pull: by the fluid relaxation, or Whittle's index.")
    discount: float = option(
        0.99, "Discount of plans; an instance's own discount replaces it if that is below 1.", above=0, below=1
    )

    def _settings(self, instance: BanditInstance) -> dict[str, Any]:
        return {
            "planner": self.planner,
            "discount": instance.discount if instance.discount < 1.0 else self.discount,
        }


@dataclass(frozen=True)
class _Bayesian(_Planning):
    """A policy with a posterior of the transition probabilities (corl.solvers.bandits.online.beliefs)."""

    sharing: Literal["features", "arm", "none"] = option(
        "features",
        "What an observation says about: arms with similar features; the arm in all its states and levels; its state and level.",
    )
    prior: str = option("", 'A file with a population of arms (corl.solvers.bandits.online.priors); "": little is known.')
    every: int = option(5, "Steps between two plans, from the 20th step on; at first plans are more frequent.", low=1)
    scale: float = option(
        0.25, "Exploration: the factor of a sample's distance from the posterior mean; 1: a sample of the posterior.", low=0
    )

    def _settings(self, instance: BanditInstance) -> dict[str, Any]:
        from corl.solvers.bandits.online.priors import read_population

        states = instance.rewards.shape[2]
        if self.prior and len(read_population(self.prior).mean) != 2 * states * (states - 1):
            raise UsageError(f"option prior: {self.prior} is not for arms with {states} states; accepted: a file for such arms")
        population, features = read_population(self.prior) if self.prior else None, instance.arm_features
        given = 0 if features is None else features.shape[1]
        if population and self.sharing == "features" and len(population.effects) not in (1, given):
            raise UsageError(f"option prior: {self.prior} is not for arms with {given} features; accepted: a file for such arms")
        return {
            **super()._settings(instance),
            "model": _MODELS.index(self.sharing),
            "population": population,
            "every": self.every,
            "scale": self.scale,
        }


@dataclass(frozen=True)
class Thompson(_Bayesian):
    """Plan with a sample of the posterior, which is kept until the next plan (Thompson 1933)."""

    title: ClassVar[str] = "plans with samples of the posterior"
    method: ClassVar[str] = "thompson"


@dataclass(frozen=True)
class Ucb(_Bayesian):
    """Pull by upper confidence bounds: the value of a pull at the posterior mean, plus standard deviations."""

    scale: float = option(
        0.5, "Exploration: standard deviations in the first step; they fall linearly to 0 in the last. 0: the mean.", low=0
    )

    title: ClassVar[str] = "upper confidence bounds of the values of pulls"
    method: ClassVar[str] = "ucb"


@dataclass(frozen=True)
class Wiql(LearningPolicy):
    """Whittle index Q-learning (Biswas, Aggarwal, Varakantham & Tambe, IJCAI 2021)."""

    scale: float = option(1.0, "Factor of the probability J / (J + t) of random pulls with J arms; 1: as published.", low=0)
    discount: float = option(0.99, "Discount of the Q-values.", above=0, below=1)

    title: ClassVar[str] = "Whittle index Q-learning (published)"
    method: ClassVar[str] = "wiql"

    def _settings(self, instance: BanditInstance) -> dict[str, Any]:
        return {"scale": self.scale, "discount": self.discount}


@dataclass(frozen=True)
class UcWhittle(LearningPolicy):
    """Whittle's index of optimistic transitions (Wang, Xu, Taneja & Tambe, AAAI 2023)."""

    variant: Literal["value", "penalty"] = option(
        "value", "Optimistic for the arm's value (all cells up), or for its index (down without a pull)."
    )
    every: int = option(20, "Steps between two plans.", low=1)
    scale: float = option(1.0, "Factor of the confidence radius; 1: as published.", low=0)
    discount: float = option(0.9, "Discount of the indices; 0.9: as published.", above=0, below=1)

    title: ClassVar[str] = "Whittle's index of optimistic transitions (published)"
    method: ClassVar[str] = "ucwhittle"

    def _settings(self, instance: BanditInstance) -> dict[str, Any]:
        return {
            "scale": self.scale, "discount": self.discount, "every": self.every, "pessimistic": self.variant == "penalty",
        }  # fmt: skip


@dataclass(frozen=True)
class Random(LearningPolicy):
    """Pull random arms."""

    title: ClassVar[str] = "random pulls"
    method: ClassVar[str] = "random"


@dataclass(frozen=True)
class Clairvoyant(_Planning):
    """Plan with the true transition probabilities, which no other policy reads: hindsight, for regret."""

    every: int = option(10, "Steps between two plans, from the 40th step on; at first plans are more frequent.", low=1)

    title: ClassVar[str] = "hindsight: knows the transition probabilities"
    method: ClassVar[str] = "clairvoyant"

    def _settings(self, instance: BanditInstance) -> dict[str, Any]:
        return {**super()._settings(instance), "every": self.every}
