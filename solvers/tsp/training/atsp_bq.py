"""Recipe `tsp.atsp-bq`: attention over reduced costs learns the next city of the ATSP from our own search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe

if TYPE_CHECKING:
    from corl.learning.training import Training

__all__ = ["AtspBqRecipe"]

_FEATURES = ("matrix", "matrix-flags", "matrix-reduced", "matrix-raw")


@dataclass(frozen=True)
class AtspBqRecipe(Recipe):
    """Cross-entropy on the next city, and the remaining length as a value, over new `asymmetric` instances all the time.

    Half of the tours begin with a rule that makes faults, and are then completed by the teacher, our ATSP search.
    """

    smallest: int = 30
    """Fewest cities of an instance, at least 10."""
    largest: int = 130
    """Most cities of an instance; sizes between are drawn on a logarithmic scale."""
    tours: int = 4
    """New instances in a batch, at least 1; each gives up to 64 states."""
    width: int = 64
    """Numbers that the network keeps for each token, a multiple of `heads`."""
    layers: int = 2
    """Rounds of attention, at least 1."""
    heads: int = 4
    """Heads of each, at least 1."""
    rate: float = 2e-3
    """The largest learning rate, above 0; it rises over 2 % of the run and falls to 0 as a cosine."""
    features: str = "matrix"
    """What the network sees; "matrix-flags", "matrix-reduced" and "matrix-raw" are parts of it, to compare with."""

    title: ClassVar[str] = "next city of the ATSP from the assignment problem of what remains, imitating our search"
    step: ClassVar[str] = "one optimiser step on the states of `tours` new tours"

    def __post_init__(self) -> None:
        if not 10 <= self.smallest <= self.largest:
            raise UsageError(f"sizes are {self.smallest} to {self.largest}; accepted: from 10, in rising order")
        for name in ("tours", "width", "layers", "heads"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; accepted: an integer from 1")
        if self.width % self.heads:
            raise UsageError(f"width is {self.width}; accepted: a multiple of heads, {self.heads}")
        if not self.rate > 0.0:
            raise UsageError(f"rate is {self.rate}; accepted: a number above 0")
        if self.features not in _FEATURES:
            raise UsageError(f"features is {self.features!r}; accepted: {', '.join(_FEATURES)}")

    def train(self, training: Training) -> None:
        from corl.learning.workers import stream
        from corl.networks.attention import AttentionPolicy
        from corl.problems.tsp.features_matrix import PAIRS, TOKENS
        from corl.solvers.tsp.training.imitation import imitate
        from corl.solvers.tsp.training.remainders import examples

        network = AttentionPolicy(
            "tsp", self.features, TOKENS, PAIRS, width=self.width, layers=self.layers, heads=self.heads,
            feedforward=2 * self.width,
        )  # fmt: skip
        with stream(training, examples, training.seed, self.smallest, self.largest, self.tours, self.features) as batches:
            imitate(training, network, batches, self.rate)
