"""Every environment of the registry: episodes end and add up, rows are independent, features are as promised."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from families import ENVIRONMENTS, Played, drawn, played

from corl import registry
from corl.environment import Environment
from corl.errors import UsageError

MANY = pytest.mark.parametrize("count", [8, pytest.param(300, marks=pytest.mark.long)], indirect=True)
EACH = pytest.mark.parametrize("name", ENVIRONMENTS)
STEPS = 10_000
"""No episode of a small instance is longer."""


def accepted(name: str, random: np.random.Generator, least: int = 1, most: int = 4) -> list[Any]:
    """Some instances that the environment takes, sizes and kinds mixed."""
    problem, found, count = played(name), [], int(random.integers(least, most + 1))
    for _ in range(40):
        instance = drawn(problem.name, random)
        try:
            problem.environment([instance], 1)
        except UsageError:
            continue
        found.append(instance)
        if len(found) == count:
            return found
    assert found, "no small instance is taken"
    return found


def seeds(name: str, count: int) -> range:
    """So many, and a quarter of it where a step calls an engine."""
    environment = played(name).environment(accepted(name, np.random.default_rng(0), 1, 1), 1)
    return range(count if environment.compiled else count // 4)


def narrow(problem: Played, instances: list[Any], rows: int, random: np.random.Generator) -> Environment:
    """An environment that lists few actions, or as many as it likes."""
    width = int(random.integers(1, 14))
    try:
        return problem.environment(instances, rows, width if random.random() < 0.7 else None)
    except UsageError:  # one of them must list two
        return problem.environment(instances, rows, 2)


def seen(environment: Environment, row: int) -> dict[str, bytes]:
    """All that a row shows, to the bit."""
    shown = {key: array[0].tobytes() for key, array in environment.observe([row]).items()}
    return shown | {"listed": environment.actions([row]).tobytes()}


def check_listed(environment: Environment, rows: Any) -> np.ndarray:
    """`actions` of rows; they are padded and different, and so is everything that `observe` shows of an axis R."""
    listed = environment.actions(rows)
    assert listed.dtype == np.int32 and listed.shape == (len(rows), environment.width)
    there = listed >= 0
    assert (np.diff(there.astype(int), axis=1) <= 0).all() and (listed[~there] == -1).all()
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in listed)
    for key, array in environment.observe(rows).items():
        assert len(array) == len(rows), key
        assert array.dtype.kind in "biu" or not np.isnan(array).any(), key  # inf: there is no limit
    return listed


def outside(environment: Environment, row: int, spare: int, action: int) -> float | None:
    """The reward of an action that may not be legal, made in the row `spare`; None where it is refused, which changes nothing."""
    before = seen(environment, row), seen(environment, spare)
    try:
        return float(environment.step([row], [spare], [action])[0])
    except UsageError as error:
        refusal = str(error)
    assert refusal == f"action {action} is not legal in row {row}"
    assert before == (seen(environment, row), seen(environment, spare))
    return None


def episode(environment: Environment, random: np.random.Generator, keys: Any) -> tuple[Any, Any, list[list[int]]]:
    """Each instance to the end of a random legal episode; [m] the totals, [m] the last rows, and the actions taken.

    Steps go in place or to another row, whose source then stays as it was; some take an action that is not listed but legal.
    """
    m = len(environment.instances)
    here, spare, taken = np.arange(m), 2 * m, [[] for _ in range(m)]
    total = environment.reset(here, here, keys)
    assert total.dtype == np.float64 and total.shape == (m,)
    for _ in range(STEPS):
        listed = check_listed(environment, here)
        live = np.flatnonzero(listed[:, 0] >= 0)
        if not len(live):
            return total, here, taken
        chosen = np.array([random.choice(row[row >= 0]) for row in listed[live]])
        for i, k in enumerate(live):
            other = int(random.integers(-1, listed.max() + 3))
            if random.random() < 0.3 and outside(environment, here[k], spare, other) is not None:
                chosen[i] = other
        there = np.where(random.random(len(live)) < 0.5, here[live], live + m * (here[live] < m))
        kept = here[live][there != here[live]]
        before = [seen(environment, row) for row in kept]
        rewards = environment.step(here[live], there, chosen)
        assert rewards.dtype == np.float64 and np.isfinite(rewards).all()
        assert before == [seen(environment, row) for row in kept]
        total[live] += rewards
        here[live] = there
        for k, action in zip(live, chosen):
            taken[k].append(int(action))
    raise AssertionError(f"an episode does not end within {STEPS} steps")


@MANY
@EACH
def test_base_and_rewards_are_the_objective(name: str, count: int):
    """Sizes and kinds mixed, however few actions are listed, whatever the keys: base + rewards of a random legal episode are the
    objective of its solution, by the judge, and so they are when the solution went through JSON. A row whose episode is over
    takes no action, and one whose is not has no solution.
    """
    problem, sign = played(name), 1.0 if played(name).sense == "max" else -1.0
    for seed in seeds(name, count):
        random = np.random.default_rng(seed)
        instances = accepted(name, random)
        environment = narrow(problem, instances, 2 * len(instances) + 1, random)
        keys = random.integers(0, 2**63, len(instances)).astype(np.uint64)
        for row in np.flatnonzero(environment.actions(range(environment.rows))[:, 0] >= 0):
            with pytest.raises(UsageError, match=rf"\brow {row}\b"):
                environment.solution(row)
        totals, rows, _ = episode(environment, random, keys)
        for given, key, row, total in zip(instances, keys.tolist(), rows, totals):
            instance = problem.realised_instance(given, key)
            solution = environment.solution(int(row))
            value = json.loads(json.dumps(problem.to_json(instance, solution)))
            for each in (solution, problem.from_json(instance, value)):
                assert problem.evaluate(instance, each) == pytest.approx(sign * total, rel=1e-9, abs=1e-9), seed
            assert all(outside(environment, int(row), 2 * len(instances), action) is None for action in range(-1, 5))


@MANY
@EACH
def test_decisions_lead_to_a_solution_as_good(name: str, count: int):
    """The decisions of a solution, replayed from the same key, are legal, end the episode, and come to no less than it."""
    problem = played(name)
    if not problem.adapter.has_decisions:
        with pytest.raises(UsageError, match="does not determine the decisions"):
            problem.decisions(None, None)
        return
    for seed in seeds(name, count):
        random = np.random.default_rng(seed)
        instances = accepted(name, random)
        environment, keys = narrow(problem, instances, 2 * len(instances) + 1, random), np.arange(len(instances))
        totals, rows, _ = episode(environment, random, keys)
        for k, (instance, row) in enumerate(zip(instances, rows)):
            again = problem.environment([instance], 1)
            value = again.reset([0], 0, [k])[0]
            for action in problem.decisions(instance, environment.solution(int(row)), k):
                value += again.step([0], [0], [action])[0]
            assert again.actions([0])[0, 0] < 0, "the decisions end before the episode does"
            assert value >= totals[k] - 1e-9 * max(1.0, abs(totals[k])), seed


@MANY
@EACH
def test_rows_are_independent(name: str, count: int):
    """What is done with a row alone, in a pool of another number of rows or over this instance only, has the same bits as among
    other rows: actions, observations, rewards and solutions."""
    problem = played(name)
    for seed in seeds(name, count):
        random = np.random.default_rng(seed)
        instances = accepted(name, random, most=6)
        m, keys = len(instances), random.integers(0, 2**63, 6).astype(np.uint64)[: len(instances)]
        environment = problem.environment(instances, 2 * m + 1)
        totals, rows, taken = episode(environment, random, keys)
        together = problem.environment(instances, m)
        alone, single = problem.environment(instances, m + 2), [problem.environment([instance], 1) for instance in instances]
        bases = together.reset(np.arange(m), np.arange(m), keys)
        where = np.full(m, m + 1)
        for k in range(m):
            alone.reset(where[k], k, keys[k])
            total, apart = bases[k], single[k].reset(0, 0, keys[k])[0]
            for action in taken[k]:
                assert seen(alone, m + 1) == seen(together, k), seed
                listed = single[k].actions([0])[0]
                assert alone.actions([m + 1])[0, : (listed >= 0).sum()].tolist() == listed[listed >= 0].tolist()
                rewards = [one.step([at], [at], [action])[0] for one, at in ((alone, m + 1), (together, k), (single[k], 0))]
                assert rewards[0] == rewards[1] == rewards[2], seed
                total, apart = total + rewards[0], apart + rewards[0]
            assert total == apart == totals[k], seed
            ended = (alone, m + 1), (together, k), (single[k], 0), (environment, int(rows[k]))
            judged = problem.realised_instance(instances[k], int(keys[k]))
            ends = [problem.to_json(judged, one.solution(at)) for one, at in ended]
            assert ends[0] == ends[1] == ends[2] == ends[3], seed


@EACH
def test_illegal_actions_are_refused(name: str):
    """Of all ids near those that are listed, and of some that nothing can be: each is listed, or legal though not listed, or
    refused with no row changed; an illegal one among legal ones is named after these were made."""
    random, refused = np.random.default_rng(0), 0
    for instance in accepted(name, random, 6, 6):
        environment = played(name).environment([instance], 4)
        while (listed := environment.actions([0])[0])[0] >= 0:
            for action in (-(2**31), -1, *range(int(listed.max()) + 9), 10**6, 2**31 - 1):
                reward = outside(environment, 0, 1, action)
                assert reward is not None or action < 0 or action not in listed
                refused += reward is None
                if reward is None:
                    with pytest.raises(UsageError, match=f"action {action} is not legal in row 0"):
                        environment.step([0, 0], [2, 3], [action, listed[0]])
                    environment.step([0], [1], listed[:1])
                    assert seen(environment, 3) == seen(environment, 1)
            environment.step([0], [0], [random.choice(listed[listed >= 0])])
    assert refused > 4


@MANY
@pytest.mark.parametrize("problem", sorted({name.split()[0] for name in ENVIRONMENTS}))
def test_features(problem: str, count: int):
    """What networks see: Tokens of the promised shapes and types, finite, zero where nothing is; the first K tokens are those of
    the listed actions. A row has the same bits among others. An observation of another kind may be refused; one is not."""
    met = {features for name in ENVIRONMENTS if name.split()[0] == problem for features in check_features(name, count)}
    assert met == set(registry.problem(problem).features)


def check_features(name: str, count: int) -> set[str]:
    """The features that take the environment's observations."""
    problem, met = played(name), set()
    for seed in seeds(name, count):
        random = np.random.default_rng(seed)
        instances = accepted(name, random)
        environment, m = narrow(problem, instances, len(instances), random), len(instances)
        environment.reset(np.arange(m), np.arange(m), np.arange(m))
        rows = np.arange(m)
        while (rows := rows[environment.actions(rows)[:, 0] >= 0]).size:
            observation, listed = environment.observe(rows), environment.actions(rows)
            for features, tokens_of in problem.features.items():
                try:
                    tokens = tokens_of(observation)
                except UsageError:
                    continue
                met.add(features)
                check_tokens(tokens, listed)
                one = tokens_of(environment.observe(rows[-1:]))
                for given, whole in zip(one, tokens):
                    assert given is whole is None or given[0].tobytes() == whole[-1].tobytes(), (features, seed)
            chosen = [random.choice(row[row >= 0]) for row in listed]
            environment.step(rows, rows, chosen)
    return met


def check_tokens(tokens: Any, listed: np.ndarray) -> None:
    """The promises of corl.networks.tokens, for rows whose actions are `listed` [R, K]."""
    (r, k), t = listed.shape, tokens.x.shape[1]
    assert tokens.x.dtype == np.float32 and tokens.x.ndim == 3 and len(tokens.x) == r and t >= k
    assert tokens.mask.dtype == np.bool_ and tokens.mask.shape == (r, t)
    shown = tokens.mask[:, :k]  # features may leave out some of the listed actions
    assert not shown[listed < 0].any() and shown.any(axis=1).all()
    assert np.isfinite(tokens.x).all() and not tokens.x[~tokens.mask].any()
    assert tokens.scale.dtype == np.float64 and tokens.scale.shape == (r,)
    assert np.isfinite(tokens.scale).all() and (tokens.scale > 0).all()
    if tokens.pairs is not None:
        assert tokens.pairs.dtype == np.float32 and tokens.pairs.shape[:3] == (r, t, t) and np.isfinite(tokens.pairs).all()


@EACH
def test_starts_and_symmetries(name: str):
    """Each of the keys below `starts` begins in a state of its own; to symmetric instances a solution is worth the same."""
    problem, random = played(name), np.random.default_rng(0)
    sign = 1.0 if problem.sense == "max" else -1.0
    for instance in accepted(name, random, 9, 9):
        starts = problem.start_count(instance)
        environment = problem.environment([instance], starts)
        environment.reset(np.arange(starts), 0, np.arange(starts))
        states = {b"".join(np.ascontiguousarray(array[row]).tobytes() for array in environment.state if len(array) == starts)
                  for row in range(starts)}  # fmt: skip
        assert starts == 1 or len(states) == starts
        environment = problem.environment([instance], 3)
        (total,), (row,), _ = episode(environment, random, None)
        same = problem.symmetries(instance)
        values = [problem.evaluate(problem.realised_instance(each, 0), environment.solution(int(row))) for each in same]
        assert same[0] is instance and values == pytest.approx(len(same) * [sign * total], rel=1e-6, abs=1e-9)


@EACH
def test_pools_of_nothing_are_refused(name: str):
    """No instance, no row, no listed action."""
    problem = played(name)
    (instance,) = accepted(name, np.random.default_rng(0), 1, 1)
    for arguments in (([], 1), ([instance], 0), ([instance], 1, 0)):
        with pytest.raises(UsageError, match="an environment takes at least one instance, one row and"):
            problem.environment(*arguments)
