"""`MuZero`: each step of a solution is chosen by a tree search in a learned model of the environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.solver import Solver
from corl.solvers.tree_search import check_search, search_rounds, warm_up

if TYPE_CHECKING:
    from corl.run import Run

__all__ = ["MuZero"]


@dataclass(frozen=True)
class MuZero(Solver):
    """Search without a simulator: only the steps that are taken are made in the environment. First the greedy solution, then
    rounds of an episode each, with twice the simulations from round to round.
    """

    policy: str = ""
    """A checkpoint of a network with a learned model (corl train PROBLEM --recipe muzero); "": a shipped one, if any."""
    method: Literal["gumbel", "puct"] = "gumbel"
    """Gumbel search (sequential halving at the root) or PUCT."""
    simulations: int = 0
    """Leaves of a step's tree in the first round; 0: automatic, with `iterations` as many as one round may have."""
    leaves: int = 1
    """Leaves shown to the network in one call, from 1."""
    augment: int = 1
    """Symmetric copies of the instance to search, side by side, at most as many as the problem knows."""
    multi_start: int = 1
    """Starts (for a tour: cities to begin at), side by side; 0: all."""
    rounds: int = 0
    """After so many rounds it ends; 0: never before the budget does."""

    title: ClassVar[str] = "tree search in a learned model (MuZero)"
    iteration: ClassVar[str] = "one state, observed or imagined, shown to the network"

    def __post_init__(self) -> None:
        check_search(self)

    def accepts(self, instance: Any) -> str:
        from corl.solvers.inference import no_environment

        return no_environment(instance)

    def prepare(self, instance: Any) -> None:
        from corl.solvers.inference import policy_for

        policy_for(instance, self.policy, "muzero")
        warm_up(self, instance)

    def solve(self, instance: Any, run: Run) -> None:
        from corl.search.decoding import LearnedPlanning
        from corl.solvers.inference import Session, one_thread, policy_for

        with one_thread():
            session = Session(instance, run, policy_for(instance, self.policy, "muzero"), self.augment, self.multi_start)
            if session.first():
                search_rounds(self, session, session.steps, LearnedPlanning)
