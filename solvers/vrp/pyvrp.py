"""`PyVrp`: the PyVRP package (MIT licence), an iterated local search in C++, as a peer, and to improve CORL's solutions."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    from corl.problems.vrp.instance import VrpInstance
    from corl.run import Run

__all__ = ["PyVrp"]

_MOST_NODES = 12_000  # n x n integers of 8 bytes, twice
_MOST_IN_PROCESS = 1000  # nodes up to which it checks its limit every half second; with 6,000 its first descent takes 11 s


@dataclass(frozen=True)
class PyVrp(Solver):
    """PyVRP with its own default parameters. It starts from `warm_start`, if one is given.

    It computes with integers: values that are not integers are scaled, so that the longest distance becomes at most 2**17, and
    rounded to the safe side; the cost reported is the true one. If it finds nothing for a few clients, all routes are enumerated.
    """

    limit_free: ClassVar[bool] = True
    title: ClassVar[str] = "the PyVRP package, a peer (optional)"
    requires: ClassVar[tuple[str, ...]] = ("pyvrp",)
    iteration: ClassVar[str] = "one perturbation and its local search"

    def accepts(self, instance: VrpInstance) -> str:
        from corl.solvers.vrp.pyvrp_data import UNKNOWN

        rules = instance.rules
        if rules is not None and (unknown := rules.named(UNKNOWN)):
            return f"it takes no {unknown[0]}"
        release, shipments = (None, None) if rules is None else (rules.release, rules.shipments)
        if release is not None and shipments is not None and release[shipments].any():
            return "it takes no release times of shipments"
        if instance.n > _MOST_NODES:
            return f"it needs n x n matrices, which we allow up to {_MOST_NODES} nodes, not {instance.n}"
        return ""

    def own_process(self, instance: VrpInstance) -> bool:
        return instance.n > _MOST_IN_PROCESS

    def prepare(self, instance: VrpInstance) -> None:
        try:
            import_module("pyvrp")
        except ImportError as error:
            message = f'solver pyvrp needs the pyvrp package, 0.14 or newer ({error}): in a checkout pip install ".[peers]"'
            raise UsageError(message) from None

    def solve(self, instance: VrpInstance, run: Run) -> None:
        from corl.problems.vrp.evaluation import routes_of
        from corl.solvers.vrp.bounds import report_if_empty
        from corl.solvers.vrp.enumeration import enumerate_if_unsolved
        from corl.solvers.vrp.pyvrp_data import servable, translate, usable

        if report_if_empty(instance, run):
            return
        pyvrp: Any = import_module("pyvrp")
        kinds, nodes = usable(instance), servable(instance)
        if not kinds or not nodes:
            if not instance.required.any():
                run.report([])
            return
        translation, left = translate(instance, kinds, nodes), [0]

        class Listener(pyvrp.IteratedLocalSearchCallbacks):  # type: ignore[misc]
            def on_start(self, algorithm: Any) -> None:
                self.on_best(algorithm.initial_solution)

            def on_best(self, best: Any) -> None:
                if best.is_feasible() and translation.lets(routes := translation.routes(best)):
                    run.report(routes)

        def stop(best_cost: float) -> bool:
            if left[0] == 0:
                left[0] = run.budget()
            left[0] -= 1
            return left[0] < 0 or run.should_stop

        start = None
        if run.warm_start is not None and run.solution is not None:
            start = translation.start(routes_of(instance, run.solution))
        parameters = pyvrp.SolveParams(ils=pyvrp.IteratedLocalSearchParams(callbacks=Listener()))
        seed = run.seed % 2**32
        pyvrp.solve(
            translation.data, stop, seed, collect_stats=False, display=False, params=parameters, initial_solution=start
        )  # fmt: skip
        enumerate_if_unsolved(instance, run)
