"""`Branching`: SCIP's branch and bound as an environment. SCIP solves in a separate thread and waits there for each choice."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import SolverError, UsageError, unknown
from corl.loading import load
from corl.run import Run
from corl.solvers.milp.scip import MEASURING
from corl.solvers.milp.scip.model import Engine
from corl.solvers.milp.scip.recorder import GASSE
from corl.solvers.milp.scip.rule import Observation, Rule
from corl.solvers.milp.stepping.measures import REWARDS, Integrals, Measures
from corl.solvers.milp.stepping.observations import FEATURES

__all__ = ["Branching"]


class Branching:
    """Branch and bound in SCIP, in which the caller chooses the branching variable at each node with a fractional LP solution.

        env = Branching(features="candidates", reward="nodes")
        total = env.reset(instance, seed=1)
        while not env.done:
            total += env.act(env.observe()[:, Feature.GAINS].argmax())   # pseudocost branching

    As in Gasse et al. (2019), SCIP adds cuts only at the root and does not restart.
    """

    def __init__(
        self,
        *,
        features: str | Callable[[Observation], Any] = "candidates",
        reward: str | Callable[[Measures, Measures], float] = "nodes",
        time_limit: float | None = None,
        nodes: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Create an environment without an episode. Raises UsageError.

        Args:
            features: What `observe` returns: a name in `observations.FEATURES`, or a function of the Observation.
            reward: A name in `measures.REWARDS`, for minus the increase of this measure between two choices; or a function of the
                Measures at both choices.
            time_limit: The time limit of an episode in seconds of wall-clock time, including the time that the caller takes for
                its choices; None: no limit.
            nodes: The largest number of nodes of an episode's tree; None: no limit.
            parameters: Parameters of SCIP by name, which take precedence over those of Gasse et al.
        """
        if isinstance(features, str) and features not in FEATURES:
            raise UsageError(unknown("no features are called", features, FEATURES))
        if isinstance(reward, str) and reward not in REWARDS:
            raise UsageError(unknown("no reward is called", reward, REWARDS))
        self._observe = FEATURES[features] if isinstance(features, str) else features
        self._reward = REWARDS[reward] if isinstance(reward, str) else reward
        self._needs_reference = isinstance(reward, str) and reward.endswith("_integral")
        self._limits = {"time_limit": time_limit, "iterations": nodes}
        self._parameters = {**GASSE, **(parameters or {})}
        self._engine: Engine | None = None
        self._exchange: _Exchange | None = None

    # ---------------------------------------------------------------- the episode
    def reset(self, instance: Any, *, seed: int = 0, reference: float | None = None) -> float:
        """Begin the tree of a program and continue to its first choice. Raises InputError, UsageError.

        Args:
            instance: A MilpInstance, a path, the name of a shipped instance, or a pyscipopt Model.
            seed: SCIP's random seed, which permutes the program and breaks ties.
            reference: The best known objective value, to which the integrals measure gaps.

        Returns:
            The reward of the solve before the first choice. This reward and those of all calls of `act` sum to minus the measure
            of the whole solve.
        """
        self.close()
        if self._needs_reference and reference is None:
            raise UsageError("reward: an integral measures gaps to the best known value; give reset its reference")
        problem, program = load(instance, "milp")
        run = Run(problem, program, seed=seed, **self._limits)  # type: ignore[arg-type]
        run.start()
        engine = self._engine = Engine(program, run, self._parameters)
        exchange = self._exchange = _Exchange()
        self._integrals = Integrals(engine.model, engine.callbacks, reference)
        engine.model.includeEventhdlr(self._integrals, "corl_integrals", "gaps over time")
        engine.add(Rule(engine.model, engine.callbacks, exchange.choose), "corl_stepped", "a choice of the caller", MEASURING)
        self._thread = threading.Thread(target=exchange.solve, args=(engine,), daemon=True)
        self._measured = Measures(0, 0, 0.0, 0.0, 0.0)
        self._thread.start()
        return self._next()

    @property
    def done(self) -> bool:
        """Whether there is no choice to make: the tree is complete, a limit was reached, or no episode has begun."""
        return self._exchange is None or self._exchange.node is None

    @property
    def node(self) -> Observation:
        """The current node, valid until the next `act`. Raises UsageError if there is no choice to make."""
        if self._exchange is None or self._exchange.node is None:
            raise UsageError("there is no choice to make: the episode is over; call reset")
        return self._exchange.node

    def observe(self) -> Any:
        """Return the features of the current node, as chosen by `features`. Raises UsageError if there is no choice to make."""
        return self._observe(self.node)

    def strong_branching(self) -> NDArray[np.float64]:
        """Return SCIP's full strong branching scores of the candidates, float64 [K]. Raises SolverError after an LP error.

        SCIP's statistics do not change. Later LPs may end in other optimal bases, so that the rest of the tree can differ from
        that without this call.
        """
        from corl.solvers.milp.imitation.teacher import strong_branching

        node = self.node
        gains = strong_branching(node.model, node.variables)
        if gains is None:
            raise SolverError("SCIP could not solve an LP of strong branching")
        gains[np.isinf(gains)] = max(node.model.getCutoffbound() - node.model.getLPObjVal(), 0.0)
        score = node.model.getBranchScoreMultiple
        return np.array([score(variable, pair) for variable, pair in zip(node.variables, gains.tolist())])

    def act(self, slot: int | np.integer[Any]) -> float:
        """Branch on the candidate in a slot, 0 to K - 1, continue to the next choice and return the reward. Raises UsageError."""
        if not 0 <= slot < len(self.node.candidates):
            raise UsageError(f"slot {slot} is not accepted; it takes 0 to {len(self.node.candidates) - 1}")
        assert self._exchange is not None
        self._exchange.answer(int(slot))
        return self._next()

    # ---------------------------------------------------------------- results
    @property
    def measures(self) -> Measures:
        """Nodes, LP iterations, seconds and integrals so far. Raises UsageError if no episode has begun."""
        model = self._present().model
        seconds = float(model.getSolvingTime())
        integrals = self._integrals.until(seconds)
        return Measures(int(model.getNTotalNodes()), int(model.getNLPIterations()), seconds, *integrals)

    @property
    def status(self) -> str:
        """SCIP's status: "optimal", "infeasible", "timelimit", "totalnodelimit", ...; "unknown" during an episode."""
        return str(self._present().model.getStatus())

    @property
    def objective(self) -> float | None:
        """The objective value of the best solution; None without a solution."""
        model = self._present().model
        return float(model.getPrimalbound()) if model.getNSols() else None

    @property
    def bound(self) -> float:
        """The best proven bound of the objective value."""
        return float(self._present().model.getDualbound())

    @property
    def solution(self) -> NDArray[np.float64] | None:
        """The best solution, float64 [n], in the instance's order of variables; None without a solution."""
        engine = self._present()
        return engine.values(engine.model.getBestSol()) if engine.model.getNSols() else None

    def close(self) -> None:
        """End the episode and free SCIP's memory."""
        engine, exchange = self._engine, self._exchange
        self._engine = self._exchange = None
        if engine is not None and exchange is not None:
            exchange.end()
            self._thread.join()
            self._integrals.callbacks = None
            engine.close()

    def __enter__(self) -> Branching:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # when the interpreter exits, modules may have been unloaded
            self.close()

    # ----------------------------------------------------------------
    def _present(self) -> Engine:
        """Return the engine of the current episode. Raises UsageError if none has begun."""
        if self._engine is None:
            raise UsageError("no episode has begun; call reset")
        return self._engine

    def _next(self) -> float:
        """Wait for the next choice or the end of the solve; return the reward since the last choice."""
        engine, exchange = self._engine, self._exchange
        assert engine is not None and exchange is not None
        exchange.wait()
        if error := engine.callbacks.error or exchange.error:
            self.close()
            raise error
        before, self._measured = self._measured, self.measures
        return self._reward(before, self._measured)


class _Exchange:
    """Passes nodes and choices between SCIP's thread and the caller's thread; one thread waits while the other works."""

    def __init__(self) -> None:
        self.node: Observation | None = None
        self.error: BaseException | None = None
        self._slot, self._ending = -1, False
        self._asked, self._answered = threading.Semaphore(0), threading.Semaphore(0)

    # called in SCIP's thread
    def solve(self, engine: Engine) -> None:
        """Run the whole solve; store its exception in `error`."""
        try:
            engine.model.optimizeNogil()
        except BaseException as error:
            self.error = error
        finally:
            self.node = None
            self._asked.release()

    def choose(self, node: Observation) -> int:
        """Wait for the caller's choice at a node and return it; if the episode is being closed, end the solve and return -1."""
        if not self._ending:
            self.node = node
            self._asked.release()
            self._answered.acquire()
            self.node = None
        if self._ending:
            node.model.interruptSolve()
            return -1
        return self._slot

    # called in the caller's thread
    def wait(self) -> None:
        """Wait until there is a choice to make, or the solve has ended."""
        self._asked.acquire()

    def answer(self, slot: int) -> None:
        """Let SCIP continue with this choice."""
        self._slot = slot
        self._answered.release()

    def end(self) -> None:
        """Let SCIP end at its next choice."""
        self._ending = True
        self._answered.release()
