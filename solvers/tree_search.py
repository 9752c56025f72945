"""`TreeSearch`: each step of a solution is chosen by a tree search in the environment, led by a learned policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.run import Run
    from corl.solvers.inference import Session

__all__ = ["TreeSearch", "check_search", "made_search", "search_rounds", "warm_up"]

_WARM_UP = 400  # states: enough for an episode by search on a miniature
_AT_FIRST = 4  # simulations of the first round under a time limit
_MOST = 1 << 14  # simulations beyond which rounds do not double them


@dataclass(frozen=True)
class TreeSearch(Solver):
    """AlphaZero's search with a policy trained by whatever means: the greedy solution at once, then rounds of an episode each
    whose every step is searched, with twice the simulations from round to round.
    """

    policy: str = ""
    """A shipped policy's name or a checkpoint file; "" for the one that is shipped for such instances."""
    method: Literal["gumbel", "puct"] = "gumbel"
    """Gumbel search (sequential halving at the root) or PUCT."""
    simulations: int = 0
    """Leaves of a step's tree in the first round; 0: automatic, with `iterations` as many as one round may have."""
    leaves: int = 1
    """Leaves shown to the network in one call, from 1; more are faster and search a little worse."""
    value: Literal["auto", "network", "rollout"] = "auto"
    """What a leaf is worth: the value head's word, or what greedy decoding from it comes to; auto: the head, if there is one."""
    augment: int = 1
    """Symmetric copies of the instance to search, side by side, at most as many as the problem knows (8 in the plane)."""
    multi_start: int = 1
    """Starts (for a tour: cities to begin at), side by side; 0: all."""
    rounds: int = 0
    """After so many rounds it ends; 0: never before the budget does."""

    title: ClassVar[str] = "tree search (Gumbel or PUCT) in the environment, led by a learned policy"
    iteration: ClassVar[str] = "one state shown to the network"

    def __post_init__(self) -> None:
        check_search(self)

    def accepts(self, instance: Any) -> str:
        from corl.solvers.inference import no_environment

        return no_environment(instance)

    def prepare(self, instance: Any) -> None:
        from corl.solvers.inference import policy_for

        policy_for(instance, self.policy)
        warm_up(self, instance)

    def solve(self, instance: Any, run: Run) -> None:
        from corl.search.decoding import Planning
        from corl.solvers.inference import Session, one_thread, policy_for

        with one_thread():
            policy = policy_for(instance, self.policy)
            rollouts = self.value == "rollout" or (self.value == "auto" and not getattr(policy, "has_value", False))
            session = Session(instance, run, policy, self.augment, self.multi_start)
            if session.first():
                steps = session.steps
                states = steps * (steps + 3) // 2 if rollouts else steps
                search_rounds(self, session, states, lambda search: Planning(search, rollouts), rollouts)


def check_search(options: Any) -> None:
    """Raise UsageError for options, of this solver or of MuZero, that are out of range."""
    for name, least in (("simulations", 0), ("leaves", 1), ("augment", 1), ("multi_start", 0), ("rounds", 0)):
        if getattr(options, name) < least:
            raise UsageError(f"{name} is {getattr(options, name)}; accepted: an integer from {least}")


def warm_up(solver: Solver, instance: Any) -> None:
    """Solve a miniature, so that everything is compiled."""
    from corl import registry
    from corl.run import Run

    problem = registry.problem_of(instance)
    assert problem is not None
    tiny = problem.miniature(instance)
    solver.solve(tiny, Run(problem, tiny, iterations=_WARM_UP))
    solver.solve(tiny, Run(problem, tiny, iterations=1))  # the end of a budget before the first solution


def search_rounds(options: Any, session: Session, states: int, decoder: Any, scratch: bool = False) -> None:
    """Episodes by search until the budget ends. `states`: shown to the network in an episode of one simulation a step.

    decoder: function of a search. scratch: whether the pool has a row more for each leaf in a call.
    """
    simulations, done = options.simulations, 0
    while not options.rounds or done < options.rounds:
        fits = session.fits(states)
        if not simulations:
            simulations = max(1, fits - 1) if session.run.iterations is not None else _AT_FIRST  # - 1: the root
        most = min(fits, _MOST, session.most_rows - 1 - options.leaves)
        now = min(simulations, most)
        if now < 1:
            return session.out_of_budget()
        rows = 1 + now + (options.leaves if scratch else 0)
        session.decode(decoder(made_search(options, now, done)), rows, done)
        if session.run.should_stop:
            return
        done, simulations = done + 1, min(2 * simulations, _MOST)


def made_search(options: Any, simulations: int, number: int) -> Any:
    """The search of a round; the first one has no noise, the others differ by theirs."""
    from corl.search.gumbel import Gumbel
    from corl.search.puct import Puct

    if options.method == "gumbel":
        return Gumbel(simulations, noise=float(number > 0), leaves=options.leaves)
    return Puct(simulations, noise=0.25 * (number > 0), leaves=options.leaves)
