"""Days of requests for the contracts of decisions over time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corl.problems.vrp.generators_requests import requests
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.days import requests_of
from corl.problems.vrp.online.epochs import EPOCH

EXOGENOUS = ("epoch",)
ONLINE = {
    name: {"iterations": 20, **({"scenarios": 2} if name in ("consensus", "learned", "sampled-prizes") else {})}
    for name in ("consensus", "greedy", "lazy", "learned", "sampled-prizes", "threshold")
}
"""Options with which the policies are quick."""


def streamed(seed: int, size: int = 12) -> VrpInstance:
    """A small day."""
    return requests(size=size, per_epoch=3, seed=seed)


def futures(seed: int) -> tuple[VrpInstance, VrpInstance, float]:
    """Two days that differ only in the demands of what is known after a time, and the time."""
    first = streamed(seed)
    nodes, known, _ = requests_of(first)
    epoch = int(np.sort(known)[len(known) // 2])
    demand = first.demand.copy()
    later = nodes[known > epoch]
    demand[later] = np.random.default_rng(seed).integers(1, 20, len(later))
    return first, replace(first, demand=demand), epoch * EPOCH


def random_decision(stream: Any, knowledge: Any, random: np.random.Generator) -> dict[str, Any]:
    """A route for each request that must go, and for some of the others."""
    ids, now = knowledge.situation()
    return {"routes": [[int(number)] for number, must in zip(ids, now.must) if must or random.random() < 0.3]}
