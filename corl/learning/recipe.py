"""Recipe: a way to train a network for one problem, or for every problem with an environment; the look-up of recipes by name."""

from __future__ import annotations

import abc
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from corl import registry
from corl.entry_points import declared, load
from corl.errors import UsageError, unknown
from corl.options import Options, declarations

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from corl.learning.session import Training

__all__ = ["Recipe", "recipe_class", "recipe_names", "usual_recipe"]


class Recipe(Options, abc.ABC):
    """A way to train a network: a frozen dataclass whose fields are the recipe's options, declared by `corl.options.option`.

    Declare it as an entry point of the group `corl.recipes`: PROBLEM.NAME, or any.NAME for every problem with an environment. To
    change the defaults of any.NAME for one problem, declare a subclass with other defaults (`corl.options.with_default`) as an
    entry point PROBLEM.NAME of the group `corl.defaults`.
    """

    title: ClassVar[str] = ""
    """One line for `corl list recipes`."""
    step: ClassVar[str] = ""
    """A description of one step, the unit of `--steps`."""
    usual_time: ClassVar[float | None] = None
    """The time limit, in seconds, of a run without a given limit. A recipe that sets it is its problem's usual one."""

    @abc.abstractmethod
    def train(self, training: Training) -> None:
        """Train: make the networks and optimisers, pass them to `training.manage`, and loop `while training.budget(): ...`.

        Each iteration makes one step and calls `training.log(...)`. Call `training.save(network)` at the end, and earlier
        whenever the network should be written.
        """


def recipe_names(problem: str) -> list[str]:
    """Return the short names of all training recipes of a problem, sorted."""
    return registry.names("corl.recipes", problem)


@cache
def recipe_class(problem: str, name: str) -> type[Recipe]:
    """Return the recipe with a short name, with the defaults that are declared for the problem.

    Raises UsageError, listing the known names.
    """
    entry, known = registry.entry_of("corl.recipes", problem, name), recipe_names(problem)
    if entry is None or name not in known:
        raise UsageError(unknown(f"no recipe for {problem} is called", name, known))
    kind = load(entry, type)
    defaults = declared("corl.defaults").get(f"{problem}.{name}")
    return kind if defaults is None else _with_defaults(kind, defaults)


def _with_defaults(kind: type[Recipe], entry: EntryPoint) -> type[Recipe]:
    """Return the class of an entry point of the group corl.defaults: `kind` with other defaults of its options."""
    found = load(entry, type)
    same = issubclass(found, kind) and found.train is kind.train and declarations(found) == declarations(kind)
    if not same:
        where = f"{entry.group} entry point {entry.name} = {entry.value}"
        raise UsageError(f"{where}: accepted: a subclass of {kind.__name__} with the same options, whose defaults alone differ")
    return found


def usual_recipe(problem: str) -> str:
    """Return the name of the recipe that is used if none is named: the problem's first, by name, that has a `usual_time`.

    Raises UsageError, listing the recipes, if there is no such recipe.
    """
    for key in sorted(declared("corl.recipes")):
        owner, _, name = key.partition(".")
        if owner == problem and recipe_class(owner, name).usual_time is not None:
            return name
    known = ", ".join(recipe_names(registry.problem(problem).name))
    raise UsageError(f"{problem} has no usual recipe: --recipe is needed; accepted: {known or 'there is none'}")
