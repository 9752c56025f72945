"""Generators of random instances; a seed gives the same instance on every machine (NumPy's PCG64).

"The paper" is Xu, Wilder, Khalil & Tambe, "Reinforcement learning with combinatorial actions for coupled restless bandits",
ICLR 2025. Its arms have four states: a pull makes a move to the next higher state likely, and the highest state earns most.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.problems.bandits.constraints import Budget, Capacity, Constraint, Interventions, Routing, Scheduling
from corl.problems.bandits.constraints.interventions import MAX_TOUCHING
from corl.problems.bandits.generators_outreach import outreach
from corl.problems.bandits.instance import BanditInstance

__all__ = ["GENERATORS", "adherence", "attractor", "budget", "capacity", "interventions", "machines", "routing", "scheduling"]

_INITIAL_UP = 0.2  # the probability that an arm begins in state 1 rather than 0


def capacity(*, arms: int = 20, pulls: int = 5, horizon: int = 20, episodes: int = 50, seed: int = 0) -> BanditInstance:
    """Return the paper's capacity problem: `pulls` workers with capacities from 2 to 7, and arms with costs from 2 to 6."""
    random = _checked(arms, pulls, horizon, episodes, seed)
    ladder = _moves(_up(random, arms), _state_values(random, arms, pulls))
    constraint = Capacity(random.integers(2, 7, arms), random.integers(2, 8, pulls))
    return _instance("capacity", random, ladder, constraint, episodes, horizon, seed, arms=arms, pulls=pulls)


def scheduling(*, arms: int = 20, pulls: int = 5, horizon: int = 20, episodes: int = 50, seed: int = 0) -> BanditInstance:
    """Return the paper's scheduling problem: of 5 slots, an arm is available in 2, each of `pulls` workers in 3.

    Arms are more likely to be available in later slots, workers in earlier ones.
    """
    random = _checked(arms, pulls, horizon, episodes, seed)
    ladder = _moves(_up(random, arms), _state_values(random, arms, pulls))
    slots = 5
    weights = [np.sort(random.random(slots)), np.sort(random.random(slots))[::-1]]
    tables = []
    for count, needed, chance in ((arms, 2, weights[0]), (pulls, 3, weights[1])):
        table = np.zeros((count, slots), np.bool_)
        for row in table:
            row[random.choice(slots, needed, replace=False, p=chance / chance.sum())] = True
        tables.append(table)
    constraint = Scheduling(tables[0], tables[1], pulls)
    return _instance("scheduling", random, ladder, constraint, episodes, horizon, seed, arms=arms, pulls=pulls)


def routing(*, arms: int = 20, pulls: int = 5, horizon: int = 20, episodes: int = 50, seed: int = 0) -> BanditInstance:
    """Return the paper's routing problem, a closed walk of 2 * `pulls` steps, on a random network.

    The paper uses the network of an underground railway. Here stations are uniform in a square. Links are those of the minimum
    spanning tree, and the shortest others, up to 1.45 links per station as in the paper's network. The source is the station
    nearest to the centre of the square.
    """
    random = _checked(arms, pulls, horizon, episodes, seed)
    ladder = _moves(_up(random, arms), _state_values(random, arms, pulls))
    points = random.random((arms, 2))
    edges = _network(points, round(1.45 * arms))
    source = int(np.argmin(((points - 0.5) ** 2).sum(axis=1)))
    constraint = Routing(arms, edges, source, 2 * pulls, pulls)
    return _instance("routing", random, ladder, constraint, episodes, horizon, seed, arms=arms, pulls=pulls)


def interventions(
    *, arms: int = 20, count: int = 10, pulls: int = 5, horizon: int = 20, episodes: int = 50, seed: int = 0
) -> BanditInstance:
    """Return the paper's problem of multiple interventions: up to `pulls` of `count` interventions may be chosen in a step.

    Groups of three interventions touch the same three arms, with weight 3 each. An arm moves up with probability
    0.01 + 0.98 (a / (1 + exp(x0 - b w)) - a / (1 + exp(x0))), where w is the sum of the weights of the chosen interventions
    that touch the arm.
    A good arm has a in 0.7..1, b in 1.4..1.9, and x0 = 9 or 10, so that it hardly responds unless all three interventions are
    chosen. A bad arm has a in 0.2..0.5, b = 1, and x0 = 1 or 2.
    """
    random = _checked(arms, pulls, horizon, episodes, seed)
    if not pulls <= count:
        raise UsageError(f"pulls: {pulls} is not accepted; accepted: up to count = {count}")
    state_values = _state_values(random, arms, pulls)
    good_from = int(np.ceil(arms * pulls / count))
    good = random.choice(count, pulls, replace=False)
    bad = np.setdiff1d(np.arange(count), good)
    touching: list[set[int]] = [set() for _ in range(arms)]
    for chosen, pool in ((good, np.arange(good_from, arms)), (bad, np.arange(good_from))):
        for first in range(0, len(chosen), 3):
            group = chosen[first : first + 3]
            room = [arm for arm in pool if len(touching[arm]) + len(group) <= MAX_TOUCHING]
            free = [arm for arm in room if not touching[arm]]
            for arm in random.permutation(free if len(free) >= 3 else room)[:3].astype(int):
                touching[arm] |= {int(i) for i in group}
    is_good = np.arange(arms) >= good_from
    a = np.where(is_good, random.uniform(0.7, 1.0, arms), random.uniform(0.2, 0.5, arms)).round(1)
    b = np.where(is_good, random.uniform(1.4, 1.9, arms).round(1), 1.0)
    x0 = np.where(is_good, random.integers(9, 11, arms), random.integers(1, 3, arms))
    lists = tuple(tuple(sorted(each)) for each in touching)
    levels = np.array([1 << len(each) for each in lists], np.int32)
    up = np.zeros((arms, levels.max()))
    for level in range(levels.max()):
        weight = 3.0 * bin(level).count("1")
        up[:, level] = 0.01 + 0.98 * (a / (1 + np.exp(x0 - b * weight)) - a / (1 + np.exp(x0)))
    constraint, moves = Interventions(count, lists, pulls), _moves(up, state_values)
    options = {"arms": arms, "count": count, "pulls": pulls}
    return _instance("interventions", random, moves, constraint, episodes, horizon, seed, levels, **options)


def budget(*, arms: int = 20, pulls: int = 5, horizon: int = 20, episodes: int = 50, seed: int = 0) -> BanditInstance:
    """Return the paper's arms with the constraint of classical restless bandits: at most `pulls` pulls in a step."""
    random = _checked(arms, pulls, horizon, episodes, seed)
    ladder = _moves(_up(random, arms), _state_values(random, arms, pulls))
    constraint = Budget(np.ones(arms, np.int64), pulls)
    return _instance("budget", random, ladder, constraint, episodes, horizon, seed, arms=arms, pulls=pulls)


def machines(
    *, arms: int = 50, worn: int = 6, pulls: int = 5, horizon: int = 40, episodes: int = 50, seed: int = 0
) -> BanditInstance:
    """Return deteriorating machines (Glazebrook, Mitchell & Ansell, EJOR 165, 2005): `worn` states of wear, `pulls` repairs.

    The more a machine is worn, the less it earns. In each step its wear grows by one state with a probability between 0.1 and
    0.5, which differs between machines. A repair has a small cost and leads to state 0 with probability 0.9.
    """
    random = _checked(arms, pulls, horizon, episodes, seed)
    if worn < 2:
        raise UsageError(f"worn: {worn} is not accepted; accepted: an integer from 2")
    wear, value = random.uniform(0.1, 0.5, arms), random.uniform(1.0, 3.0, arms)
    transitions = np.zeros((arms, 2, worn, worn))
    for state in range(worn):
        next_state = min(state + 1, worn - 1)
        transitions[:, 0, state, state] += 1.0 - wear
        transitions[:, 0, state, next_state] += wear
    transitions[:, 1] = 0.1 * transitions[:, 0]
    transitions[:, 1, :, 0] += 0.9
    earned = value[:, None] * (1.0 - np.linspace(0.0, 1.0, worn) ** 2)
    rewards = np.stack([earned, earned - 0.2 * value[:, None]], axis=1)
    constraint = Budget(np.ones(arms, np.int64), pulls)
    options = {"arms": arms, "worn": worn, "pulls": pulls}
    return _instance("machines", random, (transitions, rewards), constraint, episodes, horizon, seed, None, worn, **options)


def adherence(*, arms: int = 100, pulls: int = 10, horizon: int = 30, episodes: int = 50, seed: int = 0) -> BanditInstance:
    """Return patients who adhere to a treatment (state 1) or not (state 0); `pulls` of them can be called on a day.

    Adherence today and a call both raise the probability of adherence tomorrow. A day of adherence has reward 1. After Mate et
    al., NeurIPS 2020.
    """
    random = _checked(arms, pulls, horizon, episodes, seed)
    # probabilities of adherence tomorrow if today (not called, state 0), (called, 0), (not called, 1), (called, 1): increasing,
    # but in half of the arms the middle two are swapped
    stay = np.sort(random.uniform(0.05, 0.95, (arms, 4)), axis=1)
    swap = random.random(arms) < 0.5
    stay[swap] = stay[swap][:, [0, 2, 1, 3]]
    adhere = np.stack([stay[:, [0, 2]], stay[:, [1, 3]]], axis=1)  # [arms, level, state]
    transitions = np.stack([1.0 - adhere, adhere], axis=3)
    constraint = Budget(np.ones(arms, np.int64), pulls)
    return _instance("adherence", random, (transitions, adhere), constraint, episodes, horizon, seed, arms=arms, pulls=pulls)


def attractor(*, arms: int = 40, pulls: int = 16, horizon: int = 30, episodes: int = 50, seed: int = 0) -> BanditInstance:
    """Return arms on which Whittle's index policy is far from optimal: it leads them into a cycle of two steps.

    This is the second example of appendix E.2 of Gast, Gaujal & Yan (arXiv 2012.09064); the policy is worst with 4 pulls on 10
    arms. Rewards of pulls differ from theirs by up to 2 %, so that no two arms are identical.
    """
    random = _checked(arms, pulls, horizon, episodes, seed)
    chances = np.array([_IF_LEFT, _IF_PULLED])
    transitions = np.tile(chances / chances.sum(axis=2, keepdims=True), (arms, 1, 1, 1))
    pulled = np.array(_REWARDS_IF_PULLED) * random.uniform(0.98, 1.02, (arms, 1))
    rewards = np.stack([np.zeros_like(pulled), pulled], axis=1)
    constraint = Budget(np.ones(arms, np.int64), pulls)
    options = {"arms": arms, "pulls": pulls}
    return _instance("attractor", random, (transitions, rewards), constraint, episodes, horizon, seed, None, 3, **options)


_IF_LEFT = [[0.02232142, 0.10229283, 0.87538575], [0.03426605, 0.17175704, 0.79397691], [0.52324756, 0.45523298, 0.02151947]]
_IF_PULLED = [[0.14874601, 0.30435809, 0.54689589], [0.56845754, 0.41117331, 0.02036915], [0.25265570, 0.27310439, 0.4742399]]
_REWARDS_IF_PULLED = [0.37401552, 0.11740814, 0.07866135]


def _checked(arms: int, pulls: int, horizon: int, episodes: int, seed: int) -> np.random.Generator:
    """Return the generator of random numbers, after checking the options that all generators share. Raises UsageError."""
    if not 1 <= pulls <= arms:
        raise UsageError(f"pulls: {pulls} is not accepted; accepted: 1 to arms = {arms}")
    for name, value in (("horizon", horizon), ("episodes", episodes)):
        if value < 1:
            raise UsageError(f"{name}: {value} is not accepted; accepted: an integer from 1")
    return np.random.default_rng(seed)


def _up(random: np.random.Generator, arms: int) -> NDArray[np.float64]:
    """Return the probability that each of the paper's arms moves up, [J, 2]: U(0, 0.2) if left alone, U(0.7, 0.9) if pulled."""
    return np.stack([random.uniform(0.0, 0.2, arms), random.uniform(0.7, 0.9, arms)], axis=1)


def _state_values(random: np.random.Generator, arms: int, pulls: int) -> NDArray[np.float64]:
    """Return the reward for reaching each state of the paper's arms, [J, 4].

    The first `pulls` arms have 0.2, 0.15, 0.1 and an integer from 4 to 6; the other arms have 0.1, 0.15, 0.2 and an integer from
    1 to 3. A policy that looks only one step ahead therefore prefers the other arms, although the first ones earn more.
    """
    state_values = np.tile([0.1, 0.15, 0.2, 1.0], (arms, 1))
    state_values[:pulls, :3] = [0.2, 0.15, 0.1]
    state_values[:pulls, 3] = random.integers(4, 7, pulls)
    state_values[pulls:, 3] = random.integers(1, 4, arms - pulls)
    return state_values


def _moves(up: NDArray[np.float64], state_values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return transitions [J, A, S, S] and rewards [J, A, S].

    Arm j moves one state up with probability up[j, a], otherwise one down; the reward is the expected value of the next state.
    """
    arms, levels = up.shape
    states = state_values.shape[1]
    transitions = np.zeros((arms, levels, states, states))
    for state in range(states):
        transitions[:, :, state, min(state + 1, states - 1)] += up
        transitions[:, :, state, max(state - 1, 0)] += 1.0 - up
    return transitions, np.einsum("jasn,jn->jas", transitions, state_values)


def _network(points: NDArray[np.float64], wanted: int) -> NDArray[np.int64]:
    """Return the links of the minimum spanning tree of the points and the shortest other links, int64 [wanted, 2]."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import cdist

    distances = cdist(points, points)
    links = {(min(i, j), max(i, j)) for i, j in zip(*(index.tolist() for index in minimum_spanning_tree(distances).nonzero()))}
    i, j = np.triu_indices(len(points), 1)
    for k in np.argsort(distances[i, j], kind="stable"):
        if len(links) >= wanted:
            break
        links.add((int(i[k]), int(j[k])))
    return np.array(sorted(links), np.int64).reshape(-1, 2)


def _instance(
    kind: str,
    random: np.random.Generator,
    moves: tuple[NDArray[np.float64], NDArray[np.float64]],
    constraint: Constraint,
    episodes: int,
    horizon: int,
    seed: int,
    levels: NDArray[np.int32] | None = None,
    states: int | None = None,
    **options: int,
) -> BanditInstance:
    """Return the instance with these `moves` (transitions, rewards); its comment is the command that generates it.

    An episode begins with each arm in state 1 with probability 0.2, otherwise in state 0. If `states` is given, it begins with
    each arm in a state that is uniform in 0..states-1.
    """
    shape = (episodes, len(moves[0]))
    initial = random.integers(0, states, shape) if states else (random.random(shape) < _INITIAL_UP).astype(np.int64)
    words = " ".join(f"--option {name}={value}" for name, value in (options | {"horizon": horizon, "episodes": episodes}).items())
    comment = f"corl generate bandits {kind} {words} --seed {seed}"
    name = f"{kind}-{shape[1]}-{seed}"
    return BanditInstance(
        name, *moves, constraint, initial.astype(np.int32), horizon, seed=seed, comment=comment,
        levels=np.full(shape[1], moves[0].shape[1], np.int32) if levels is None else levels,
    )  # fmt: skip


GENERATORS: dict[str, Callable[..., BanditInstance]] = {
    "capacity": capacity,
    "scheduling": scheduling,
    "routing": routing,
    "interventions": interventions,
    "budget": budget,
    "machines": machines,
    "adherence": adherence,
    "attractor": attractor,
    "outreach": outreach,
}
