"""Branches: how much the residual branches of a network add to their inputs, for the curves of its training.

A residual branch whose output is nearly 0 has no effect. The sizes show whether a training has brought a layer into use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

__all__ = ["PREFIX", "Branches", "idle_layers"]

PREFIX = "branch "
"""The prefix of the metrics' names."""
_EVERY = 50  # steps between two measurements
_IDLE = 0.01  # size of a branch, as a share of its input, below which it has no effect


class Branches:
    """The residual layers of a network, and the sizes of their branches: the norm of the output as a share of the input's norm.

    A residual layer is a module that names its branches in a tuple `branches` and has an attribute `sizes`. Its forward pass
    writes the size of each branch into the dict `sizes`, unless `sizes` is None.
    """

    def __init__(self) -> None:
        self._layers: dict[str, Any] = {}

    def add(self, network: nn.Module) -> None:
        """Add the residual layers of a network, under their names in the network."""
        self._layers |= {name: module for name, module in network.named_modules() if _is_residual(module)}

    def begin(self, step: int) -> None:
        """Prepare step number `step`: in every 50th step the layers measure their branches, in the other steps they do not."""
        for layer in self._layers.values():
            layer.sizes = {} if step % _EVERY == _EVERY - 1 else None

    def measured(self) -> dict[str, float]:
        """Return the size of each branch in the current step, by "branch LAYER KIND"; {} in a step without a measurement."""
        found: dict[str, float] = {}
        for name, layer in self._layers.items():
            found |= {f"{PREFIX}{name} {branch}": size for branch, size in (layer.sizes or {}).items()}
        return found


def _is_residual(module: nn.Module) -> bool:
    return isinstance(getattr(module, "branches", None), tuple) and hasattr(module, "sizes")


def idle_layers(metrics: Mapping[str, float]) -> list[str]:
    """Return the names of the layers without effect: all their branches have sizes below 0.01 in the metrics of a run."""
    largest: dict[str, float] = {}
    for name, size in metrics.items():
        if name.startswith(PREFIX):
            layer = name.removeprefix(PREFIX).rsplit(" ", 1)[0]
            largest[layer] = max(size, largest.get(layer, 0.0))
    return [layer for layer, size in largest.items() if size < _IDLE]
