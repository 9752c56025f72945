"""Published solutions are worth what is published: distances, rounding, windows and .sol files at once."""

from __future__ import annotations

import pytest

from corl.errors import InputError
from corl.problems.vrp.problem import Vrp


def _folders(data):
    return [data / "vrp" / name for name in ("cvrp", "vrplib", "vrptw", "variants")]


def test_every_published_solution_has_its_published_cost(data):
    """Each .sol beside a .vrp that can be read: to the last digit given."""
    problem, checked = Vrp(), 0
    for file in (file for folder in _folders(data) for file in sorted(folder.glob("*.vrp"))):
        solution = file.with_suffix(".sol")
        if not solution.exists() or file.stem == "C201R0.25":
            continue
        instance = problem.read(file)
        published = solution.read_text().split("Cost")[1].split()[0]
        digits = len(published.partition(".")[2])
        cost = problem.evaluate(instance, problem.read_solution(instance, solution))
        assert round(cost, digits) == float(published), file.name
        checked += 1
    assert checked >= 25


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("C201R0.25.vrp", "RELEASE_TIME_SECTION"),
        ("PR01.vrp", "VEHICLES_ALLOWED_CLIENTS_SECTION"),
        ("X-n101-50-k13.vrp", "BACKHAUL_SECTION"),
        ("lrc206.vrp", "PICKUP_AND_DELIVERY_SECTION"),
        ("50pr439.gtsp", "MUTUALLY_EXCLUSIVE_GROUP_SECTION"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(data, name, field):
    """One line that names the line and the section."""
    with pytest.raises(InputError, match="not supported") as caught:
        Vrp().read(data / "vrp" / "variants" / name)
    assert caught.value.field == field and caught.value.line


def test_several_depots(data):
    """Four depots, ten vehicles each, longest durations: all in tenths."""
    instance = Vrp().read(data / "vrp" / "variants" / "PR11A.vrp")
    assert (instance.n, instance.depots, instance.scale) == (364, 4, 10)
    assert instance.vehicles.count.tolist() == [10, 10, 10, 10]
    assert instance.vehicles.start.tolist() == [0, 1, 2, 3]
    assert set(instance.vehicles.max_duration.tolist()) == {4500.0}
