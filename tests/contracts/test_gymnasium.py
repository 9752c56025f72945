"""Every environment that networks can see passes Gymnasium's own checker, and its rewards are those of the judge."""

from __future__ import annotations

import numpy as np
import pytest
from families import ENVIRONMENTS, Played, played, small

from corl import UsageError, registry

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
VISIBLE = [name for name in ENVIRONMENTS if played(name).features]


def made(problem: Played):
    """An environment over the small instances of a problem that it takes together, of eight slots (the checker draws from its
    spaces)."""
    from corl.gymnasium import make

    taken = []
    for instance in small(problem.name):
        try:
            make(problem.name, [*taken, instance], environment=problem.played, width=8)
        except UsageError:  # without coordinates, say, or without a choice
            continue
        taken.append(instance)
    return make(problem.name, taken, environment=problem.played, width=8)


@pytest.mark.parametrize("name", VISIBLE)
@pytest.mark.filterwarnings("ignore:.*(Box observation space|alternative render modes)")
def test_the_checker_passes(name):
    """Gymnasium's `check_env`: spaces, seeds, resets and steps."""
    from gymnasium.utils.env_checker import check_env

    check_env(made(played(name)))


@pytest.mark.parametrize("name", VISIBLE)
def test_rewards_add_up_to_the_objective(name):
    """Random episodes: base + rewards is what the judge says of the solution, with the problem's sign."""
    problem, random = played(name), np.random.default_rng(0)
    env = made(problem)
    for seed in range(4):
        which = int(random.integers(len(env.instances)))
        seen, info = env.reset(seed=seed, options={"instance": which})
        total, key, over = info["base"], info["key"], False
        while not over:
            assert env.observation_space.contains(seen) and info["action_mask"].any()
            seen, reward, over, cut, info = env.step(int(random.integers(env.action_space.n)))
            total += reward
            assert not cut
        adapter = problem.with_sense_of(env.instances[which])
        value = adapter.evaluate(adapter.realised_instance(env.instances[which], key), info["solution"])
        assert total == pytest.approx(value if adapter.sense == "max" else -value, rel=1e-9, abs=1e-9)
        with pytest.raises(UsageError, match="the episode is over"):
            env.step(0)


@pytest.mark.parametrize("name", sorted({name.partition(" ")[0] for name in VISIBLE}))
def test_instances_of_others_are_refused(name):
    """A UsageError, whatever stands where a list of the problem's instances or an option should be."""
    from corl.gymnasium import make

    own, other = small(name)[0], small("knapsack" if name == "tsp" else "tsp")[0]
    for instances in ([other], [own, other], [], own, None, [None], ["tsp/uniform-500"], "tsp/uniform-500", [{"a": 1}], 3):
        with pytest.raises(UsageError):
            make(name, instances)
    for options in ({"width": 0}, {"width": -1}, {"width": 1.5}, {"width": "a"}, {"features": "x"}, {"environment": "x"}):
        with pytest.raises(UsageError):
            make(name, [own], **options)


def test_what_is_refused():
    """Problems that networks cannot see, unknown features, numbers of instances that there are not."""
    from corl.gymnasium import make

    with pytest.raises(UsageError, match="milp has no environment that networks can see"):
        make("milp", [])
    env = make("knapsack", [registry.problem("knapsack").generators["uniform"](size=4)])
    for which in (1, -1, "a"):
        with pytest.raises(UsageError, match=r"instance: .* is not accepted; it takes a number below 1"):
            env.reset(options={"instance": which})
    with pytest.raises(UsageError, match="knapsack has no features 'x'"):
        make("knapsack", [registry.problem("knapsack").generators["uniform"](size=4)], features="x")
