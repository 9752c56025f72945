"""`Online`: an online policy plays the day of an instance, for every problem that is revealed over time (corl.online)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from corl import registry
from corl.errors import UsageError
from corl.online.stream import OnlinePolicy
from corl.options import option, parse_pairs
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.online.dispatcher import Dispatcher
    from corl.run import Run

__all__ = ["Online"]

_BETWEEN = re.compile(r",(?=\s*[\w-]+\s*=)")  # a comma between two pairs, not one in a value


@dataclass(frozen=True)
class Online(Solver):
    """One day, played by a policy that decides with what is known; the solution is what was done.

    There is no solution if a limit or Ctrl-C ends the day early. Give benchmarks a generous time limit.
    """

    policy: str | OnlinePolicy = option("", "The policy: a name (`corl list online`) or, from Python, an OnlinePolicy; needed.")
    policy_options: str = option("", "The policy's options, KEY=VALUE, separated by commas.")
    seconds: float = option(1.0, "The time limit of a decision, in seconds; later decisions count, and are counted.", above=0)
    speed: float = option(
        0.0,
        "Simulated time, in the instance's units, per second that a decision takes; 0: the clock stands still, so "
        "that days can be reproduced.",
        low=0,
    )
    delay: float = option(0.0, "A fixed simulated time that passes during each decision besides that.", low=0)
    key: int = option(
        -1, "The key of the day's random numbers; -1: the run's seed, so that `corl bench` pairs policies on equal days.", low=-1
    )

    title: ClassVar[str] = "an online policy plays the day, deciding with what is known"
    iteration: ClassVar[str] = "one decision"
    reports_at_end: ClassVar[bool] = True
    own_workers: ClassVar[bool] = True  # copies with other seeds would play other days, and the best of them would count

    def accepts(self, instance: Any) -> str:
        try:
            policy = self._dispatcher(instance, 0).policy
        except UsageError as error:
            return str(error)
        return policy.accepts(instance)

    def prepare(self, instance: Any) -> None:
        self._dispatcher(instance, 0).policy.prepare(instance)

    def solve(self, instance: Any, run: Run) -> None:
        from corl.online.simulation import play

        player, key = self._dispatcher(instance, run.seed), run.seed if self.key < 0 else self.key

        def remaining() -> float:
            return run.remaining if run.budget(1) else 0.0

        try:
            played = play(player, key, self.speed, self.delay, remaining)
        except KeyboardInterrupt:  # in a solver that the policy called
            run.interrupt()
            played = None
        if played is None:
            run.reason = (
                f"{run.limit} ended the day at time {player.time:g}, after {player.decisions} decisions; accepted: a whole day"
            )
            return
        if played.late:
            most = played.seconds.max()
            run.reason = f"{played.late} of {player.decisions} decisions took longer than {self.seconds:g} s, up to {most:.3g} s"
        run.report(played.solution)

    def _dispatcher(self, instance: Any, seed: int) -> Dispatcher:
        """Return a dispatcher at the beginning of the day, whose policy is not prepared."""
        from corl.online.dispatcher import Dispatcher, named_policy

        problem = registry.problem_of(instance)
        assert problem is not None
        stream = problem.stream(instance)
        given = parse_pairs(_BETWEEN.split(self.policy_options)) if self.policy_options else {}
        policy, name = named_policy(problem.name, self.policy, given)
        return Dispatcher(problem, instance, stream, policy, name, self.seconds, seed)
