"""Tasks beside the one that a recipe is run for: further problems that one network learns to play, from a TOML file.

    [[task]]
    problem = "tsp"        # a registered name
    recipe = "atsp-bq"     # `imitation`, or one that is it with other defaults; the default is `imitation`
    name = "atsp"          # in the curves; the default is the problem's
    sizes = [50, 100]      # options of that recipe

Width, layers, heads, rate and what else is the network's are the first task's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corl import options, registry
from corl.benchmark.running.tables import read_toml
from corl.errors import UsageError
from corl.networks.attention import AttentionPolicy
from corl.networks.checkpoints import load_policy
from corl.networks.policy import Shape
from corl.networks.shared import SharedAttention
from corl.solvers.training.common import source_of
from corl.solvers.training.lessons import Stream

if TYPE_CHECKING:
    from torch import nn

    from corl.benchmark.running.tables import Table
    from corl.learning.session import Training
    from corl.solvers.training.imitation import Imitation

__all__ = ["together"]

_SHARED = ("network", "width", "layers", "heads", "rate", "start", "beside")


def together(first: Stream, training: Training) -> tuple[nn.Module, list[Stream]]:
    """The network of the first stream's task and of those in the file that its recipe names, and the stream of each task.

    Raises UsageError and InputError, with the file, for a fault in it, and UsageError for an architecture that shares no layers.
    """
    if not isinstance(first.policy, AttentionPolicy):
        raise UsageError(f"beside: a network of {first.policy.architecture} shares no layers; accepted: attention")
    tables = read_toml(Path(first.recipe.beside))
    tasks, names = [_task(table) for table in tables.tables("task")], [first.source.problem.name]
    tables.close()
    sources = [source_of(recipe, registry.problem(problem), training.seed) for problem, recipe, _ in tasks]
    policies = [first.policy]
    start = load_policy(first.recipe.start) if first.recipe.start else None
    for (problem, recipe, _), source in zip(tasks, sources):
        sizes = first.policy.config
        shape = Shape(recipe.features, recipe.environment, sizes["width"], sizes["layers"], sizes["heads"])
        made = AttentionPolicy.sized(registry.problem(problem), source.instances(0, 1)[0], shape)
        known = start.policies if isinstance(start, SharedAttention) else []
        policies.append(next((policy for policy in known if policy.config == made.config), made))
    network = SharedAttention.joined(policies).to(training.device).train()
    names += [name for *_, name in tasks]
    if len(set(names)) < len(names):
        raise UsageError(f"beside: tasks are called {', '.join(names)}; accepted: names that differ")
    recipes = [first.recipe, *(recipe for _, recipe, _ in tasks)]
    parts = zip(recipes, [first.source, *sources], network.policies, names)
    return network, [Stream(recipe, training, source, policy, k, name) for k, (recipe, source, policy, name) in enumerate(parts)]


def _task(table: Table) -> tuple[str, Imitation, str]:
    """Problem, recipe and name of a task."""
    from corl.solvers.training.imitation import Imitation

    problem, called = table.text("problem"), table.text("recipe", "imitation")
    name = table.text("name", problem)
    asked = table.rest()
    for key in _SHARED:
        if key in asked:
            raise table.error(key, "it is the first task's; accepted: the other options of the recipe")
    try:
        kind = registry.recipe(registry.problem(problem).name, called)
        if not issubclass(kind, Imitation):
            raise UsageError(f"{called} is no imitation; accepted: imitation, or a recipe that is it with other defaults")
        recipe = options.build(kind, {key: tuple(value) if isinstance(value, list) else value for key, value in asked.items()})
        recipe.check(problem)
    except UsageError as error:
        raise table.error("", str(error)) from error
    return problem, recipe, name
