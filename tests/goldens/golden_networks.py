"""Checkpoints with random weights, for `policy`, `tree-search` and `muzero` on problems that ship none."""

from __future__ import annotations

from typing import Any

from golden_cases import CASES, INSTANCES, NETWORKS, instance

from corl import registry
from corl.networks.architectures import network_class
from corl.networks.checkpoints import save

_SIZES = {"width": 8, "layers": 1, "heads": 2, "feedforward": 16}
_SMALL: dict[str, dict[str, Any]] = {"attention": _SIZES, "muzero": _SIZES | {"bins": 8}}


def write() -> None:
    """Write those that the cases name. They are inputs of the golden files: only a problem without one needs this again."""
    import torch

    NETWORKS.mkdir(exist_ok=True)
    wanted = sorted({(case.problem, pair) for case in CASES for pair in case.options.split() if pair.startswith("network=")})
    for problem, pair in wanted:
        name = pair.removeprefix("network=")
        architecture = name.removeprefix(f"{problem}-")
        torch.manual_seed(len(architecture))
        network = network_class(architecture)(**_sizes(problem), **_SMALL[architecture])
        for weights in network.parameters():
            torch.nn.init.normal_(weights, std=0.3)
        save(NETWORKS / f"{name}.safetensors", network)


def _sizes(problem: str) -> dict[str, Any]:
    """The arguments of a network that fits the problem's first features."""
    adapter = registry.problem(problem)
    environment = adapter.environment([instance(problem, next(iter(INSTANCES[problem])))], 1)
    environment.reset([0], [0])
    features, function = next(iter(adapter.features.items()))
    seen = function(environment.observe([0]))
    return {
        "problem": problem,
        "features": features,
        "inputs": seen.x.shape[2],
        "pairs": 0 if seen.pairs is None else seen.pairs.shape[3],
        "extra": seen.x.shape[1] - environment.width,
    }
