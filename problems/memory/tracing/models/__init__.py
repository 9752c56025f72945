"""Models that `corl trace` knows by name, with their published sizes.

They are created on the meta device, without weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["MODELS", "SHIPPED", "build"]


class _Model(NamedTuple):
    """Where a model's class is, and its inputs."""

    module: str
    """The name of the module in this package."""
    class_name: str
    """The name of the class in that module."""
    inputs: Callable[[int], list[tuple[str, tuple[int, ...]]]]
    """Batch size -> (kind, shape) of each input; kind: "float", or "integer" for tokens and indices."""
    about: str
    """The size of the model and its inputs, for people."""


def _pictures(side: int) -> Callable[[int], list[tuple[str, tuple[int, ...]]]]:
    return lambda batch: [("float", (batch, 3, side, side))]


def _tokens(*lengths: int) -> Callable[[int], list[tuple[str, tuple[int, ...]]]]:
    return lambda batch: [("integer", (batch, length)) for length in lengths]


def _mesh(batch: int) -> list[tuple[str, tuple[int, ...]]]:
    nodes, edges = 1900 * batch, 11000 * batch
    return [("float", (nodes, 11)), ("float", (edges, 3)), ("integer", (edges,)), ("integer", (edges,))]


def _game(batch: int) -> list[tuple[str, tuple[int, ...]]]:
    return [("float", (batch, 7, 16, 16, 16)), ("float", (batch, 2)), ("integer", (batch, 12))]


MODELS: dict[str, _Model] = {
    "alexnet": _Model("convolutional", "AlexNet", _pictures(224), "224 x 224"),
    "alphatensor": _Model("alphatensor", "AlphaTensor", _game, "4 x 4 matrices"),
    "bert": _Model("attention", "Bert", _tokens(256, 256, 256), "base, 256 tokens"),
    "gnn": _Model("graph", "MeshGraphNet", _mesh, "MeshGraphNets, 1,900 nodes and 11,000 edges per element of the batch"),
    "gpt2": _Model("attention", "Gpt2", _tokens(512), "small, 512 tokens"),
    "resnet50": _Model("convolutional", "ResNet50", _pictures(224), "224 x 224"),
    "t5": _Model("attention", "T5", _tokens(256, 128), "small, 256 tokens in and 128 out"),
    "unet": _Model("convolutional", "UNet", _pictures(256), "64 to 1024 channels, 256 x 256"),
    "vit": _Model("attention", "Vit", _pictures(224), "base, patches of 16, 224 x 224"),
}

SHIPPED: Mapping[str, tuple[int, ...]] = dict.fromkeys(MODELS, (1, 8)) | {"alexnet": (1, 32), "unet": (1, 4)}
"""Model -> the batch sizes of the shipped instances."""


def build(name: str, batch: int) -> tuple[Any, list[Any]]:
    """Return the model with that name in evaluation mode, and its inputs, all on the meta device."""
    import importlib

    import torch

    entry = MODELS[name]
    module = importlib.import_module(f"{__name__}.{entry.module}")
    with torch.device("meta"):
        model = getattr(module, entry.class_name)().eval()
        types = {"float": torch.float32, "integer": torch.int64}
        return model, [torch.empty(shape, dtype=types[kind]) for kind, shape in entry.inputs(batch)]
