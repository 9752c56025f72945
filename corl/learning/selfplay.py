"""Self-play: generations of episodes for a Replay, by workers or in this process.

with SelfPlay(training, make_player, recipe, ...) as games:     # make_player(recipe, ...) -> JobPlayer, in every worker
    for part in games.generation(network, number, 128):
        replay.add(part)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from corl.learning.episodes import Episodes
from corl.learning.workers import in_turns

if TYPE_CHECKING:
    from torch import nn

    from corl.learning.session import Training

__all__ = ["Job", "JobPlayer", "SelfPlay", "load_weights", "weights_of"]

_PART = 64  # episodes that a worker plays at once, whatever the number of workers, on which results must not depend


@dataclass(frozen=True)
class Job:
    """The task of a player: `count` episodes, the first of which is number `first` of the training."""

    weights: dict[str, NDArray[Any]]
    """The weights of the network that plays, see `weights_of`."""
    first: int
    count: int
    taught: bool = False
    """Whether a teacher plays (corl.learning.demonstrations.demonstrate), instead of the network."""
    explores: bool = False
    """Whether the network plays in a generation that a teacher also plays; the policy then does not imitate its moves."""


def weights_of(network: nn.Module) -> dict[str, NDArray[Any]]:
    """Return copies of a network's weights, for a job."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def load_weights(network: nn.Module, weights: Mapping[str, NDArray[Any]]) -> None:
    """Load the weights of a job into a network, in place."""
    import torch

    network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})


class JobPlayer(Protocol):
    """A function that plays the episodes of a job; on one machine its result depends on the job alone."""

    def __call__(self, job: Job, /) -> Episodes: ...


class SelfPlay:
    """Generations of episodes, played by the training's workers while it waits, or by this process if it has one worker."""

    def __init__(self, training: Training, make: Callable[..., JobPlayer], *arguments: Any) -> None:
        self._workers = in_turns(training, make, *arguments)

    def __enter__(self) -> SelfPlay:
        return self

    def __exit__(self, *exception: object) -> None:
        self._workers.__exit__(*exception)

    def generation(self, network: nn.Module, number: int, episodes: int, taught: float = 0.0) -> list[Episodes]:
        """Return a generation of episodes, in parts whose instances have one size. The number of workers has no effect on them.

        Generation g has the episodes numbered g * `episodes` to (g + 1) * `episodes` - 1, for which the instances are made.

        Args:
            network: The network that plays, with its current weights.
            number: The number of the generation.
            episodes: The number of episodes.
            taught: The share of the episodes, the first ones, that the teacher plays instead.
        """
        by_teacher, weights = round(taught * episodes), weights_of(network)
        cuts = sorted({*range(0, by_teacher, _PART), by_teacher, *range(by_teacher, episodes, _PART), episodes})
        parts = [
            Job(weights, number * episodes + begin, end - begin, begin < by_teacher, explores=begin >= by_teacher > 0)
            for begin, end in pairwise(cuts)
        ]
        return list(self._workers.map(parts))
