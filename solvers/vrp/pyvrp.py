"""`PyVrp`: the PyVRP package (MIT licence), an iterated local search in C++, for comparison and to improve CORL's solutions."""

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

_MAX_NODES = 12_000  # greatest number of nodes: two n x n matrices of 8-byte integers then take 2.3 GB
_MAX_NODES_IN_PROCESS = 1000  # with at most so many nodes, PyVRP checks its limit every 0.5 s; with 6,000, first after 11 s


@dataclass(frozen=True)
class PyVrp(Solver):
    """PyVRP with its own default parameters. It starts from `warm_start`, if one is given.

    PyVRP computes with integers. Values that are not integers are scaled, so that the longest distance becomes at most 2**20, and
    rounded so that solutions remain feasible; the reported cost is the true one. If PyVRP finds no solution of an instance with
    few possible routes, these are enumerated.
    """

    limit_free: ClassVar[bool] = True  # the search is the same for every time limit (corl.solver)
    engine: ClassVar[str] = "PyVRP"
    title: ClassVar[str] = "the PyVRP package, a peer (optional)"
    requires: ClassVar[tuple[str, ...]] = ("pyvrp",)
    iteration: ClassVar[str] = "one perturbation and its local search"

    def accepts(self, instance: VrpInstance) -> str:
        from corl.solvers.vrp.pyvrp_data import UNSUPPORTED

        rules = instance.rules
        if rules is not None and (unsupported := rules.named(UNSUPPORTED)):
            return f"it takes no {unsupported[0]}"
        release, shipments = (None, None) if rules is None else (rules.release, rules.shipments)
        if release is not None and shipments is not None and release[shipments].any():
            return "it takes no release times of shipments"
        if instance.n > _MAX_NODES:
            return f"it needs n x n matrices, which we allow up to {_MAX_NODES} nodes, not {instance.n}"
        return ""

    def own_process(self, instance: VrpInstance) -> bool:
        return instance.n > _MAX_NODES_IN_PROCESS

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
        from corl.solvers.vrp.pyvrp_data import servable_clients, translate, usable_types

        if report_if_empty(instance, run):
            return
        pyvrp: Any = import_module("pyvrp")
        kinds, nodes = usable_types(instance), servable_clients(instance)
        if not kinds or not nodes:
            if not instance.required.any():
                run.report([])
            return
        translation, budget = translate(instance, kinds, nodes), [0]

        class Listener(pyvrp.IteratedLocalSearchCallbacks):  # type: ignore[misc]
            def on_start(self, algorithm: Any) -> None:
                self.on_best(algorithm.initial_solution)

            def on_best(self, best: Any) -> None:
                if best.is_feasible() and translation.allows(routes := translation.routes(best)):
                    run.report(routes)

        def stop(best_cost: float) -> bool:
            if budget[0] == 0:
                budget[0] = run.budget()
            budget[0] -= 1
            return budget[0] < 0 or run.should_stop

        start = None
        if run.warm_start is not None and run.solution is not None:
            start = translation.start(routes_of(instance, run.solution))
        parameters = pyvrp.SolveParams(ils=pyvrp.IteratedLocalSearchParams(callbacks=Listener()))
        seed = run.seed % 2**32
        pyvrp.solve(
            translation.data, stop, seed, collect_stats=False, display=False, params=parameters, initial_solution=start
        )  # fmt: skip
        enumerate_if_unsolved(instance, run)
