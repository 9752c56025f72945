"""The generic solvers on problems whose solutions are policies (`Problem.solutions_are_policies`).

Elsewhere they keep the best of many episodes, which here would be the luckiest: they report the policy that they would play by,
and the judge plays it in all episodes of the instance.
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
"""Of a Gumbel search, whose values are those of one random future each. With 0.1, as where nothing is random, a search of 8
simulations lost up to 18 % of what its network earns alone, with 0.02 or less nothing."""
_SIMULATIONS = 16
_SHARE = 0.8  # of the time limit, for a policy that searches
_MEANT = ("policy", "method", "simulations", "value_scale")
_NAMED = "the name or the file of a checkpoint, not a policy itself: whoever checks a solution of {} loads it again"


def applies(instance: Any) -> bool:
    """Whether a solution of the instance's problem is a policy."""
    problem = registry.problem_of(instance)
    return problem is not None and problem.solutions_are_policies


def prepare(solver: Solver, instance: Any, architecture: str = "") -> None:
    """Load the policy and solve a miniature: everything is compiled. Raises UsageError for options that mean nothing here."""
    from corl.run import Run

    problem = registry.problem_of(instance)
    assert problem is not None
    _check(solver, problem.name)
    policy_for(instance, getattr(solver, "policy"), architecture)  # noqa: B009
    small = problem.miniature(instance)
    solver.solve(small, Run(problem, small))


def _check(solver: Any, problem: str) -> None:
    """Refuse a policy that has no name, and options of decoders and rounds that are not what they are by default."""
    if not isinstance(solver.policy, str):
        raise UsageError(f"option policy is of type {type(solver.policy).__name__}; accepted: {_NAMED.format(problem)}")
    usual = defaults(type(solver))
    for name in declarations(type(solver)):
        if name not in _MEANT and getattr(solver, name) != usual[name]:
            raise UsageError(f"option {name} means nothing for {problem}, whose solutions are policies; accepted: {usual[name]}")


def report(solver: Any, instance: Any, run: Run, searches: bool = False, architecture: str = "") -> None:
    """Report the policy of a solver; where 80 % of the time limit is too short for its search, its likeliest actions alone."""
    from corl.networks.checkpoints import loaded

    policy_for(instance, solver.policy, architecture)
    wanted = policy_name(instance, solver.policy, architecture)
    digest = loaded(wanted)[1]["digest"]
    if searches:
        scale = VALUE_SCALE if solver.value_scale is None else solver.value_scale
        simulations, imagined = solver.simulations or _SIMULATIONS, architecture == "muzero"
        named = NamedPolicy(wanted, digest, solver.method, simulations, imagined, scale)
        with in_time(run, _SHARE):
            run.report(run.problem.policy_solution(instance, named))
    if run.objective is None:
        with in_time(run):
            run.report(run.problem.policy_solution(instance, NamedPolicy(wanted, digest, value_scale=VALUE_SCALE)))
