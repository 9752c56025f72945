"""The flow shop: set-ups before the first job or not, idle operations, both objectives; optima over all sequences."""

from __future__ import annotations

import numpy as np

from corl.problems.flowshop.instance import FlowShopInstance
from support.families.flowshop import least
from support.mixes import Mix

__all__ = ["RULES", "make"]

RULES = ("setups", "first setups", "zeros", "equal jobs", "total", "one machine")


def make(seed: int) -> Mix:
    """Up to five jobs on up to four machines."""
    random = np.random.default_rng([seed, 37])
    has = set(random.choice(RULES, int(random.integers(0, 5)), replace=False).tolist())
    jobs, machines = int(random.integers(1, 6)), 1 if "one machine" in has else int(random.integers(1, 5))
    duration = random.integers(1, 10, (jobs, machines))
    if "zeros" in has:
        duration[random.random(duration.shape) < 0.4] = 0
    if "equal jobs" in has:
        duration[:] = duration[0]
    setup = None
    if has & {"setups", "first setups"}:
        setup = random.integers(0, 10, (machines, jobs + ("first setups" in has), jobs))
        setup[random.random(machines) < 0.3] = 0
    objective = "total_completion_time" if "total" in has else "makespan"
    instance = FlowShopInstance(f"mix-{seed}", duration, setup, objective)  # type: ignore[arg-type]
    return Mix(instance, float(least(instance)), tuple(sorted(has)))
