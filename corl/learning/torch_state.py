"""Torch in a training run: its device, threads and seed, and the states of its generators and modules for snapshots."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError

if TYPE_CHECKING:
    import torch

__all__ = ["put_back", "set_torch_random", "state_of", "torch_device", "torch_random", "torch_seeded"]


def torch_device(name: str) -> torch.device:
    """Return the torch device with a name; "auto" is the GPU if there is one. Raises UsageError if it is not available."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch built without CUDA
        raise UsageError(f"device: {name!r} is not available; accepted: auto, cpu, or cuda on a machine with a GPU") from error
    return device


@contextlib.contextmanager
def torch_seeded(seed: int, threads: int) -> Iterator[None]:
    """Return a context in which torch's generators are seeded and torch uses `threads` threads; both are restored at the end."""
    import torch

    before = torch.get_num_threads()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def state_of(part: Any) -> Any:
    """Return the state of a module, an optimiser, a generator of NumPy or torch, or anything else with `state_dict`."""
    import numpy as np
    import torch

    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    return part.get_state() if isinstance(part, torch.Generator) else part.state_dict()


def put_back(part: Any, state: Any) -> None:
    """Restore the state that `state_of` returned, in place."""
    import numpy as np
    import torch

    if isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif isinstance(part, torch.Generator):
        part.set_state(state)
    else:
        part.load_state_dict(state)


def torch_random() -> list[torch.Tensor]:
    """Return the states of torch's own generators (for dropout, for example): the CPU's, then each GPU's."""
    import torch

    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [])]


def set_torch_random(states: list[torch.Tensor]) -> None:
    """Restore the states that `torch_random` returned; the GPUs' states only if the number of GPUs is the same."""
    import torch

    torch.set_rng_state(states[0])
    if torch.cuda.is_available() and len(states) == torch.cuda.device_count() + 1:
        torch.cuda.set_rng_state_all(states[1:])
