"""Models in code: classes that build instances from named objects, equal to the instances in files.

The classes are `RoutingModel`, `SchedulingModel`, `KnapsackModel` and `BanditModel`; see README.md in this folder.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corl.modelling.bandits import BanditModel
    from corl.modelling.knapsack import KnapsackModel
    from corl.modelling.routing import RoutingModel
    from corl.modelling.scheduling import SchedulingModel

__all__ = ["BanditModel", "KnapsackModel", "RoutingModel", "SchedulingModel"]

_MODULES = {"BanditModel": "bandits", "KnapsackModel": "knapsack", "RoutingModel": "routing", "SchedulingModel": "scheduling"}

if not TYPE_CHECKING:  # type checkers do not see this function, so that they report misspelt names

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"corl.modelling.{_MODULES[name]}"), name)
