"""What was trained by the commit that long training is pinned to is of use: its networks say the same, its runs are resumed.

The files of the folder pinned/ are of commit 6ccde14: three runs of six steps, stopped after the third, and in kept.json what it
made of their networks, and of the runs when it resumed them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import corl
from corl import registry

PINNED = Path(__file__).resolve().parent / "pinned"
KEPT = json.loads((PINNED / "kept.json").read_text(encoding="utf-8"))
_LOGITS = 1e-6
_TRAINED = 1e-4  # relative, of sums of weights: processors round differently, and three steps multiply that
SMALL = {"width": 8, "heads": 2, "layers": 1, "watch": 0}


class Pinned(NamedTuple):
    """A run, and an instance that its network looks at."""

    problem: str
    recipe: str
    options: dict[str, Any]
    generator: str
    parameters: dict[str, Any]


RUNS = {
    "bq": Pinned(
        "tsp",
        "bq",
        {"generator": "uniform", "sizes": (12,), "batch": 1, "states": 4, "lesson": 2, "uses": 2, "teacher_iterations": 5},
        "uniform",
        {"size": 12},
    ),
    "gradient": Pinned(
        "knapsack", "policy-gradient", {"size": 8, "batch": 4, "samples": 2}, "unit", {"size": 8, "capacity": 2.0}
    ),
    "improvement": Pinned(
        "jobshop",
        "self-improvement",
        {"size": 3, "episodes": 2, "samples": 2, "batch": 4},
        "taillard",
        {"jobs": 3, "machines": 3},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_networks_say_the_same(name):
    """Logits and value of a first state."""
    run, problem = RUNS[name], registry.problem(RUNS[name].problem)
    network: Any = corl.load_policy(str(PINNED / f"{name}.safetensors"))
    instance = problem.generators[run.generator](seed=9, **run.parameters)
    environment = problem.environment([instance], 1, name=network.environment)
    environment.reset([0], [0])
    logits, value = network.on(environment).evaluate(environment.view([0]))
    assert logits[np.isfinite(logits)] == pytest.approx(KEPT[name]["logits"], rel=_LOGITS, abs=_LOGITS)
    assert value[0] == pytest.approx(KEPT[name]["value"], rel=_LOGITS)


@pytest.mark.parametrize("name", RUNS)
def test_runs_are_resumed(name, tmp_path):
    """A snapshot goes on to the weights that the commit itself would have come to."""
    run = RUNS[name]
    for file in PINNED.glob(f"{name}.*"):
        shutil.copy(file, tmp_path)
    output = tmp_path / f"{name}.safetensors"
    options = run.options | SMALL
    done = corl.train(run.problem, run.recipe, steps=6, seed=1, workers=0, device="cpu", output=output, resume=True, **options)
    assert (done.step, done.limit) == (6, "steps")
    found = {key: float(part.double().abs().sum()) for key, part in done.network.state_dict().items()}
    assert found == pytest.approx(KEPT[name]["trained"], rel=_TRAINED, abs=1e-4)
