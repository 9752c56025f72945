"""The generic solvers on problems whose solutions are policies (`Problem.solutions_are_policies`).

For other problems, the generic solvers report the best of many episodes. If events are random, the best episode is only the one
with the most favourable events. So, if solutions are policies, they report the policy itself, and the judge simulates it in all
episodes of the instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from corl import registry
from corl.deadline import in_time
from corl.errors import UsageError
from corl.options import declarations, defaults
from corl.policy import NamedPolicy
from corl.solvers.generic.inference import policy_for, policy_name

if TYPE_CHECKING:
    from corl.run import Run
    from corl.solver import Solver

__all__ = ["VALUE_SCALE", "applies", "prepare", "report"]

VALUE_SCALE = 0.02
"""The default weight of values in a Gumbel search: small, as each value is estimated from one random future. With 0.1, the
default of deterministic problems, a search of 8 simulations earned up to 18 % less than its network alone; with 0.02, no less."""
_SIMULATIONS = 16  # simulations of a search, by default
_SEARCH_SHARE = 0.8  # share of the time limit in which the judge must have simulated a policy that searches
_ACCEPTED_OPTIONS = ("policy", "method", "simulations", "value_scale")
_ACCEPTED_POLICY = "the name or the file of a checkpoint, not a policy itself: the judge of {} loads it again"


def applies(instance: Any) -> bool:
    """Return whether a solution of the instance's problem is a policy."""
    problem = registry.problem_of(instance)
    return problem is not None and problem.solutions_are_policies


def prepare(solver: Solver, instance: Any, architecture: str = "") -> None:
    """Load the policy, and solve a miniature, which compiles every kernel. Raises UsageError for options without a meaning."""
    from corl.run import Run

    problem = registry.problem_of(instance)
    assert problem is not None
    _check(solver, problem.name)
    policy_for(instance, getattr(solver, "policy"), architecture)  # noqa: B009
    miniature = problem.warm_up_instance(instance)
    solver.solve(miniature, Run(problem, miniature))


def _check(solver: Any, problem: str) -> None:
    """Raise UsageError for a policy without a name, and for options of decoders or rounds that are not at their defaults."""
    if not isinstance(solver.policy, str):
        raise UsageError(f"option policy is of type {type(solver.policy).__name__}; accepted: {_ACCEPTED_POLICY.format(problem)}")
    default_values = defaults(type(solver))
    for name in declarations(type(solver)):
        if name not in _ACCEPTED_OPTIONS and getattr(solver, name) != default_values[name]:
            raise UsageError(
                f"option {name} means nothing for {problem}, whose solutions are policies; accepted: {default_values[name]}"
            )


def report(solver: Any, instance: Any, run: Run, searches: bool = False, architecture: str = "") -> None:
    """Report the policy of a solver as a solution.

    Args:
        solver: A generic solver, with its options.
        instance: The instance.
        run: The run.
        searches: Whether the policy chooses actions by a tree search. If the judge needs more than 80 % of the time limit to
            simulate such a policy, the policy without a search is reported.
        architecture: The required architecture of the network; "" accepts every policy.
    """
    from corl.networks.checkpoints import load_cached

    policy_for(instance, solver.policy, architecture)
    name = policy_name(instance, solver.policy, architecture)
    digest = load_cached(name)[1]["digest"]
    if searches:
        scale = VALUE_SCALE if solver.value_scale is None else solver.value_scale
        simulations, imagined = solver.simulations or _SIMULATIONS, architecture == "muzero"
        searching_policy = NamedPolicy(name, digest, solver.method, simulations, imagined, scale)
        with in_time(run, _SEARCH_SHARE):
            run.report(run.problem.policy_solution(instance, searching_policy))
    if run.objective is None:
        with in_time(run):
            run.report(run.problem.policy_solution(instance, NamedPolicy(name, digest, value_scale=VALUE_SCALE)))
