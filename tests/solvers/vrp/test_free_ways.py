"""Ways that cost nothing: drivers paid by the hour, fixed costs and prizes alone, everybody at one place."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.problems.vrp.rules import SideConstraints
from corl.run import Run
from corl.solvers.vrp.ruin.solver import RuinRecreate
from support.families.vrp_rules import least_cost as least_with_rules


def _random(seed: int, timed: bool, clients: int = 4) -> VrpInstance:
    """Few clients; of distance, time, fixed costs and prizes some cost nothing, and some ways have no length."""
    random = np.random.default_rng([seed, timed])
    n, types = clients + 1, int(random.integers(1, 3))
    matrix = random.integers(0, 30, (n, n)).astype(float) * random.choice([0.0, 1.0, 1.0])
    optional = (random.random(n) < 0.7) & (np.arange(n) > 0) & (random.random() < 0.7)
    vehicles = Vehicles(
        capacity=random.choice([7.0, 12.0, np.inf], types),
        count=np.append(-1, random.integers(0, 3, types - 1)),
        fixed_cost=random.choice([0.0, 0.0, 25.0], types),
        unit_cost=random.choice([0.0, 0.0, 1.0], types),
    )
    rules = {}
    if timed:
        rules["duration_cost"] = random.choice([0.0, 1.0, 1.0, 2.0], types)
        if random.random() < 0.5:
            rules["durations"] = random.integers(0, 40, (1, n, n)).astype(float)
    return VrpInstance(
        f"free-{seed}", "EXPLICIT", np.append(0.0, random.integers(1, 6, clients)), vehicles, None, matrix,
        service=np.append(0.0, random.integers(0, 9, clients)) if timed else None,
        prize=np.where(optional, random.integers(0, 50, n), 0.0), required=(np.arange(n) > 0) & ~optional,
        rules=SideConstraints(**rules) if timed else None,
    )  # fmt: skip


def _solved(instance: VrpInstance, iterations: int = 400) -> Run:
    run = Run(Vrp(), instance, iterations=iterations)
    RuinRecreate(neighbours=8).solve(instance, run)
    return run


@pytest.mark.parametrize("timed", [False, True])
def test_the_cheapest_plan_is_found_whatever_costs_nothing(least, timed):
    """Four clients: the optimum by enumeration."""
    for seed in range(20):
        instance = _random(seed, timed)
        optimum = (least_with_rules if timed else least)(instance)
        assert _solved(instance).objective == pytest.approx(optimum, rel=1e-9), seed


def test_a_working_day_is_as_short_as_with_a_price_on_distance():
    """Forty clients: paid by the hour alone, the plan is as good as one with next to nothing for the distance beside it."""
    random = np.random.default_rng(5)
    points = random.random((41, 2)) * 100.0
    matrix = np.rint(np.linalg.norm(points[:, None] - points, axis=2))
    demand, rules = np.append(0.0, random.integers(1, 10, 40)), SideConstraints(duration_cost=np.ones(1))
    found = []
    for unit in (0.0, 1e-6):
        vehicles = Vehicles(np.array([40.0]), unit_cost=unit)
        instance = VrpInstance("hours", "EXPLICIT", demand, vehicles, None, matrix, rules=rules)
        found.append(_solved(instance, 2000).objective)
    assert found[0] == pytest.approx(found[1], rel=0.02)


def test_clients_at_one_place_do_not_freeze_a_run():
    """Whoever has more than ten others at the same place is not the measure of temperatures."""
    from corl.solvers.vrp.ruin.search import Search

    places = np.random.default_rng(1).random((4, 2)) * 100.0
    points = np.vstack([np.zeros((1, 2)), np.repeat(places, 15, axis=0)])
    instance = VrpInstance("heaps", "EUC_2D", np.append(0.0, np.ones(60)), Vehicles(np.array([9.0])), points)
    assert Search(instance, 40, 0, Run(Vrp(), instance, iterations=1)).unit > 1e-3


def test_the_scale_is_that_of_the_objective():
    """Twice the price of distance is twice the scale; of time alone likewise, and with neither it is that of what is left."""
    from corl.solvers.vrp.ruin.search import Search

    matrix = np.random.default_rng(2).integers(5, 30, (9, 9)).astype(float)

    def scale(unit: float, rate: float, fixed: float = 0.0) -> float:
        vehicles = Vehicles(np.array([9.0]), unit_cost=unit, fixed_cost=fixed)
        rules = SideConstraints(duration_cost=np.array([rate])) if rate else None
        instance = VrpInstance("x", "EXPLICIT", np.append(0.0, np.ones(8)), vehicles, None, matrix, rules=rules)
        return Search(instance, 8, 0, Run(Vrp(), instance, iterations=1)).unit

    assert scale(2.0, 0.0) == pytest.approx(2.0 * scale(1.0, 0.0))
    assert scale(0.0, 3.0) == pytest.approx(3.0 * scale(1.0, 0.0))
    assert scale(1.0, 1.0) == pytest.approx(2.0 * scale(1.0, 0.0))
    assert scale(0.0, 0.0, fixed=500.0) == pytest.approx(10.0 * scale(0.0, 0.0, fixed=50.0))
    assert scale(0.0, 0.0) > 0.0
