"""`MuZero`: a tree search in a learned model of the environment chooses every action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.options import option
from corl.policy import Policy as AnyPolicy
from corl.solver import Solver
from corl.solvers.generic.tree_search import search_rounds

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["MuZero"]


@dataclass(frozen=True)
class MuZero(Solver):
    """Tree search in a learned model: only the chosen actions are taken in the environment.

    The greedy solution is reported first. Rounds follow, in which a search chooses every action of one episode from each start
    and copy of the instance. Each round has twice as many simulations per search as the previous one.
    """

    policy: str | AnyPolicy = option(
        "",
        "A checkpoint of a network with a learned model (corl train PROBLEM --recipe muzero) or, from Python, such a network; "
        "empty: a shipped one, if any.",
    )
    method: Literal["gumbel", "puct"] = option("gumbel", "Gumbel search (sequential halving at the root) or PUCT.")
    simulations: int = option(
        0,
        "Leaves of each search tree in the first round. 0: with a time limit few; with `iterations` as many as the budget allows "
        "for one round; 16 for problems whose solutions are policies.",
        low=0,
        scale="log",
    )
    value_scale: float | None = option(
        None,
        "Gumbel search: the weight of values (scaled to [0, 1] among a state's actions) relative to the network's logits; choose "
        "a smaller one if the values are less accurate. None: 0.1; 0.02 for problems whose solutions are policies.",
        low=0,
    )
    leaves: int = option(1, "Leaves evaluated in one network call.", low=1)
    augment: int = option(1, "Symmetric copies of the instance to solve, at most as many as it has (8 in the plane).", low=1)
    multi_start: int = option(1, "Starts (of a tour: first cities), side by side; 0: all.", low=0)
    rounds: int = option(0, "Rounds after which the solver ends; 0: when the budget is spent.", low=0)

    preparation_size: ClassVar[int] = 16  # instances that differ only in numbers from 16 on need the same preparation
    title: ClassVar[str] = "tree search in a learned model (MuZero)"
    iteration: ClassVar[str] = "one state, observed or imagined, shown to the network"

    def accepts(self, instance: Any) -> str:
        from corl.solvers.generic.inference import no_environment

        return no_environment(instance)

    def prepare(self, instance: Any) -> None:
        from corl.solvers.generic import policy_solutions
        from corl.solvers.generic.inference import policy_for, warm_up

        if policy_solutions.applies(instance):
            return policy_solutions.prepare(self, instance, "muzero")
        warm_up(self, instance, policy_for(instance, self.policy, "muzero"))

    def solve(self, instance: Any, run: Run) -> None:
        from corl.decoding import LearnedPlanning
        from corl.networks.threads import one_thread
        from corl.solvers.generic import policy_solutions
        from corl.solvers.generic.inference import Session, policy_for

        if policy_solutions.applies(instance):
            return policy_solutions.report(self, instance, run, searches=True, architecture="muzero")
        with one_thread():
            session = Session(instance, run, policy_for(instance, self.policy, "muzero"), self.augment, self.multi_start)
            if session.first():
                search_rounds(self, session, session.steps, LearnedPlanning)
