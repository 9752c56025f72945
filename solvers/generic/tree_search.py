"""`TreeSearch`: a tree search in the environment, guided by a learned policy, chooses every action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from corl.options import option
from corl.policy import Policy as AnyPolicy
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.run import Run
    from corl.solvers.generic.inference import Session

__all__ = ["VALUE_SCALE", "TreeSearch", "round_search", "search_rounds"]

VALUE_SCALE = 0.1
"""The default weight of values in a Gumbel search."""
_FIRST_SIMULATIONS = 4  # simulations of the first round under a time limit
_MAX_SIMULATIONS = 1 << 14  # up to which the simulations double from round to round


@dataclass(frozen=True)
class TreeSearch(Solver):
    """AlphaZero's search in the environment, with a policy trained by any method.

    The greedy solution is reported first. Rounds follow, in which a search chooses every action of one episode from each start
    and copy of the instance. Each round has twice as many simulations per search as the previous one.
    """

    policy: str | AnyPolicy = option(
        "",
        "A shipped policy's name, a checkpoint file or, from Python, a policy itself; empty: the one shipped for such instances.",
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
    leaves: int = option(1, "Leaves evaluated in one network call; more are faster and search a little worse.", low=1)
    value: Literal["auto", "network", "rollout"] = option(
        "auto",
        "The value of a leaf: the network's, or the return of greedy decoding from it; auto: the network's, if it has one.",
    )
    augment: int = option(1, "Symmetric copies of the instance to solve, at most as many as it has (8 in the plane).", low=1)
    multi_start: int = option(1, "Starts (of a tour: first cities), side by side; 0: all.", low=0)
    rounds: int = option(0, "Rounds after which the solver ends; 0: when the budget is spent.", low=0)

    preparation_size: ClassVar[int] = 16  # instances that differ only in numbers from 16 on need the same preparation
    title: ClassVar[str] = "tree search (Gumbel or PUCT) in the environment, led by a learned policy"
    iteration: ClassVar[str] = "one state shown to the network"

    def accepts(self, instance: Any) -> str:
        from corl.solvers.generic.inference import no_environment

        return no_environment(instance)

    def prepare(self, instance: Any) -> None:
        from corl.solvers.generic import policy_solutions
        from corl.solvers.generic.inference import policy_for, warm_up

        if policy_solutions.applies(instance):
            return policy_solutions.prepare(self, instance)
        policy = policy_for(instance, self.policy)
        warm_up(self, instance, policy)
        self._search_once(instance, policy)

    def _rollouts(self, policy: Any) -> bool:
        """Return whether a leaf's value is the return of greedy decoding from the leaf, not the network's estimate."""
        return self.value == "rollout" or (self.value == "auto" and not getattr(policy, "has_value", False))

    def _search_once(self, instance: Any, policy: Any) -> None:
        """Search once from the first state of a miniature: `solve` does not search if no state has two legal actions."""
        import numpy as np

        from corl import registry
        from corl.decoding import Planning
        from corl.decoding.evaluator import CountedEvaluator
        from corl.networks.threads import one_thread

        problem = registry.problem_of(instance)
        assert problem is not None
        planning = Planning(round_search(self, _FIRST_SIMULATIONS, 0), self._rollouts(policy))
        pool = problem.environment([problem.warm_up_instance(instance)], planning.rows, name=policy.environment)
        pool.reset([0], [0])
        if (actions := pool.actions([0]))[0, 0] >= 0:
            with one_thread():
                planning.chooser(CountedEvaluator(pool, policy), 1)(np.zeros(1, np.int64), actions, np.zeros(1, np.uint64))

    def solve(self, instance: Any, run: Run) -> None:
        from corl.decoding import Planning
        from corl.networks.threads import one_thread
        from corl.solvers.generic import policy_solutions
        from corl.solvers.generic.inference import Session, policy_for

        if policy_solutions.applies(instance):
            return policy_solutions.report(self, instance, run, searches=True)
        with one_thread():
            policy = policy_for(instance, self.policy)
            rollouts = self._rollouts(policy)
            session = Session(instance, run, policy, self.augment, self.multi_start)
            if session.first():
                steps = session.steps
                states = steps * (steps + 3) // 2 if rollouts else steps
                search_rounds(self, session, states, lambda search: Planning(search, rollouts), rollouts)


def search_rounds(options: Any, session: Session, states: int, decoder: Any, scratch: bool = False) -> None:
    """Decode rounds of episodes by tree search until the budget ends.

    Args:
        options: The solver, with its fields simulations, rounds, leaves, method and value_scale.
        session: The session that decodes.
        states: The states that the network evaluates in an episode if each search has one simulation.
        decoder: Function that returns the decoder of a search.
        scratch: Whether the decoder needs one more row per leaf of a network call, for greedy decoding from it.
    """
    simulations, rounds_done = options.simulations, 0
    while not options.rounds or rounds_done < options.rounds:
        fits = session.fits(states)
        if not simulations:
            simulations = max(1, fits - 1) if session.run.iterations is not None else _FIRST_SIMULATIONS  # the root takes one
        max_simulations = min(fits, _MAX_SIMULATIONS, session.most_rows - 1 - options.leaves)
        round_simulations = min(simulations, max_simulations)
        if round_simulations < 1:
            return session.out_of_budget()
        rows = 1 + round_simulations + (options.leaves if scratch else 0)
        session.decode(decoder(round_search(options, round_simulations, rounds_done)), rows, rounds_done)
        if session.run.should_stop:
            return
        rounds_done, simulations = rounds_done + 1, min(2 * simulations, _MAX_SIMULATIONS)


def round_search(options: Any, simulations: int, number: int) -> Any:
    """Return the search of a round: without noise in round 0, with noise in all later rounds."""
    from corl.search.gumbel import Gumbel
    from corl.search.puct import Puct

    if options.method == "gumbel":
        scale = VALUE_SCALE if options.value_scale is None else options.value_scale
        return Gumbel(simulations, noise=float(number > 0), value_scale=scale, leaves=options.leaves)
    return Puct(simulations, noise=0.25 * (number > 0), leaves=options.leaves)
