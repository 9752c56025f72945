"""The base class of the solvers `slim` and `cp-agent`: the solver `policy` on classic job shops, with a lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corl.solvers.generic.policy import Policy

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance
    from corl.run import Run

__all__ = ["BoundedPolicy"]


@dataclass(frozen=True)
class BoundedPolicy(Policy):
    """The solver `policy` for the makespan without choices of machines; it also reports the lower bound of bounds.py."""

    def accepts(self, instance: JobShopInstance) -> str:
        from corl.problems.jobshop.rules import refused

        if reason := refused(instance):
            return reason
        if instance.objective != "makespan":
            return "it minimises the makespan only, not the weighted tardiness"
        return "it takes one machine for each operation, not a choice" if instance.flexible else ""

    def solve(self, instance: JobShopInstance, run: Run) -> None:
        from corl.solvers.jobshop.bounds import lower_bound

        run.report_bound(lower_bound(instance, lambda: run.should_stop))
        super().solve(instance, run)
