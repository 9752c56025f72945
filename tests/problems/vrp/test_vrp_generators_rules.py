"""Generated days: every rule that is asked for, solvable, drawn, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.errors import InputError, UsageError
from corl.files import drawing
from corl.problems.vrp.feasibility import unservable
from corl.problems.vrp.generators_rules import _RULES, day
from corl.problems.vrp.problem import Vrp

TOGETHER = ("pickups,groups,releases", "shipments,spells,breaks,rests", "reloads,releases,skills", "open,dimensions,overtime")


@pytest.mark.parametrize("ask", [*_RULES, *TOGETHER, ""])
def test_a_day(tmp_path, ask):
    """It has a solution, which is drawn; its file gives it back."""
    made = day(size=40, ask=ask, seed=3)
    assert (made.rules is None) == (ask == "") and unservable(made) == ""
    result = corl.solve(made, iterations=300, seed=1)
    assert result.status == "feasible" and np.array_equal(made.points, day(size=40, ask=ask, seed=3).points)
    drawing.save(Vrp(), made, result.solution, tmp_path / "a.svg")
    Vrp().write(made, tmp_path / "a.json")
    assert Vrp().evaluate(Vrp().read(tmp_path / "a.json"), result.solution) == result.objective


def test_what_is_asked_for_is_known():
    """Unknown rules, and rules that do not go together, in one line."""
    with pytest.raises(UsageError, match="there is no rule"):
        day(ask="backhaul")
    with pytest.raises(InputError, match="not supported"):
        day(size=10, ask="reloads,shipments")
    with pytest.raises(UsageError, match="accepted: size"):
        day(size=0)
