"""`Branching`: SCIP's tree as an episode that the caller steps; SCIP solves in a thread of its own and waits for each choice."""

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
from corl.solvers.milp.stepping.seeing import FEATURES

__all__ = ["Branching"]


class Branching:
    """Branch and bound in SCIP, one episode a tree: at each node with a fractional LP solution the caller chooses a variable.

        env = Branching(features="candidates", reward="nodes")
        total = env.reset(instance, seed=1)
        while not env.done:
            total += env.act(env.observe()[:, Feature.GAINS].argmax())   # pseudocost branching

    The setting is that of Gasse et al. (2019): cuts at the root only, no restarts; `parameters` of SCIP come on top.
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
        """features: what `observe` gives, one of `FEATURES` or a function of the Observation. reward: of a choice, what it cost
        until the next one, negative, by one of `REWARDS`; or a function of the Measures before and after. time_limit, nodes:
        limits of an episode, seconds of wall clock (yours in between count) and nodes of the tree. Raises UsageError.
        """
        if isinstance(features, str) and features not in FEATURES:
            raise UsageError(unknown("no features are called", features, FEATURES))
        if isinstance(reward, str) and reward not in REWARDS:
            raise UsageError(unknown("no reward is called", reward, REWARDS))
        self._see = FEATURES[features] if isinstance(features, str) else features
        self._reward = REWARDS[reward] if isinstance(reward, str) else reward
        self._needs_reference = isinstance(reward, str) and reward.endswith("_integral")
        self._limits = {"time_limit": time_limit, "iterations": nodes}
        self._parameters = {**GASSE, **(parameters or {})}
        self._engine: Engine | None = None
        self._exchange: _Exchange | None = None

    # ---------------------------------------------------------------- the episode
    def reset(self, instance: Any, *, seed: int = 0, reference: float | None = None) -> float:
        """Begin the tree of a program and go to its first choice; returns the reward of what came before it.

        instance: a MilpInstance, a path, a shipped instance's name, or a pyscipopt Model. seed: SCIP's, for its permutations and
        ties. reference: the program's best known value, which the integrals measure gaps to. The sum of all rewards and this one
        is minus the measure of the whole solve. Raises InputError, UsageError.
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
        engine.add(Rule(engine.model, engine.callbacks, exchange.choose), "corl_stepped", "a choice of the caller's", MEASURING)
        self._thread = threading.Thread(target=exchange.solve, args=(engine,), daemon=True)
        self._measured = Measures(0, 0, 0.0, 0.0, 0.0)
        self._thread.start()
        return self._next()

    @property
    def done(self) -> bool:
        """Whether there is nothing to choose: the tree is finished, a limit is met, or no episode has begun."""
        return self._exchange is None or self._exchange.node is None

    @property
    def node(self) -> Observation:
        """The present node, to be read before the next `act`. Raises UsageError where the episode is over."""
        if self._exchange is None or self._exchange.node is None:
            raise UsageError("there is no choice to make: the episode is over; call reset")
        return self._exchange.node

    def observe(self) -> Any:
        """What `features` sees of the present node."""
        return self._see(self.node)

    def strong_branching(self) -> NDArray[np.float64]:
        """SCIP's scores [K] of the candidates by full strong branching. Its statistics stay as they are; the LPs after it may
        take other pivots, so that a tree may come out a little different from one where nobody asked.
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
        """Branch on the candidate in a slot, 0 .. K - 1, and go on to the next choice; returns the reward."""
        if not 0 <= slot < len(self.node.candidates):
            raise UsageError(f"slot {slot} is not accepted; it takes 0 to {len(self.node.candidates) - 1}")
        assert self._exchange is not None
        self._exchange.answer(int(slot))
        return self._next()

    # ---------------------------------------------------------------- what came of it
    @property
    def measures(self) -> Measures:
        """Nodes, LP iterations, seconds and integrals until now."""
        model = self._present().model
        seconds = float(model.getSolvingTime())
        integrals = self._integrals.until(seconds)
        return Measures(int(model.getNTotalNodes()), int(model.getNLPIterations()), seconds, *integrals)

    @property
    def status(self) -> str:
        """SCIP's word: "optimal", "infeasible", "timelimit", "totalnodelimit", ...; "unknown" while there is a choice to make."""
        return str(self._present().model.getStatus())

    @property
    def objective(self) -> float | None:
        """Of the best solution, in the user's sense; None without one."""
        model = self._present().model
        return float(model.getPrimalbound()) if model.getNSols() else None

    @property
    def bound(self) -> float:
        """The best proven bound, in the user's sense."""
        return float(self._present().model.getDualbound())

    @property
    def solution(self) -> NDArray[np.float64] | None:
        """The best solution's values in the instance's order, float64 [n]; None without one."""
        engine = self._present()
        return engine.values(engine.model.getBestSol()) if engine.model.getNSols() else None

    def close(self) -> None:
        """Leave the tree as it is, and free it."""
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
        with contextlib.suppress(Exception):  # at the interpreter's end anything may be gone
            self.close()

    # ----------------------------------------------------------------
    def _present(self) -> Engine:
        if self._engine is None:
            raise UsageError("no episode has begun; call reset")
        return self._engine

    def _next(self) -> float:
        """Wait for SCIP's next question or its end; the reward since the last one."""
        engine, exchange = self._engine, self._exchange
        assert engine is not None and exchange is not None
        exchange.wait()
        if error := engine.callbacks.error or exchange.error:
            self.close()
            raise error
        before, self._measured = self._measured, self.measures
        return self._reward(before, self._measured)


class _Exchange:
    """A node for a choice, between SCIP's thread and the caller's: one of them waits while the other works."""

    def __init__(self) -> None:
        self.node: Observation | None = None
        self.error: BaseException | None = None
        self._slot, self._ending = -1, False
        self._asked, self._answered = threading.Semaphore(0), threading.Semaphore(0)

    # SCIP's thread
    def solve(self, engine: Engine) -> None:
        """The whole solve."""
        try:
            engine.model.optimizeNogil()
        except BaseException as error:
            self.error = error
        finally:
            self.node = None
            self._asked.release()

    def choose(self, node: Observation) -> int:
        """Ask the caller; without one, end the solve."""
        if not self._ending:
            self.node = node
            self._asked.release()
            self._answered.acquire()
            self.node = None
        if self._ending:
            node.model.interruptSolve()
            return -1
        return self._slot

    # the caller's
    def wait(self) -> None:
        """Until there is a question, or the end."""
        self._asked.acquire()

    def answer(self, slot: int) -> None:
        """Let SCIP go on with this choice."""
        self._slot = slot
        self._answered.release()

    def end(self) -> None:
        """Let SCIP end as soon as it asks again."""
        self._ending = True
        self._answered.release()
