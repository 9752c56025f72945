"""`corl train --instances FOLDER`: every recipe of every problem learns from files of one's own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import corl
from corl import options, registry
from corl.learning.recipe import recipe_class, recipe_names

PAIRS = [(problem, recipe) for problem in registry.problems() for recipe in recipe_names(problem)]
GENERIC = {name.partition(".")[2] for name in registry.declared("corl.recipes") if name.startswith("any.")}
FEW: dict[str, dict[str, Any]] = {
    "bq": {"batch": 2, "states": 4, "watch": 0, "teacher_iterations": 50, "width": 8, "heads": 2, "layers": 1},
    "atsp-bq": {"batch": 2, "states": 4, "watch": 0, "teacher_iterations": 50, "width": 8, "heads": 2, "layers": 1},
    "heatmap": {"every": 2, "batch": 20, "width": 8, "layers": 1},
    "priority": {"programs": 2, "watched": 2, "batch": 2, "pairs": 2, "every": 1},
    "alphazero": {"episodes": 2, "updates": 1, "batch": 4, "simulations": 2, "width": 8, "heads": 2, "layers": 1,
                  "watch": 2},
    "branching": {"samples": 8, "share": 1.0, "updates": 2, "judge": False},
    "gcnn": {"samples": 8, "share": 1.0, "updates": 2, "judge": False},
    "revibranch": {"warm": 8, "updates": 2, "batch": 4, "every": 10},
}  # fmt: skip
FEW["muzero"] = FEW["alphazero"]
MADE = {
    "bq": partial(corl.generate, "tsp", "uniform", size=20),
    "heatmap": partial(corl.generate, "tsp", "uniform", size=20),
    "atsp-bq": partial(corl.generate, "tsp", "asymmetric", size=12),
    "memory": partial(corl.generate, "memory", "mixed", size=6),
    "milp": partial(corl.generate, "milp", "auctions", items=40, bids=200),
}
SUFFIX = {"tsp": ".tsp", "memory": ".json", "milp": ".mps"}
OWN = [(problem, recipe) for problem, recipe in PAIRS if f"{problem}.{recipe}" in registry.declared("corl.recipes")]


@pytest.mark.parametrize(("problem", "recipe"), PAIRS)
def test_every_recipe_has_the_option(problem, recipe):
    """What `--instances` is short for."""
    assert "instances" in options.declarations(recipe_class(problem, recipe))


@pytest.mark.long
@pytest.mark.parametrize(("problem", "recipe"), OWN)
def test_it_learns_from_files(problem, recipe, tmp_path):
    """A few steps on a folder of three, with a loss that is a number; without files one line says so."""
    folder = tmp_path / "files"
    folder.mkdir()
    few: dict[str, Any] = {"workers": 0, "device": "cpu", "instances": str(folder), **FEW[recipe]}
    with pytest.raises(corl.UsageError, match=r"no files to train on|no .mps or .lp file there"):
        corl.train(problem, recipe, steps=2, **few)
    make = MADE.get(recipe) or MADE[problem]
    for seed in range(3):
        registry.problem(problem).write(make(seed=seed), folder / f"{seed}{SUFFIX[problem]}")
    done = corl.train(problem, recipe, steps=30 if problem == "milp" else 2, **few)
    assert done.network is not None and all(np.isfinite(value) for value in done.metrics.values()), done.metrics
