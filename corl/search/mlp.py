"""Small networks that compiled code evaluates, for `corl.search.models.CompiledModel`: no call of torch in a simulation.

A problem's own model is a NamedTuple that holds an `Mlp`, with a function attached to `corl.search.hooks.evaluate` that
writes its inputs and calls `forward`:

    class Scores(NamedTuple):
        mlp: Mlp

    @attach(hooks.evaluate, Scores, MyState)
    def _evaluate(model, state, row, actions, count, logits): ...
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.search import hooks
from corl.search.hooks import attach

__all__ = ["Mlp", "Uniform", "forward", "mlp_of"]


class Mlp(NamedTuple):
    """Two dense layers with a ReLU between them: I inputs, H hidden units, O outputs; float32."""

    w1: NDArray[np.float32]
    """[I, H]"""
    b1: NDArray[np.float32]
    """[H]"""
    w2: NDArray[np.float32]
    """[H, O]"""
    b2: NDArray[np.float32]
    """[O]"""


class Uniform(NamedTuple):
    """All actions alike, and the same value for every state: plain tree search by the rewards, for any environment."""

    value: float = 0.0


def mlp_of(network: Any) -> Mlp:
    """The weights of torch.nn.Sequential(Linear, ReLU, Linear) as an Mlp. Raises UsageError for another network."""
    layers = list(network)
    names = [type(layer).__name__ for layer in layers]
    if names != ["Linear", "ReLU", "Linear"] or any(layer.bias is None for layer in layers[::2]):
        raise UsageError(f"a compiled MLP is Linear, ReLU, Linear with biases, not {', '.join(names)}")
    first, second = layers[0], layers[2]
    w1, b1, w2, b2 = first.weight.t(), first.bias, second.weight.t(), second.bias
    return Mlp(*(np.ascontiguousarray(array.detach().cpu().numpy(), np.float32) for array in (w1, b1, w2, b2)))


@kernel(fastmath=True, borrow=True)
def forward(mlp: Any, inputs: Any, hidden: Any, outputs: Any) -> None:
    """outputs [O] = relu(inputs [I] @ w1 + b1) @ w2 + b2, all float32; `hidden` [H] is scratch.

    Inputs and hidden units that are zero cost nothing, so masks and one-hot codes are cheap.
    """
    for h in range(len(hidden)):
        hidden[h] = mlp.b1[h]
    for i in range(len(inputs)):
        x = inputs[i]
        if x != 0.0:
            for h in range(len(hidden)):
                hidden[h] += x * mlp.w1[i, h]
    for j in range(len(outputs)):
        outputs[j] = mlp.b2[j]
    for h in range(len(hidden)):
        x = hidden[h]
        if x > 0.0:
            for j in range(len(outputs)):
                outputs[j] += x * mlp.w2[h, j]


@attach(hooks.evaluate, Uniform, borrow=True)
def _uniform(model: Any, state: Any, row: Any, actions: Any, count: Any, logits: Any) -> Any:
    """The hook: logits 0."""
    for k in range(count):
        logits[k] = 0.0
    return model.value
