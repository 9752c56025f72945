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
        if not solution.exists():
            continue
        instance = problem.read(file)
        published = solution.read_text().split("Cost")[1].strip(": ").split()[0]
        digits = len(published.partition(".")[2])
        cost = problem.evaluate(instance, problem.read_solution(instance, solution))
        assert round(cost, digits) == float(published), file.name
        checked += 1
    assert checked >= 25


def test_every_published_solution_of_the_sets_with_rules(data):
    """Backhauls, several trips, groups and prizes; costs of .sol files in tenths where distances are cut to tenths."""
    problem, checked = Vrp(), 0
    for name in ("VRPB", "MTVRPTWR", "GVRP", "PCVRPTW"):
        for file in sorted((data / "vrp" / "sets" / name).glob("*.vrp")):
            instance, solution = problem.read(file), file.with_suffix(".sol")
            published = float(solution.read_text().split("Cost")[1].strip(": ").split()[0])
            assert problem.evaluate(instance, problem.read_solution(instance, solution)) * instance.scale == published, file.name
            checked += 1
    assert checked == 24


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("C201R0.25.vrp", ["release times", "reloads"]),
        ("PR01.vrp", ["clients restricted to some vehicles"]),
        ("lrc206.vrp", ["shipments"]),
    ],
)
def test_rules_are_read(data, name, rules):
    """PyVRP's sections of several trips, site-dependent vehicles, pick-up and delivery."""
    assert Vrp().read(data / "vrp" / "variants" / name).rules.names == rules


def test_a_gtsp_is_refused_by_name(data):
    """One line that names the line and the field."""
    with pytest.raises(InputError, match="travelling salesman problem with groups") as caught:
        Vrp().read(data / "vrp" / "variants" / "50pr439.gtsp")
    assert caught.value.field == "TYPE" and caught.value.line


def test_several_depots(data):
    """Four depots, ten vehicles each, longest durations; MDVRPTW has unrounded distances, so nothing is in tenths."""
    instance = Vrp().read(data / "vrp" / "variants" / "PR11A.vrp")
    assert (instance.n, instance.depots, instance.scale) == (364, 4, 1)
    assert instance.vehicles.count.tolist() == [10, 10, 10, 10]
    assert instance.vehicles.start.tolist() == [0, 1, 2, 3]
    assert set(instance.vehicles.max_duration.tolist()) == {450.0}
