"""Shared parts of the generic solvers: loading a policy, a budget in states evaluated by it, a pool of states to decode on."""

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

_WARM_UP = 400  # states: enough for a round of any decoder, or an episode by search, on a miniature
_WORK = 2.5e9  # floating-point operations of one network call, about 60 ms of one core; a time limit is noticed between two calls
_BATCH = 32  # most rows of a network call; larger batches are not faster on a CPU
_POOL = 64  # rows that are decoded together if a decoder needs no more
_MEMORY = 1e9  # bytes that the rows of a pool may take
_LISTED = 500  # steps without network calls between two readings of the clock
_GRACE = 0.1  # seconds in which the first solution may be completed when the time is over
_RESERVE = 0.9  # share of the time left that a round is planned to take


def no_environment(instance: Any) -> str:
    """Return why a solver that needs an environment cannot solve `instance`; "" if its problem has one."""
    problem = registry.problem_of(instance)
    if problem is None or problem.has_environment:
        return ""
    return f"{problem.name} has no environment"


def warm_up(solver: Solver, instance: Any, policy: Policy) -> None:
    """Solve a miniature of `instance`, which compiles every kernel that solving `instance` needs.

    This includes the code for a budget that ends before the first solution. If no state of the miniature leaves a choice, the
    network and the noise of a decoder are called once on their own.
    """
    import numpy as np

    from corl.decoding.noise import gumbels
    from corl.run import Run

    problem = registry.problem_of(instance)
    assert problem is not None
    tiny = problem.miniature(instance)
    for iterations in (_WARM_UP, 1):
        solver.solve(tiny, Run(problem, tiny, iterations=iterations))
    ended = Run(problem, tiny)
    ended.stop("time_limit")
    solver.solve(tiny, ended)
    pool = problem.environment([tiny], 1, name=policy.environment)
    pool.reset([0], [0])
    if pool.actions([0])[0, 0] >= 0:
        policy.on(pool).evaluate(pool.view([0]))
    gumbels(np.zeros(1, np.uint64), 0, 1)


def policy_for(instance: Any, given: str | Policy, architecture: str = "") -> Any:
    """Return the policy with which a solver decodes `instance`, in evaluation mode.

    Args:
        instance: The instance.
        given: A name or a path; "" for the policy shipped for instances of this kind; or a policy, which is returned itself.
        architecture: The required architecture; "" accepts every policy.

    Raises UsageError as `policy_name` does, and for a policy of another problem or architecture, or in training mode.
    """
    from corl.networks.checkpoints import loaded

    problem = registry.problem_of(instance)
    assert problem is not None
    wanted = policy_name(instance, given, architecture) if isinstance(given, str) else type(given).__name__
    policy: Any = loaded(wanted)[0] if isinstance(given, str) else given
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
    """Return `name`, or for "" the name of the shipped policy. Raises UsageError with the command that trains one if none is."""
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
    own = [recipe for recipe in (wanted, wanted.removeprefix(f"{problem.name}-"), architecture) if recipe in recipes]
    recipe = own[0] if own else "NAME"
    there = "" if own else f" (recipes: {', '.join(recipes) or 'none'})"
    return (
        f"no {architecture or 'policy'} network is shipped for such instances of {problem.name}; train one with "
        f"corl train {problem.name} --recipe {recipe} --output FILE.safetensors{there} and give it as policy=FILE.safetensors"
    )


class Session:
    """Repeated decoding of one instance, its symmetric copies and its starts by a policy, until the run must stop.

    The unit of the run's budget is a state evaluated by the network. Every better solution is reported at once.
    """

    def __init__(self, instance: Any, run: Run, policy: Policy, augment: int, starts: int) -> None:
        """Prepare a session; nothing is decoded yet.

        Args:
            instance: The instance.
            run: Its budget, and the receiver of solutions.
            policy: The policy, in evaluation mode.
            augment: The greatest number of symmetric copies to decode, the instance itself included.
            starts: The greatest number of keys to begin with; 0: all.
        """
        self.run, self.policy = run, policy
        self.instance, self.copies = instance, run.problem.symmetries(instance)[:augment]
        self.starts = min(starts or math.inf, run.problem.starts(instance))
        self.rows = 0
        """States evaluated by the network so far."""
        self.steps = 0
        """States evaluated by the network in the greedy episode."""
        self._seconds = 0.0  # per state, as last measured
        self._mark = (0.0, 0)  # when the current decoding began, and the states evaluated before it
        self.plays = False
        """Whether the policy plays whole episodes by itself, a few at a time, so that a time limit may come at any moment."""
        self.most_rows = 1
        self._pool: Environment | None = None

    @property
    def entries(self) -> int:
        """The number of episodes that are decoded side by side: copies x starts."""
        return len(self.copies) * int(self.starts)

    def first(self) -> bool:
        """Report the greedy solution, and return whether another solution exists and budget is left to search for it.

        With a time limit, the solution of the first listed actions is reported before the greedy one. If a budget of iterations
        ends within the greedy episode, the first listed actions complete the episode.
        """
        from corl.decoding import Greedy

        pool = self.run.problem.environment([self.instance], 1, name=self.policy.environment)
        per_row = sum(array.nbytes // len(array) for array in pool.state if len(array) == 1)
        self.most_rows = max(_POOL, int(_MEMORY / max(1, per_row))) if pool.compiled else _POOL
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
        if not self.steps or not self._chose(pool, found.actions[0]):  # there is no other solution
            return False
        return not self.run.should_stop

    def _chose(self, pool: Environment, actions: NDArray[np.int32]) -> bool:
        """Return whether any state of an episode has more than one action. Row 0 replays the episode up to that state."""
        pool.reset([0], [0])
        for action in actions:
            if (pool.actions([0])[0] >= 0).sum() > 1:
                return True
            pool.step([0], [0], [action])
        return False

    def _complete(self, pool: Environment) -> bool:
        """Complete row 0 by first listed actions and report it; return False if the run ended more than _GRACE seconds ago."""
        import numpy as np

        from corl.decoding.rollouts import play_listed

        ends = math.inf

        def late() -> bool:
            nonlocal ends
            if self.run.iterations is not None or not self.run.should_stop:
                return False
            ends = min(ends, self.run.elapsed + _GRACE)
            return self.run.elapsed > ends

        scratch = np.empty(pool.width, np.int32)
        while not pool.compiled and (first := int(pool.actions([0])[0, 0])) >= 0:
            if late():
                return False
            pool.step([0], [0], [first])
        while pool.compiled and not play_listed(pool.state, 0, scratch, _LISTED):
            if late():
                return False
        self.run.report(pool.solution(0))
        return True

    def decode(self, decoder: Decoder, rows: int, number: int, together: int = _POOL) -> Decoded:
        """Decode all entries, and return what was found.

        Args:
            decoder: The decoder.
            rows: Rows of the pool for each entry.
            number: The number of the round; each has different noise.
            together: Rows of the pool in which entries are decoded side by side; always at least one entry.
        """
        import numpy as np

        needed = max(rows, min(self.entries * rows, together))
        if self._pool is None or self._pool.rows < needed:
            self._pool = self.run.problem.environment(self.copies, needed, name=self.policy.environment)
        key, which = np.divmod(np.arange(self.entries), len(self.copies))
        return self._decode(decoder, self._pool, which, key, number)

    def fits(self, states: int, entries: int = 0) -> int:
        """Return how many times the rest of the budget allows `states` states for each of `entries` entries (0: all)."""
        states *= entries or self.entries
        if self.run.iterations is not None:
            return (self.run.iterations - self.rows) // states
        self._measure()
        if self.run.time_limit is None or not self._seconds:
            return 2**31
        return int(_RESERVE * self.run.remaining / self._seconds) // states

    def out_of_budget(self) -> None:
        """End the run, because the rest of its budget is too small for another round."""
        self.run.stop("iterations" if self.run.iterations is not None else "time_limit")

    def _decode(self, decoder: Decoder, pool: Environment, which: Any, keys: Any, number: int) -> Decoded:
        """Decode entries of a pool, given by their instances `which` and keys, and report better solutions as they are found."""
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
        self._mark = self.run.elapsed, self.rows
        seed = int(stream_keys(self.run.seed % 2**64, number)[0])
        found = decode(decoder, evaluator, which, keys=keys, seed=seed, found=Decoded(on_solution=self._offer))
        self._measure()
        return found

    def _measure(self) -> None:
        """Update the measured seconds per state."""
        began, before = self._mark
        if self.rows > before:
            self._seconds = (self.run.elapsed - began) / (self.rows - before)

    def _left(self) -> int:
        """Return the states that a budget of iterations has left; 2^31 without such a budget."""
        return 2**31 if self.run.iterations is None else max(0, self.run.iterations - self.rows)

    def _ask(self, rows: int) -> bool:
        """Draw `rows` units from the run's budget; return False if it has too few."""
        self.rows += rows
        while rows:
            granted = self.run.budget(rows)
            if not granted:
                return False
            rows -= granted
        return True

    def _offer(self, entry: int, total: float, solution: Any) -> None:
        """Report a solution whose total reward promises a better objective value than the incumbent's."""
        value = -total if self.run.problem.sense == "min" else total
        if self.run.objective is None or self.run.problem.better(value, self.run.objective):
            self.run.report(solution)

    def _batch(self, slots: int) -> int:
        """Return the rows of a network call; it does not depend on the machine's speed, so that results are reproducible."""
        parameters = getattr(self.policy, "parameters", None)
        if parameters is None:
            return _BATCH
        work = 2.0 * sum(weights.numel() for weights in parameters()) * (slots + 2)
        return max(1, min(_BATCH, int(_WORK / work)))
