"""Golden rows of shipped checkpoints: what rebuilds them, a digest of their weights, and what they say of seeded inputs."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch
from golden_episodes import begun, played
from torch import Tensor

import corl
from corl.solvers.milp.branching.lists import Lists
from corl.solvers.milp.revibranch.network import Revived

_STATES = {
    "tsp-bq": ("tsp", "plane"), "atsp-bq": ("tsp", "larger"), "memory": ("memory", "dag"), "jobshop": ("jobshop", "classic"),
    "knapsack": ("knapsack", "strong"), "orienteering": ("orienteering", "near"),
}  # fmt: skip
_STEPS = 3  # before a policy is asked
_DIGITS = 5  # decimals kept; compared to 1e-4


def row(name: str) -> dict[str, Any]:
    """What the golden file says of a shipped checkpoint."""
    network = corl.load_policy(name)
    weights = hashlib.sha256()
    for key, tensor in sorted(network.state_dict().items()):
        weights.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode() + tensor.numpy().tobytes())
    return {
        "architecture": network.architecture,
        "config": network.config,
        "said": {key: _rounded(values) for key, values in _said(name, network).items()},
        "weights": weights.hexdigest()[:16],
    }


def _said(name: str, network: Any) -> dict[str, Any]:
    """Outputs by name, each flat."""
    if hasattr(network, "on"):
        environment, _ = begun(*_STATES[name if name in _STATES else network.problem], network.environment)
        for _, (rows, chosen) in zip(range(_STEPS), played(environment)):
            environment.step(rows, rows, chosen)
        logits, values = network.on(environment).evaluate(environment.view(np.arange(environment.rows)))
        return {"logits": logits, "values": values}
    with torch.inference_mode():
        return _BY_ARCHITECTURE[network.architecture](network, torch.from_numpy)


def _perceptron(network: Any, tensor: Any) -> dict[str, Tensor]:
    return {"scores": network.score(tensor(_draw(6, len(network.mean))))}


def _gated_graph(network: Any, tensor: Any) -> dict[str, Tensor]:
    links = np.array([[i, j] for i in range(5) for j in range(5) if i != j]).T
    nodes, edges = _draw(5, network.config["nodes"]), _draw(links.shape[1], network.config["edges"])
    return {"edges": network(tensor(nodes), tensor(links), tensor(edges))}


def _priority(network: Any, tensor: Any) -> dict[str, Tensor]:
    """It has no forward pass in torch: solves by `learned-priority` are its rows."""
    return {}


def _revived(network: Any, tensor: Any) -> dict[str, Tensor]:
    """Of a node with four candidates, below one with two."""
    above = np.full((1, network.ancestors), -1)
    above[:, :1] = 0
    seen = Lists(tensor(_draw(6, len(network.mean))), tensor(np.arange(4) < np.array([[2], [4]])))
    parts = (np.array([1, 0]), np.array([1]), above, np.zeros_like(above))
    return {"scores": network(Revived(seen, *map(tensor, parts)))[0]}


_BY_ARCHITECTURE = {
    "gated-graph": _gated_graph,
    "memory-priority": _priority,
    "milp-branching": _perceptron,
    "milp-revibranch": _revived,
}


def _draw(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def _rounded(values: Any) -> list[Any]:
    """Flat, to five decimals; None for minus infinity."""
    flat = np.asarray(values, np.float64).ravel()
    return [None if number == -np.inf else round(float(number), _DIGITS) + 0.0 for number in flat]
