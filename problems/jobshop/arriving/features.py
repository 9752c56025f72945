"""What a network sees of a machine's queue, in units of the operations' own durations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.problems.jobshop.arriving.environment import OF_JOBS, OF_SHOP
from corl.tokens import Tokens

__all__ = ["JOB", "SHOP", "describe", "queue"]

JOB, SHOP = 16, 6
"""Features of a job and of the shop, in the order of `describe`."""
_LATER = 100.0  # an exponent of the apparent tardiness cost beyond which a job may as well wait


def queue(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """K tokens of the jobs that wait for ArrivingEnvironment's machine and one of the shop; those of a job come first.

    The first two features of a job are the logarithms of the two factors of its apparent tardiness cost (Vepsalainen and Morton,
    1987, with a look-ahead of 2), whose sum is that rule. The unit is about what the estimate has still to grow. Raises
    UsageError for observations of another environment.
    """
    if "queue" not in observation:
        raise UsageError("the features queue are of the environment arriving; accepted: its observations")
    jobs = np.stack([observation[name] for name in OF_JOBS], axis=2)
    shop = np.stack([observation[name] for name in OF_SHOP], axis=1)
    rows, slots = observation["mask"].shape
    x, scale = np.zeros((rows, slots + 1, JOB + SHOP), np.float32), np.ones(rows)
    _describe_rows(jobs, shop, observation["mask"], x, scale)
    return Tokens(x, np.concatenate([observation["mask"], np.ones((rows, 1), bool)], axis=1), None, scale)


@kernel
def _describe_rows(jobs: Any, shop: Any, mask: Any, x: Any, scale: Any) -> None:
    """`describe` for each row, into x [R, K + 1, JOB + SHOP], and the rows' units."""
    slots = mask.shape[1]
    for i in range(len(mask)):
        count = 0
        while count < slots and mask[i, count]:
            count += 1
        if count > 0:
            scale[i] = describe(jobs[i], count, shop[i], x[i, :slots], x[i, slots, JOB:])


@kernel
def describe(jobs: Any, count: Any, shop: Any, out: Any, whole: Any) -> Any:
    """The features of `count` jobs into out [count, at least JOB], those of the shop into whole [SHOP]; returns the unit.

    jobs [count, 10], shop [5]: what ArrivingEnvironment observes, in that order. Times are in mean durations of what is left of
    these jobs, on a logarithmic scale.
    """
    unit, mean, heavy = 0.0, 0.0, 0.0
    for k in range(count):
        unit += jobs[k, 2] / max(1, jobs[k, 3])
        mean += jobs[k, 1]
        heavy += jobs[k, 5]
    unit, mean = max(unit / count, 1e-3), 1.0 + mean / count
    now, tardy, late, queues = shop[0], shop[4], 0.0, 0.0
    for k in range(count):
        slack = jobs[k, 4] - jobs[k, 2] - now if tardy else 0
        duration, last, wait = jobs[k, 1], jobs[k, 3] <= 1, max(0, slack)
        seen = out[k]
        seen[0] = np.log(max(1, jobs[k, 5]) * unit / (1.0 + duration))
        seen[1] = -min(wait / (2.0 * mean), _LATER)
        seen[2] = np.arcsinh(slack / unit)
        seen[3] = slack <= 0
        seen[4] = max(0.0, 1.0 - wait / (1.0 + 2.0 * jobs[k, 2]))  # the cost over time (Carroll, 1965)
        seen[5] = np.arcsinh(duration / unit)
        seen[6] = np.arcsinh((jobs[k, 2] - duration) / unit)
        seen[7] = 0.5 * np.log(1.0 + jobs[k, 3])
        seen[8] = last
        seen[9] = np.arcsinh(jobs[k, 8] / unit)
        seen[10] = np.arcsinh(jobs[k, 9] / unit)
        seen[11] = jobs[k, 9] < duration and not last  # the next machine would wait for this job
        seen[12] = np.arcsinh((now - jobs[k, 6]) / unit)
        seen[13] = np.arcsinh((now - jobs[k, 7]) / unit)
        seen[14] = np.log(max(1, jobs[k, 5]))
        seen[15] = tardy
        late += slack <= 0
        queues += jobs[k, 9]
    whole[0] = 1.0
    whole[1] = 0.5 * np.log(1.0 + count)
    whole[2] = 0.5 * np.log(1.0 + shop[2])
    whole[3] = 0.25 * np.arcsinh(shop[3] / unit)
    whole[4] = late / count
    whole[5] = np.arcsinh(queues / count / unit)
    return unit * (1.0 + shop[2]) * (max(heavy / count, 1.0) if tardy else 1.0)
