"""Small restless bandits of every kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from corl import registry
from corl.problems.bandits.constraints import KINDS, Budget, Capacity, Constraint, Interventions, Routing, Scheduling
from corl.problems.bandits.instance import BanditInstance

CHEAP = "null"
LARGE = {
    "capacity": ("capacity", {"arms": 100, "pulls": 20}),
    "routing": ("routing", {"arms": 100, "pulls": 20}),
    "many-arms": ("capacity", {"arms": 400, "pulls": 80}),
    "interventions": ("interventions", {"arms": 100, "count": 15, "pulls": 7}),
}

BUSY = ("routing", {"arms": 60, "pulls": 12})
MIXES = 20
MANY_MIXES = 200
HELD: list[Any] = []  # files, Models and modules alone
PAGE = ("budget", {"arms": 6})
RECORDED = ("fluid",)
GOLDENS = {
    "budget": ("budget", {"arms": 6, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 1}),
    "capacity": ("capacity", {"arms": 6, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 2}),
    "interventions": ("interventions", {"arms": 6, "count": 4, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 3}),
    "machines": ("machines", {"arms": 8, "worn": 3, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 4}),
    "attractor": ("attractor", {"arms": 8, "pulls": 3, "horizon": 8, "episodes": 6, "seed": 7}),
    "routing": ("routing", {"arms": 6, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 5}),
    "scheduling": ("scheduling", {"arms": 6, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 6}),
}
GOLDEN_SOLVES = """
fluid budget -
fluid capacity -
fluid interventions -
fluid machines -
fluid routing -
fluid scheduling -
fluid attractor - resolve=1
iterative-dqn attractor 4 epochs=4 +torch
iterative-dqn routing 2 epochs=2 +torch
iterative-myopic capacity -
iterative-myopic machines -
myopic interventions -
myopic machines -
myopic routing -
myopic scheduling -
muzero capacity 1 simulations=4 network=bandits-muzero proof +torch
null budget -
policy routing 1 network=bandits-attention proof +torch
random routing -
random scheduling -
rollout attractor - samples=3 breadth=3
rollout capacity - samples=3 breadth=3
sampling interventions - samples=10
sampling scheduling - samples=10
sequoia attractor 4 epochs=4 +torch
sequoia capacity 2 epochs=2 +torch
sequoia budget 2 epochs=2 mode=release base=fluid +torch
two-step attractor -
two-step budget -
tree-search scheduling 1 simulations=4 network=bandits-attention proof +torch
two-step machines -
whittle budget -
whittle machines -
"""


def random_constraint(kind: str, arms: int, random: np.random.Generator) -> Constraint:
    """One of the kind, from hardly anything allowed to everything."""
    if kind == "budget":
        costs = random.integers(1, 4, arms)
        return Budget(costs, int(random.integers(costs.sum() + 1)))
    if kind == "capacity":
        return Capacity(random.integers(1, 5, arms), random.integers(0, 6, random.integers(1, 4)))
    if kind == "scheduling":
        slots = int(random.integers(1, 5))
        workers = random.random((int(random.integers(1, 4)), slots)) < 0.6
        return Scheduling(random.random((arms, slots)) < 0.6, workers, int(random.integers(arms + 1)))
    if kind == "routing":
        tree = [(int(random.integers(arm)), arm) for arm in range(1, arms)]
        more = [(i, j) for i in range(arms) for j in range(i) if random.random() < 0.2]
        edges = np.array(tree + more, np.int64).reshape(-1, 2)
        return Routing(arms, edges, int(random.integers(arms)), int(random.integers(2 * arms)), int(random.integers(arms + 1)))
    count = int(random.integers(1, 5))
    touching = [sorted(random.permutation(count)[: random.integers(min(count, 3) + 1)].tolist()) for _ in range(arms)]
    return Interventions(count, tuple(map(tuple, touching)), int(random.integers(count + 1)))


def random_instance(kind: str, arms: int, seed: int) -> BanditInstance:
    """Arms of one to three states, rewards of either sign, chances of 0 and 1, up to four steps, often discounted."""
    random = np.random.default_rng([arms, seed])
    constraint = random_constraint(kind, arms, random)
    levels = np.array([1 << len(each) for each in constraint.touching] if kind == "interventions" else [2] * arms, np.int32)
    states = random.integers(1, 4, arms).astype(np.int32)
    a, s = int(levels.max()), int(states.max())
    chances = random.random((arms, a, s, s)) ** 3 * (random.random((arms, a, s, s)) < 0.7)
    chances *= np.arange(s) < states[:, None, None, None]
    chances[..., 0] += chances.sum(axis=3) == 0
    rewards = random.normal(0.0, 1.0, (arms, a, s)).round(int(random.integers(1, 4)))
    initial = np.stack([random.integers(0, states) for _ in range(int(random.integers(1, 4)))]).astype(np.int32)
    return BanditInstance(
        f"{kind}-{arms}", chances / chances.sum(axis=3, keepdims=True), rewards, constraint, initial,
        int(random.integers(1, 5)), float(random.choice([1.0, 0.9])), states, levels, seed,
    )  # fmt: skip


def sample(seed: int) -> BanditInstance:
    """An instance of up to six arms, of a kind by the seed."""
    return random_instance(list(KINDS)[seed % len(KINDS)], 1 + seed // 10 % 6, seed)


def kinds() -> dict[str, Callable[[], Any]]:
    """By a name: instances that take other ways through the solvers."""
    return {kind: partial(random_instance, kind, 6, 1) for kind in KINDS}


def smallest() -> list[Any]:
    """One arm, one state, one step; nothing may be pulled."""

    def made(arms: int, states: int, budget: int, horizon: int) -> BanditInstance:
        chances = np.full((arms, 2, states, states), 1.0 / states)
        rewards = np.arange(arms * 2.0 * states).reshape(arms, 2, states)
        return BanditInstance("a", chances, rewards, Budget(np.ones(arms, int), budget), np.zeros((1, arms), np.int32), horizon)

    return [made(1, 1, 1, 1), made(1, 2, 0, 2), made(3, 1, 3, 2), made(2, 2, 1, 1)]


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    make = registry.problem("bandits").generators
    return [make[kind](arms=8) for kind in ("budget", "capacity", "scheduling", "routing", "interventions")]


EXOGENOUS = {"begin"}
RANDOMISED = ("random", "thompson", "wiql")


def streamed(seed: int) -> BanditInstance:
    """Return an instance that is revealed step by step."""
    states = 2 + seed % 2
    options = {"arms": 6, "pulls": 2, "states": states, "features": 2, "horizon": 9, "episodes": 1, "seed": seed}
    return registry.problem("bandits").generators["outreach"](**options)  # type: ignore[no-any-return]


def random_decision(stream: Any, knowledge: Any, random: np.random.Generator) -> dict[str, list[int]]:
    """Return a random feasible action."""
    return {"action": stream.instance.constraint.random(random, 1)[0].tolist()}


def futures(seed: int) -> tuple[BanditInstance, BanditInstance, float]:
    """Return two instances that differ in the random numbers after the first event."""
    return (first := streamed(seed)), replace(first, seed=seed + 1000), 0.0
