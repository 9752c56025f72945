"""The flow shop as a decision process: what is observed of a job is what happens when it comes next."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.flowshop.environment import FlowShopEnvironment

KINDS = ("makespan", "total", "makespan setups", "total setups", "makespan first", "total zeros")


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_episode_is_the_best_sequence(random_instance, least, best_rewards, kind):
    """And no estimate on the way is above what can still be reached."""
    for seed in range(3):
        instance = random_instance(kind, 4, 1 + seed, seed)
        environment = FlowShopEnvironment([instance], 6)
        base = environment.reset([0], 0)[0]
        assert base + best_rewards(environment) == -least(instance)
        assert -base <= least(instance)
        for job in range(3):
            environment.step([0], [1], [job])
            assert best_rewards(environment, 1) <= 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_observed_of_a_job_happens(random_instance, kind):
    """The end of each listed job, its waits and set-ups, against a step with it."""
    instance = random_instance(kind, 6, 3, 4)
    environment = FlowShopEnvironment([instance], 2)
    for last in (None, 2, 4, 0):
        if last is not None:
            environment.step([0], [0], [last])
        seen, free = environment.observe([0]), environment.state.free[0].copy()
        assert (np.diff(seen["work"][0, : seen["remaining"][0]]) >= 0).all()
        for slot, job in enumerate(seen["action"][0][seen["mask"][0]]):
            environment.step([0], [1], [job])
            after = environment.state.free[1]
            assert seen["end"][0, slot] == after[-1] and seen["work"][0, slot] == instance.duration[job].sum()
            assert seen["idle"][0, slot] == (after - free - instance.duration[job]).sum()
            setup = 0 if instance.setup is None else instance.setup[:, 6 if last is None else last, job].sum()
            assert seen["setup"][0, slot] == setup
