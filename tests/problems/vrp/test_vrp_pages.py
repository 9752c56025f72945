"""Pages of routes: names, what vehicles do at which times, and a map behind longitudes and latitudes."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.vrp.drawing import scene
from corl.problems.vrp.evaluation import Route, schedule
from corl.problems.vrp.problem import Vrp
from corl.view.page import page

VRP = Vrp()
TILES = "https://tiles.example/{z}/{x}/{y}.png"
DAY = {
    "problem": "vrp", "name": "day", "units": {"distance": "km", "time": "min"}, "coordinates": "latlon",
    "depots": [{"name": "hub", "lat": 48.2, "lon": 16.4}],
    "clients": [
        {"name": "Ada", "lat": 48.21, "lon": 16.4, "demand": 2, "service": 10, "window": ["06:00", "08:00"]},
        {"name": "Bea", "lat": 48.22, "lon": 16.42, "demand": 2, "service": 10, "window": ["06:30", "09:00"]},
    ],
    "vehicles": [{"name": "van", "capacity": 2, "reloads": 1, "shift": ["05:30", "12:00"],
                  "breaks": [{"window": ["06:20", "06:40"], "duration": 30}]}],
}  # fmt: skip
ROUTES = [Route(0, np.array([1, 0, 2], np.int32))]


def test_bars_say_what_a_vehicle_does_at_each_time():
    """Bars of a route follow each other from departure to return; waiting, break, reload and service are where they belong."""
    instance = VRP.adapt(DAY)
    found, timing = scene(instance, ROUTES), schedule(instance, ROUTES[0])
    lasting = [bar for bar in found.bars if bar[3] != "reload"]
    assert lasting[0][1] == pytest.approx(timing.leave) and lasting[-1][2] == pytest.approx(timing.back)
    assert all(one[2] == pytest.approx(two[1]) for one, two in pairwise(lasting))
    (pause,) = (bar for bar in found.bars if bar[3] == "break")
    assert pause[2] - pause[1] == pytest.approx(30) and 380 <= pause[1] <= 400
    services = [(bar[1], bar[2], bar[4].split("\n")[0]) for bar in found.bars if bar[3] == "service"]
    assert services[0] == (360.0, 370.0, "client Ada") and services[1][2] == "client Bea"
    (reload,) = (bar for bar in found.bars if bar[3] == "reload")
    assert reload[1] == reload[2] and reload[4].startswith("depot hub")


@pytest.mark.parametrize("seed", range(0, 120, 12))
def test_bars_of_any_routes_are_without_gaps(random_vrp, seed):
    """Of random instances with all rules: the bars of a route fill the time from its departure to its return."""
    from corl.solvers.vrp.enumeration import can_enumerate, cheapest_solution

    instance = random_vrp(seed)
    found = cheapest_solution(instance, lambda: False) if can_enumerate(instance) else None
    unit = instance.scale * instance.speed
    for number, route in enumerate(found or []):
        bars = [bar for bar in scene(instance, found).bars if bar[0] == number and bar[2] > bar[1]]
        assert all(one[2] == pytest.approx(two[1]) for one, two in pairwise(bars))
        if bars:
            assert bars[-1][2] <= schedule(instance, route).back / unit + 1e-6


def test_points_have_names():
    """Names of nodes; ids if there are no names."""
    unnamed = {**DAY, "depots": [{"lat": 48.2, "lon": 16.4, "id": 7}], "clients": [{"lat": 48.1, "lon": 16.4, "id": 9}]}
    assert scene(VRP.adapt(DAY), None).labels == ["hub", "Ada", "Bea"]
    assert scene(VRP.adapt(unnamed), None).labels == ["7", "9"]


def test_a_map_is_loaded_only_when_it_is_asked_for():
    """The address is in the page's data, and nothing else of the page names another host."""
    instance = VRP.adapt(DAY)
    without, with_map = page(VRP, instance, ROUTES), page(VRP, instance, ROUTES, tiles=TILES)
    assert "http" not in without.replace("http://www.w3.org", "") and "Map: tiles.example" in with_map
    data = json.loads(re.search(r'id="data">(.*?)</script>', with_map, re.DOTALL)[1])
    assert data["tiles"] == TILES and data["scene"]["globe"] and set(re.findall(r"https?://[\w.]+", with_map)) == {
        "https://tiles.example", *re.findall(r"http://www.w3.org", with_map)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tiles", "changed", "words"),
    [
        ("https://tiles.example/map.png", {}, r"accepted: an address such as https://HOST/{z}/{x}/{y}.png"),
        ("ftp://tiles.example/{z}/{x}/{y}", {}, "is not accepted"),
        (TILES, {"coordinates": "plane"}, "this instance has no longitudes and latitudes"),
    ],
)
def test_bad_maps_are_refused(tiles, changed, words):
    """An address without places for the numbers, and routes in the plane."""
    places = {"depots": [{"x": 0, "y": 0}], "clients": [{"x": 1, "y": 0}]} if changed else {}
    with pytest.raises(UsageError, match=words):
        page(VRP, VRP.adapt({**DAY, **changed, **places}), tiles=tiles)


def test_places_beside_a_matrix_are_written_and_read(tmp_path):
    """Longitudes and latitudes beside a matrix are for pictures alone, and stay what they are."""
    given = {**DAY, "matrix": [[0, 3, 4], [3, 0, 5], [4, 5, 0]]}
    instance = VRP.adapt(given)
    assert instance.on_globe and instance.display.tolist()[1] == [16.4, 48.21] and scene(instance, None).globe
    VRP.write(instance, tmp_path / "a.json")
    again = VRP.read(tmp_path / "a.json")
    assert again.on_globe and np.array_equal(again.display, instance.display) and np.array_equal(again.matrix, instance.matrix)
