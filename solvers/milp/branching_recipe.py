"""Recipe `milp.branching`: a branching policy that imitates strong branching on one family, or on a folder of programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.solvers.training.common import at_least

if TYPE_CHECKING:
    from torch import Tensor

    from corl.learning.training import Training
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.branching_network import BranchingNetwork

__all__ = ["BranchingRecipe", "Lessons", "check_labelling", "listwise_loss"]

_COLLECTED = 0.8  # share of the run after which nothing is collected any more
_DECAY = 0.05  # of weights; with 300 updates the least loss on held-out auctions of the few settings tried
_HELD_OUT = 8  # every so many-th program is for validation
_TEMPERATURE = 0.3  # of the target: a candidate whose two gains' product is half the best one's weighs a tenth of it
_TURNS = 20  # optimiser steps between two validations
_SEEDS = 500_000  # first seed of the programs that are generated; benchmarks take small ones
_HELP = "accepted: family=NAME[,NAME...] of corl generate milp, or instances=FOLDER"


def check_labelling(recipe: Any) -> None:
    """Raise UsageError where an option that all recipes on labelled nodes have is out of its range."""
    for name, least in (("samples", 8), ("each", 1), ("width", 2), ("batch", 1), ("updates", 1)):
        at_least(recipe, (name,), least)
    if not (0.0 < recipe.share <= 1.0 and recipe.rate > 0.0):
        raise UsageError(f"share is {recipe.share}, rate {recipe.rate}; accepted: above 0, a share to 1")


@dataclass(frozen=True)
class BranchingRecipe(Recipe):
    """Nodes of trees under pseudocost branching, some labelled by strong branching (teaching.py); then a listwise loss on them.

    Collecting comes first, one program a step, until there are `samples` labelled nodes; then `updates` steps of AdamW end it.
    """

    family: str = ""
    """What is generated: a name of `corl generate milp` at its default size, or several with commas, taken in turn."""
    instances: str = ""
    """Instead: a folder with .mps and .lp files (.gz too); every one is solved in turn, again and again, with new seeds."""
    samples: int = 200
    """Labelled nodes, from 8."""
    share: float = 0.05
    """Probability that a node is labelled, above 0 to 1; each tree's first one always is."""
    each: int = 12
    """Labelled nodes of one tree at the most."""
    width: int = 80
    """Candidates of a labelled node that strong branching is asked about, at random, from 2; an independent set has 500."""
    policy: str = ""
    """A shipped policy or a checkpoint of this recipe that grows the trees instead of pseudocosts: labels of the states that it
    comes to, of its best candidates for one half (DAgger, Ross et al. 2011). What is trained starts anew."""
    updates: int = 300
    """Optimiser steps; with 200 nodes, many more learn them by heart."""
    rate: float = 3e-3
    """The largest learning rate of AdamW, above 0; over the updates it falls to 0 as a cosine."""
    batch: int = 32
    """Nodes of a step."""

    usual_time: ClassVar[float | None] = 120.0
    title: ClassVar[str] = "milp-branching: a policy that imitates strong branching"
    step: ClassVar[str] = "a program whose tree is recorded; after these, an optimiser step"

    def __post_init__(self) -> None:
        if bool(self.family) == bool(self.instances):
            raise UsageError(f"one of family and instances is needed; {_HELP}")
        check_labelling(self)

    def train(self, training: Training) -> None:
        import torch

        from corl.solvers.milp.branching_network import BranchingNetwork

        network = BranchingNetwork(family=self.family or "own")
        optimiser, lessons = torch.optim.AdamW(network.parameters(), lr=self.rate, weight_decay=_DECAY), Lessons()
        training.manage(network=network, optimiser=optimiser, lessons=lessons, random=(random := training.generator(1)))
        programs = self._programs(lessons.programs, training.seed)
        while training.budget():
            if lessons.nodes < self.samples and training.fraction < _COLLECTED and lessons.updates == 0:
                instance = next(programs)
                lessons.add(instance, self._labelled(instance, training, lessons.programs))
                training.log(nodes=lessons.nodes, programs=lessons.programs)
                if self.instances and not lessons.nodes and lessons.programs >= len(self._files()):
                    raise UsageError(
                        f"{self.instances}: SCIP solved each of the {lessons.programs} programs there, or ran out of time, "
                        "before it had to branch: nothing to learn; accepted: programs that need branching"
                    )
                continue
            if lessons.updates >= self.updates:
                break
            lessons.begin(network)
            for group in optimiser.param_groups:
                group["lr"] = self.rate * 0.5 * (1.0 + float(np.cos(np.pi * lessons.updates / self.updates)))
            chosen = random.integers(len(lessons.train), size=self.batch)
            loss = listwise_loss(network, [lessons.train[int(k)] for k in chosen])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            lessons.updates += 1
            facts = lessons.validate(network) if lessons.updates % _TURNS == 0 else {}
            training.log(loss=loss.item(), **facts)
        lessons.begin(network)
        training.log(**lessons.validate(network))
        training.save(network.eval())

    def _labelled(self, instance: MilpInstance, training: Training, seed: int) -> list[tuple[Any, Any]]:
        from corl.run import Run
        from corl.solvers.milp import scip_functions
        from corl.solvers.milp.learned import load_branching
        from corl.solvers.milp.scoring import Scorer
        from corl.solvers.milp.teaching import record

        if not scip_functions.load():
            raise UsageError("the SCIP functions that features are made of were not found in PySCIPOpt's library")
        left = None if training.time_limit is None else max(1.0, _COLLECTED * training.time_limit - training.seconds)
        run = Run(training.problem.of(instance), instance, seed=training.seed + seed, time_limit=left)
        run.start()
        policy = load_branching(self.policy) if self.policy else None
        if not (policy is None or isinstance(policy, Scorer)):
            raise UsageError(f"policy: {self.policy!r} is a graph network; accepted: a policy of this recipe")
        return record(instance, run, share=self.share, most=self.each, width=self.width, policy=policy).labelled()

    def _programs(self, done: int, seed: int) -> Iterator[MilpInstance]:
        """Programs from the `done`-th on."""
        from corl.problems.milp.generators import GENERATORS
        from corl.problems.milp.problem import Milp

        if self.family:
            names = [name.strip() for name in self.family.split(",")]
            for name in names:
                if name not in GENERATORS:
                    raise UsageError(f"family has {name!r}; accepted: {', '.join(GENERATORS)}")
            while True:
                yield GENERATORS[names[done % len(names)]](seed=_SEEDS + 10_000 * seed + done)
                done += 1
        files = self._files()
        while True:
            yield Milp().read(files[done % len(files)])
            done += 1

    def _files(self) -> list[Path]:
        """Of the folder, sorted. Raises UsageError where there is none."""
        folder = Path(self.instances)
        files = sorted(path for path in folder.glob("*") if path.name.endswith((".mps", ".lp", ".mps.gz", ".lp.gz")))
        if not files:
            raise UsageError(f"{folder}: no .mps or .lp file there; {_HELP}")
        return files


class Lessons:
    """Labelled nodes as pairs (features [k, F], scores [k]) of tensors, some held out, and the programs' signatures."""

    def __init__(self) -> None:
        self.train: list[tuple[Tensor, Tensor]] = []
        self.held: list[tuple[Tensor, Tensor]] = []
        self.signatures: list[Tensor] = []
        self.programs, self.updates = 0, 0

    @property
    def nodes(self) -> int:
        """Labelled ones."""
        return len(self.train) + len(self.held)

    def add(self, instance: MilpInstance, labelled: list[tuple[Any, Any]]) -> None:
        """Take one program's nodes."""
        import torch

        from corl.solvers.milp.signature import signature

        pairs = [(torch.from_numpy(x.copy()), torch.from_numpy(y.copy())) for x, y in labelled]
        (self.held if self.programs % _HELD_OUT == 1 else self.train).extend(pairs)
        self.signatures.append(torch.from_numpy(signature(instance)))
        self.programs += 1

    def ready(self) -> list[tuple[Tensor, Tensor]]:
        """Nodes to train on. Raises UsageError where there is none."""
        if not self.train:
            self.train, self.held = self.held, []
        if not self.train:
            raise UsageError("no node was labelled: the programs were solved without branching, or the time was too short")
        return self.train

    def begin(self, network: BranchingNetwork) -> None:
        """Once, before the first optimiser step: features' mean and scale, the family's range."""
        import torch

        from corl.solvers.milp.signature import signature_range

        nodes = self.ready()
        if self.updates == 0:
            network.standardise(torch.cat([x for x, _ in nodes]))
        lower, upper = signature_range([one.numpy() for one in self.signatures])
        network.config |= {"lower": lower, "upper": upper}

    def validate(self, network: BranchingNetwork) -> dict[str, float]:
        """On held-out programs: how often the policy's first choice is strong branching's, and the mean log it loses by it."""
        import torch

        with torch.no_grad():
            picks = [(scores, int(network(features).argmax())) for features, scores in self.held]
        if not picks:
            return {}
        agrees = np.mean([float(scores[k] >= scores.max() - 1e-6) for scores, k in picks])
        return {"agrees": float(agrees), "loses": float(np.mean([float(scores.max() - scores[k]) for scores, k in picks]))}

    def state_dict(self) -> dict[str, Any]:
        """For snapshots."""
        lists = {name: [list(pair) for pair in getattr(self, name)] for name in ("train", "held")}
        return {**lists, "signatures": self.signatures, "programs": self.programs, "updates": self.updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """From a snapshot."""
        self.train, self.held = [tuple(pair) for pair in state["train"]], [tuple(pair) for pair in state["held"]]
        self.signatures, self.programs = list(state["signatures"]), int(state["programs"])
        self.updates = int(state["updates"])


def listwise_loss(network: BranchingNetwork, lessons: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Mean cross-entropy between softmax(labels / temperature) and softmax of the network's scores, over the nodes' lists."""
    import torch

    lengths = [len(scores) for _, scores in lessons]
    found = network(torch.cat([features for features, _ in lessons])).split(lengths)
    targets = [torch.softmax(scores / _TEMPERATURE, 0) for _, scores in lessons]
    return torch.stack([-(target * torch.log_softmax(one, 0)).sum() for target, one in zip(targets, found)]).mean()
