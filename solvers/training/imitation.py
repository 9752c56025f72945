"""Recipe `any.imitation`: a policy that does as a solver does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.learning.recipe import Recipe

if TYPE_CHECKING:
    from corl.learning.training import Training

__all__ = ["Imitation"]

_PATIENCE = 50  # steps in a row without a lesson, after which there will be none
_HELP = "accepted: a generator and a size whose instances leave a choice"


@dataclass(frozen=True)
class Imitation(Recipe):
    """Cross-entropy on states of a solver's solutions of new instances, which the workers solve while the network trains."""

    teacher: str = ""
    """The solver to imitate (corl list solvers); needed."""
    teacher_iterations: int = 10
    """Its limit for an instance, at least 1."""
    generator: str = ""
    """Which of the problem's generators makes the instances; "" for its first."""
    size: int = 20
    """Its option of that name, at least 1."""
    features: str = ""
    """Which of the problem's features the network sees; "" for the first."""
    start: str = ""
    """A checkpoint to go on from; "": a new network of the sizes below."""
    instances: int = 16
    """New ones in every step, at least 1."""
    states: int = 8
    """Of each solution, at least 1."""
    width: int = 64
    """Of the network's hidden vectors, a multiple of `heads`."""
    layers: int = 2
    """Of the network, at least 1."""
    heads: int = 4
    """Of its attention, at least 1."""
    rate: float = 1e-3
    """Learning rate at first, above 0; it falls to 0 as a cosine."""
    every: int = 20
    """Steps between two looks at the watched instances, at least 1."""
    watch: int = 64
    """Instances never trained on that the likeliest actions solve, for the curve "greedy"; 0 for none."""

    title: ClassVar[str] = "imitation of a solver's solutions"
    step: ClassVar[str] = "one optimiser step on `states` states of each of `instances` new instances"

    def __post_init__(self) -> None:
        from corl.solvers.training.common import at_least, positive

        if not self.teacher:
            raise UsageError("imitation needs the option teacher, the name of a solver (corl list solvers)")
        counted = ("teacher_iterations", "size", "instances", "states", "width", "layers", "heads", "every")
        at_least(self, counted, 1)
        at_least(self, ("watch",), 0)
        positive(self, ("rate",))

    def train(self, training: Training) -> None:
        import torch

        from corl import registry
        from corl.learning import imitation
        from corl.learning.selfplay import Source
        from corl.learning.watch import Watch, descend
        from corl.learning.workers import stream
        from corl.solvers.training.common import begin

        registry.solver(training.problem.name, self.teacher)  # an unknown one is told here, not by a worker
        source = Source(training.problem, self.generator, {"size": self.size}, training.seed)
        network = begin(self, training, source)
        optimiser = torch.optim.AdamW(network.parameters(), lr=self.rate)
        watch = Watch(training, source, self.watch)
        training.manage(network=network, optimiser=optimiser)
        empty = 0  # steps without a lesson since the last one
        with stream(training, _lessons, self, training.problem.name, training.seed, network.features) as batches:
            while training.budget():
                seen = watch(None, network) if training.step % self.every == 0 else {}
                batch = next(batches)
                empty = 0 if batch else empty + 1
                if empty == _PATIENCE:
                    break
                if batch:
                    with training.autocast():
                        loss = imitation.loss(network, batch)
                    descend(optimiser, loss, self.rate, training.fraction)
                    seen["loss"] = loss.item()
                training.log(**seen)
        if empty == _PATIENCE or not optimiser.state:
            raise UsageError(f"in {empty} steps no state of the teacher's solutions had two actions: nothing to learn; {_HELP}")
        training.save(network)


def _lessons(recipe: Imitation, name: str, seed: int, features: str) -> Any:
    """A worker's maker: batch i is of instances i * `instances`, ..., solved by the teacher."""
    import numpy as np

    import corl
    from corl.learning.imitation import lessons
    from corl.learning.selfplay import Source
    from corl.registry import problem

    family = problem(name)
    source = Source(family, recipe.generator, {"size": recipe.size}, seed)

    def batch(i: int) -> Any:
        random = np.random.default_rng([seed, 2, i])
        instances, solutions = [], []
        for given in source.instances(i * recipe.instances, recipe.instances):
            limit, drawn = recipe.teacher_iterations, int(random.integers(2**31))
            found = corl.solve(given, problem=name, solver=recipe.teacher, iterations=limit, seed=drawn).solution
            if found is not None:
                instances.append(given)
                solutions.append(found)
        return lessons(family, instances, solutions, family.features[features], recipe.states, random)

    return batch
