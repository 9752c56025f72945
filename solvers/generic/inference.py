"""Shared parts of the generic solvers: loading a policy, and decoding an instance repeatedly within the budget of a run.

An entry is an episode to decode: a symmetric copy of the instance and a start (of a tour: a first city).
The pool is the environment in which entries are decoded; each of its rows holds one state.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from corl import registry
from corl.adapter import Problem
from corl.errors import UsageError
from corl.learning.recipe import recipe_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.decoding import Decoded, Decoder
    from corl.environment import Environment
    from corl.policy import Policy
    from corl.run import Run
    from corl.solver import Solver

__all__ = ["Session", "no_environment", "policy_for", "policy_name", "warm_up"]

_WARM_UP_STATES = 400  # states to evaluate on a miniature: enough for a round of any decoder, or an episode by search
_MAX_OPERATIONS = 2.5e9  # floating-point operations of a network call (60 ms of a core), as the clock is read only between calls
_MAX_BATCH = 32  # rows of a network call; larger batches are not faster on a CPU
_POOL_ROWS = 64  # the greatest number of rows of the pool unless a decoder needs more
_MAX_BYTES = 1e9  # memory of the rows of a pool
_STEPS_PER_CLOCK = 500  # steps between two readings of the clock while every step takes the first listed action
_GRACE = 0.1  # seconds after the time limit in which the first solution may still be completed
_PLANNED_SHARE = 0.9  # share of the remaining time that a round is planned to take


def no_environment(instance: Any) -> str:
    """Return why a solver that needs an environment cannot solve `instance`; "" if its problem has one."""
    problem = registry.problem_of(instance)
    if problem is None or problem.has_environment:
        return ""
    return f"{problem.name} has no environment"


def warm_up(solver: Solver, instance: Any, policy: Policy) -> None:
    """Solve a miniature of `instance`, which compiles every kernel that solving `instance` needs.

    This includes the code for a budget that ends before the first solution. The network and the noise of decoders are also called
    separately, in case no state of the miniature has two legal actions.
    """
    import numpy as np

    from corl.decoding.noise import gumbels
    from corl.run import Run

    problem = registry.problem_of(instance)
    assert problem is not None
    miniature = problem.warm_up_instance(instance)
    for iterations in (_WARM_UP_STATES, 1):
        solver.solve(miniature, Run(problem, miniature, iterations=iterations))
    stopped_run = Run(problem, miniature)
    stopped_run.stop("time_limit")
    solver.solve(miniature, stopped_run)
    pool = problem.environment([miniature], 1, name=policy.environment)
    pool.reset([0], [0])
    if pool.actions([0])[0, 0] >= 0:
        policy.on(pool).evaluate(pool.view([0]))
    gumbels(np.zeros(1, np.uint64), 0, 1)


def policy_for(instance: Any, given: str | Policy, architecture: str = "") -> Any:
    """Return the policy with which a solver decodes `instance`, in evaluation mode.

    Args:
        instance: The instance.
        given: A policy, which is returned; or the name or file of one; "" is the policy shipped for instances of this kind.
        architecture: The required architecture; "" accepts every policy.

    Raises UsageError as `policy_name` does, and for a policy of another problem or architecture, or in training mode.
    """
    from corl.networks.checkpoints import load_cached

    problem = registry.problem_of(instance)
    assert problem is not None
    wanted = policy_name(instance, given, architecture) if isinstance(given, str) else type(given).__name__
    policy: Any = load_cached(wanted)[0] if isinstance(given, str) else given
    kind = getattr(policy, "architecture", "")
    if architecture and kind != architecture:
        raise UsageError(f"policy {wanted} is a network of architecture {kind}; accepted: {architecture}")
    if not hasattr(policy, "on"):
        raise UsageError(f"policy {wanted} is a network of architecture {kind}, which is no policy")
    if policy.problem not in ("", problem.name):
        raise UsageError(f"policy {wanted} is for {policy.problem}, not for {problem.name}")
    if getattr(policy, "training", False):
        raise UsageError(f"policy {wanted} is in training mode; accepted: one in evaluation mode, policy.eval()")
    return policy


def policy_name(instance: Any, name: str, architecture: str = "") -> str:
    """Return `name`; if it is "", the name of the shipped policy.

    If no policy is shipped, raises UsageError with the command that trains one.
    """
    from corl.networks.checkpoints import shipped

    problem = registry.problem_of(instance)
    assert problem is not None
    wanted = name or (f"{problem.name}-{architecture}" if architecture else problem.default_policy(instance))
    if not name and wanted not in shipped():
        raise UsageError(_untrained(problem, wanted, architecture))
    return wanted


def _untrained(problem: Problem, wanted: str, architecture: str) -> str:
    """Return the message for a policy that is not shipped, with the command that trains one."""
    recipes = recipe_names(problem.name)
    own_recipes = [recipe for recipe in (wanted, wanted.removeprefix(f"{problem.name}-"), architecture) if recipe in recipes]
    recipe = own_recipes[0] if own_recipes else "NAME"
    choices = "" if own_recipes else f" (recipes: {', '.join(recipes) or 'none'})"
    return (
        f"no {architecture or 'policy'} network is shipped for such instances of {problem.name}; train one with "
        f"corl train {problem.name} --recipe {recipe} --output FILE.safetensors{choices} and give it as policy=FILE.safetensors"
    )


class Session:
    """Repeated decoding of an instance by a policy, from all symmetric copies and starts, until the run must stop.

    The unit of the run's budget is a state evaluated by the network. Every better solution is reported at once.
    """

    def __init__(self, instance: Any, run: Run, policy: Policy, augment: int, starts: int) -> None:
        """Prepare a session; nothing is decoded yet.

        Args:
            instance: The instance.
            run: The run, with its budget, which receives the solutions.
            policy: The policy, in evaluation mode.
            augment: The greatest number of symmetric copies to decode, the instance itself included.
            starts: The greatest number of starts to decode from; 0: all.
        """
        self.run, self.policy = run, policy
        self.instance, self.copies = instance, run.problem.symmetries(instance)[:augment]
        self.starts = min(starts or math.inf, run.problem.start_count(instance))
        self.rows = 0
        """The number of states evaluated by the network so far."""
        self.steps = 0
        """The number of states evaluated by the network in the greedy episode."""
        self._seconds = 0.0  # seconds per evaluated state, by the last measurement
        self._decoding_began = (0.0, 0)  # when the current decoding began, and `rows` at that time
        self.plays = False
        """Whether the policy plays whole episodes by itself, a few at a time, and can stop at any moment."""
        self.most_rows = 1
        """The greatest number of rows of a pool."""
        self._pool: Environment | None = None

    @property
    def entries(self) -> int:
        """The number of entries: symmetric copies x starts."""
        return len(self.copies) * int(self.starts)

    def first(self) -> bool:
        """Report the greedy solution; return whether there are other solutions and budget is left.

        Without a budget of iterations, the solution of always taking the first listed action is reported before it. If a budget
        of iterations ends within the greedy episode, the first listed actions complete the episode.
        """
        from corl.decoding import Greedy

        pool = self.run.problem.environment([self.instance], 1, name=self.policy.environment)
        per_row = sum(array.nbytes // len(array) for array in pool.state if len(array) == 1)
        self.most_rows = max(_POOL_ROWS, int(_MAX_BYTES / max(1, per_row))) if pool.compiled else _POOL_ROWS
        if self.run.iterations is None:
            pool.reset([0], [0])
            if not self._complete(pool):
                return False
        found = self._decode(Greedy(), pool, [0], None, 0)
        self.steps = self.rows
        if not found.complete:
            if self.run.iterations is not None:
                self._complete(pool)
            return False
        if not self.steps or not self._had_a_choice(pool, found.actions[0]):  # there is no other solution
            return False
        return not self.run.should_stop

    def _had_a_choice(self, pool: Environment, actions: NDArray[np.int32]) -> bool:
        """Return whether any state of an episode had more than one legal action; row 0 replays its `actions`."""
        pool.reset([0], [0])
        for action in actions:
            if (pool.actions([0])[0] >= 0).sum() > 1:
                return True
            pool.step([0], [0], [action])
        return False

    def _complete(self, pool: Environment) -> bool:
        """Complete the episode of row 0 by the first listed actions, and report its solution.

        Returns False, without a solution, if the run ended more than _GRACE seconds before the episode is complete.
        """
        import numpy as np

        from corl.decoding.rollouts import play_listed

        grace_ends = math.inf

        def is_too_late() -> bool:
            """Return whether the run ended more than _GRACE seconds ago."""
            nonlocal grace_ends
            if self.run.iterations is not None or not self.run.should_stop:
                return False
            grace_ends = min(grace_ends, self.run.elapsed + _GRACE)
            return self.run.elapsed > grace_ends

        scratch = np.empty(pool.width, np.int32)
        while not pool.compiled and (first := int(pool.actions([0])[0, 0])) >= 0:
            if is_too_late():
                return False
            pool.step([0], [0], [first])
        while pool.compiled and not play_listed(pool.state, 0, scratch, _STEPS_PER_CLOCK):
            if is_too_late():
                return False
        self.run.report(pool.solution(0))
        return True

    def decode(self, decoder: Decoder, rows: int, number: int, together: int = _POOL_ROWS) -> Decoded:
        """Decode all entries, and return the solutions.

        Args:
            decoder: The decoder.
            rows: The rows of the pool that each entry needs.
            number: The number of the round, which determines its noise.
            together: The greatest number of rows of the pool; if one entry needs more, the pool has as many as that.
        """
        import numpy as np

        needed = max(rows, min(self.entries * rows, together))
        if self._pool is None or self._pool.rows < needed:
            self._pool = self.run.problem.environment(self.copies, needed, name=self.policy.environment)
        key, which = np.divmod(np.arange(self.entries), len(self.copies))
        return self._decode(decoder, self._pool, which, key, number)

    def fits(self, states: int, entries: int = 0) -> int:
        """Return how often the remaining budget suffices for evaluating `states` states of each of `entries` entries (0: all)."""
        states *= entries or self.entries
        if self.run.iterations is not None:
            return (self.run.iterations - self.rows) // states
        self._measure()
        if self.run.time_limit is None or not self._seconds:
            return 2**31
        return int(_PLANNED_SHARE * self.run.remaining / self._seconds) // states

    def out_of_budget(self) -> None:
        """End the run, because its remaining budget is too small for another round."""
        self.run.stop("iterations" if self.run.iterations is not None else "time_limit")

    def _decode(self, decoder: Decoder, pool: Environment, which: Any, keys: Any, number: int) -> Decoded:
        """Decode entries, given by instance indices (`which`) and keys, and report every better solution at once."""
        from corl.decoding import CountedEvaluator, Decoded, decode
        from corl.decoding.noise import stream_keys

        evaluator = CountedEvaluator(
            pool,
            self.policy,
            most=self._batch(pool.width),
            ask=self._ask,
            left=self._left,
            stop=lambda: self.run.should_stop,
        )
        self.plays = evaluator.player is not None
        self._decoding_began = self.run.elapsed, self.rows
        seed = int(stream_keys(self.run.seed % 2**64, number)[0])
        found = decode(decoder, evaluator, which, keys=keys, seed=seed, found=Decoded(on_solution=self._offer))
        self._measure()
        return found

    def _measure(self) -> None:
        """Update the measured seconds per state."""
        began_at, rows_before = self._decoding_began
        if self.rows > rows_before:
            self._seconds = (self.run.elapsed - began_at) / (self.rows - rows_before)

    def _left(self) -> int:
        """Return how many states may still be evaluated within `iterations`; 2^31 without that limit."""
        return 2**31 if self.run.iterations is None else max(0, self.run.iterations - self.rows)

    def _ask(self, rows: int) -> bool:
        """Take `rows` units from the run's budget; return False if it has fewer."""
        self.rows += rows
        while rows:
            granted = self.run.budget(rows)
            if not granted:
                return False
            rows -= granted
        return True

    def _offer(self, entry: int, total: float, solution: Any) -> None:
        """Report a solution if its total reward implies a better objective value than that of the incumbent."""
        value = -total if self.run.problem.sense == "min" else total
        if self.run.objective is None or self.run.problem.better(value, self.run.objective):
            self.run.report(solution)

    def _batch(self, slots: int) -> int:
        """Return the greatest number of rows of a network call; for reproducible results, it does not depend on the machine."""
        parameters = getattr(self.policy, "parameters", None)
        if parameters is None:
            return _MAX_BATCH
        operations_per_row = 2.0 * sum(weights.numel() for weights in parameters()) * (slots + 2)
        return max(1, min(_MAX_BATCH, int(_MAX_OPERATIONS / operations_per_row)))
