"""One decision of a learning policy, from the knowledge of a day."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.bandits.constraints.budget import Budget
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.knowledge import Knowledge
from corl.problems.bandits.stream import BanditStream
from corl.solvers.bandits.online.learner import METHODS, Learner, choose, last_plan, learn_by_q, plan
from corl.solvers.bandits.online.planning import FLUID, WHITTLE
from corl.solvers.bandits.online.priors import Population, default_population, prior_of

__all__ = ["decide", "make_learner"]


def make_learner(
    instance: BanditInstance,
    method: str,
    *,
    planner: str = "fluid",
    discount: float = 0.99,
    model: int = 0,
    population: Population | None = None,
    every: int = 10,
    scale: float = 1.0,
    pessimistic: bool = False,
    window: int = 0,
    seed: int = 0,
) -> Learner:
    """Return a learner for an instance whose constraint is a Budget with equal costs; see the fields of `Learner`.

    `population`: None: the default, of which little is known. Only "clairvoyant" gets the instance's transition probabilities.
    """
    constraint = instance.constraint
    assert isinstance(constraint, Budget)
    arms, _, states = instance.rewards.shape
    features = np.zeros((arms, 0)) if instance.arm_features is None else instance.arm_features
    knows = method == "clairvoyant"
    return Learner(
        METHODS[method],
        FLUID if planner == "fluid" else WHITTLE,
        every,
        float(scale),
        discount,
        pessimistic,
        np.uint64(seed),
        constraint.budget // int(constraint.costs[0]),
        window,
        instance.horizon,
        instance.rewards,
        np.argsort(instance.rewards.mean(axis=(0, 1)), kind="stable").astype(np.int64),
        prior_of(population or default_population(states), model, features),
        instance.transitions if knows else np.full_like(instance.transitions, 1.0 / states),
    )


def decide(learner: Learner, stream: BanditStream, knowledge: Knowledge) -> NDArray[np.int8]:
    """Return the pulls of the present step, int8 [J]."""
    time, levels = len(knowledge.actions), stream.levels(knowledge)
    arms, _, states = knowledge.shape
    values, q = np.zeros((arms, states)), np.zeros((arms, states, 2))
    if learner.method == METHODS["wiql"]:
        visits = np.zeros((arms, states, 2), np.int32)
        for step in range(time):
            learn_by_q(learner, visits, q, knowledge.states[step], levels[step], knowledge.states[step + 1])
    elif learner.method != METHODS["random"]:
        planned = last_plan(learner, time)
        plan(learner, knowledge.counts(levels, planned), knowledge.states[planned], planned, values)
    last_pull = np.full(arms, -1, np.int32)
    for step in range(time):
        last_pull[levels[step] > 0] = step
    action = np.zeros(arms, np.int8)
    choose(learner, values, q, knowledge.states[-1], time, last_pull, action)
    return action
