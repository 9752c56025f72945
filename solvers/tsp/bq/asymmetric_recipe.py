"""Recipe `tsp.atsp-bq`: attention over reduced costs learns the next city of the ATSP from our own search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from corl.errors import UsageError
from corl.learning.source import Source, folder_option
from corl.options import option
from corl.recipe import Recipe

if TYPE_CHECKING:
    from corl.learning.session import Training

__all__ = ["AtspBqRecipe"]


@dataclass(frozen=True)
class AtspBqRecipe(Recipe):
    """Cross-entropy on the next city, and the remaining length as a value, over new `asymmetric` instances all the time.

    Half of the tours begin with a rule that makes faults, and are then completed by the teacher, our ATSP search.
    """

    smallest: int = option(30, "Fewest cities of an instance.", low=10, scale="log")
    largest: int = option(130, "Most cities of an instance; sizes between are drawn on a logarithmic scale.", low=10, scale="log")
    instances: str = folder_option()
    tours: int = option(4, "New instances in a batch; each gives up to 64 states.", low=1, scale="log")
    width: int = option(64, "Numbers that the network keeps for each token, a multiple of `heads`.", low=1, scale="log")
    layers: int = option(2, "Rounds of attention.", low=1)
    heads: int = option(4, "Heads of each.", low=1)
    rate: float = option(
        2e-3, "The largest learning rate; it rises over 2 % of the run and falls to 0 as a cosine.", above=0, scale="log"
    )
    features: Literal["matrix", "matrix-flags", "matrix-reduced", "matrix-raw"] = option(
        "matrix", "What the network sees; the others are parts of the first, to compare with."
    )

    title: ClassVar[str] = "next city of the ATSP from the assignment problem of what remains, imitating our search"
    step: ClassVar[str] = "one optimiser step on the states of `tours` new tours"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smallest > self.largest:
            raise UsageError(f"option smallest: {self.smallest} is not accepted; it takes one up to largest, {self.largest}")
        if self.width % self.heads:
            raise UsageError(f"option width: {self.width} is not accepted; it takes a multiple of heads, {self.heads}")

    def train(self, training: Training) -> None:
        from corl.learning.workers import stream
        from corl.networks.attention import AttentionPolicy
        from corl.problems.tsp.features_matrix import PAIRS, TOKENS
        from corl.solvers.tsp.bq.asymmetric_lessons import examples
        from corl.solvers.tsp.bq.imitation import imitate

        network = AttentionPolicy(
            "tsp", self.features, TOKENS, PAIRS, width=self.width, layers=self.layers, heads=self.heads,
            feedforward=2 * self.width,
        )  # fmt: skip
        source = Source(training.problem, seed=training.seed, folder=self.instances) if self.instances else None
        sizes = self.smallest, self.largest
        with stream(training, examples, training.seed, *sizes, self.tours, self.features, source) as batches:
            imitate(training, network, batches, self.rate)
