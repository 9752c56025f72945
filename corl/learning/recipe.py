"""Recipe: a way to train a network for one problem family, or for any with an environment; and which there are."""

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
    """A frozen dataclass whose fields are the recipe's options, declared by `corl.options.option`.

    Declared as an entry point of the group `corl.recipes`: PROBLEM.NAME, or any.NAME for every problem with an environment. A
    subclass with other defaults (corl.options.changed) is what any.NAME is for a problem, as an entry point PROBLEM.NAME of the
    group `corl.defaults`.
    """

    title: ClassVar[str] = ""
    """One line for `corl list recipes`."""
    step: ClassVar[str] = ""
    """What one step is, in which `--steps` counts."""
    usual_time: ClassVar[float | None] = None
    """Seconds of a run that is given no limit. A problem's recipe that has them is the one taken where none is named."""

    @abc.abstractmethod
    def train(self, training: Training) -> None:
        """Make the networks and optimisers, hand them to `training.manage`, and loop `while training.budget(): ...`.

        One optimiser step a turn, then `training.log(...)`; `training.save(network)` at the end, and before it whenever the
        network is worth keeping.
        """


def recipe_names(problem: str) -> list[str]:
    """The short names of all training recipes of a problem, sorted."""
    return registry.names("corl.recipes", problem)


@cache
def recipe_class(problem: str, name: str) -> type[Recipe]:
    """The recipe of that short name, with the defaults that are declared for the problem. Raises UsageError, listing the names
    there are."""
    entry, known = registry.entry_of("corl.recipes", problem, name), recipe_names(problem)
    if entry is None or name not in known:
        raise UsageError(unknown(f"no recipe for {problem} is called", name, known))
    kind = load(entry, type)
    other = declared("corl.defaults").get(f"{problem}.{name}")
    return kind if other is None else _with_defaults(kind, other)


def _with_defaults(kind: type[Recipe], entry: EntryPoint) -> type[Recipe]:
    """The class of an entry point of the group corl.defaults: a recipe but for the defaults of its options."""
    found = load(entry, type)
    same = issubclass(found, kind) and found.train is kind.train and declarations(found) == declarations(kind)
    if not same:
        where = f"{entry.group} entry point {entry.name} = {entry.value}"
        raise UsageError(f"{where}: accepted: a subclass of {kind.__name__} with the same options, whose defaults alone differ")
    return found


def usual_recipe(problem: str) -> str:
    """The problem's own recipe with a `usual_time`, the first by name. Raises UsageError, listing the recipes, where none has."""
    for key in sorted(declared("corl.recipes")):
        owner, _, name = key.partition(".")
        if owner == problem and recipe_class(owner, name).usual_time is not None:
            return name
    known = ", ".join(recipe_names(registry.problem(problem).name))
    raise UsageError(f"{problem} has no usual recipe: --recipe is needed; accepted: {known or 'there is none'}")
