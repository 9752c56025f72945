"""Sampled futures: the waiting requests together with requests that may come in the following epochs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.epochs import Requests, departure
from corl.problems.vrp.online.hindsight import planning_instance
from corl.problems.vrp.online.sampling import REQUESTS_PER_EPOCH, sample_epoch
from corl.problems.vrp.online.situation import Situation

__all__ = ["Scenario", "scenario"]


class Scenario(NamedTuple):
    """A static instance whose clients are the waiting requests, followed by the sampled ones."""

    instance: VrpInstance
    waiting: int
    """The number of waiting requests."""


def scenario(
    now: Situation, waiting: Requests, postponed: NDArray[np.bool_], ahead: int, share: float, random: np.random.Generator
) -> Scenario:
    """Return a scenario.

    Args:
        now: The situation.
        waiting: W waiting requests of it.
        postponed: bool [W]: the waiting requests that leave in the next epoch or later.
        ahead: The number of epochs whose requests are sampled.
        share: The share of REQUESTS_PER_EPOCH that is sampled in each epoch.
        random: The generator.
    """
    count = max(1, round(share * REQUESTS_PER_EPOCH))
    requests, release = waiting, [np.where(postponed, departure(now.epoch + 1), now.start)]
    for epoch in range(now.epoch + 1, min(now.last, now.epoch + ahead) + 1):
        drawn = sample_epoch(now.customers, epoch, count, random)
        requests = requests.join(drawn)
        release.append(np.full(len(drawn.customer), departure(epoch)))
    instance = planning_instance(now.customers, requests, start=now.start, release=np.concatenate(release))
    return Scenario(instance, len(waiting.customer))
