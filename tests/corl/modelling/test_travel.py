"""Travel of RoutingModel: matrices by profile, matrices from a Valhalla server, and routes on a map."""

from __future__ import annotations

import http.server
import json
import threading
from dataclasses import dataclass

import numpy as np
import pytest

from corl.errors import InputError, UsageError
from corl.modelling import RoutingModel
from corl.modelling.valhalla import travel_matrices
from corl.problems.vrp.evaluation import Route, objective, schedule
from corl.solver import Solver
from corl.solvers.vrp.enumeration import cheapest_solution

STREETS = [[0, 4, 6], [4, 0, 3], [6, 3, 0]]
PATHS = [[0, 3, 5], [3, 0, 2], [5, 2, 0]]


def town(*, bike: str = "bike") -> RoutingModel:
    """Return a model of a depot, two clients, a van and a bicycle."""
    model = RoutingModel("town")
    model.add_depot("hub")
    model.add_client("mill", demand=1)
    model.add_client("mall", demand=2)
    model.add_vehicle("van", capacity=2)
    model.add_vehicle("bicycle", capacity=1, profile=bike)
    return model


def test_vehicles_have_their_own_matrices():
    """Costs are those of the vehicle's profile; durations are too, and by default distance divided by speed."""
    model = town()
    model.set_matrix(STREETS)
    model.set_matrix(PATHS, durations=np.multiply(PATHS, 10), profile="bike")
    instance = model.instance()
    van, bicycle = Route(0, np.array([2])), Route(1, np.array([1]))
    assert objective(instance, [van, bicycle]) == 12 + 6
    assert (schedule(instance, van).duration, schedule(instance, bicycle).duration) == (12, 60)
    best = cheapest_solution(instance, lambda: False)
    assert best is not None and objective(instance, best) == 18


def test_one_profile_for_all_vehicles_needs_no_other():
    """Vehicles that share a named profile use it as the only matrix."""
    model = RoutingModel("town")
    model.add_depot("hub")
    model.add_client("mill")
    model.add_vehicle("bicycle", profile="bike")
    model.set_matrix([[0, 3], [3, 0]], profile="bike")
    assert model.instance().rules is None and model.instance().matrix.tolist() == [[0, 3], [3, 0]]


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        ({}, r"vehicle 'bicycle': there are no matrices of profile 'bike'; set_matrix\(..., profile='bike'\) sets them"),
        ({"": STREETS}, "vehicle 'bicycle': there are no matrices of profile 'bike'"),
        ({"bike": PATHS}, "vehicle 'van': it has no profile, and all matrices have one; accepted: set_matrix without profile"),
        (
            {"": STREETS, "bike": [[0, 1], [1, 0]]},
            "set_matrix: the matrices of all profiles have a row for each depot and client",
        ),
    ],
)
def test_missing_matrices_are_named(matrices, words):
    """Each vehicle's profile needs matrices of the same size."""
    model = town()
    for profile, matrix in matrices.items():
        model.set_matrix(matrix, profile=profile)
    with pytest.raises(UsageError, match=words):
        model.instance()


def test_a_removed_client_leaves_all_matrices():
    """The rows of the other clients stay where they belong."""
    model = town()
    model.set_matrix(STREETS, np.multiply(STREETS, 2))
    model.set_matrix(PATHS, profile="bike")
    model.remove_client("mill")
    rules = model.instance().rules
    assert rules.distances[:, 0, 1].tolist() == [6, 5] and rules.durations[:, 0, 1].tolist() == [12, 5]


# -------------------------------------------------------------------- Valhalla
class _Valhalla(http.server.BaseHTTPRequestHandler):
    """Answers as a Valhalla server does to three places of the costing model "bicycle"."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/sources_to_targets" and asked["sources"] == asked["targets"]
        places, status = asked["sources"], 200
        if asked["costing"] != "bicycle":
            answer, status = {"error_code": 125, "error": "No costing method found", "status_code": 400}, 400
        elif len(places) == 4:
            answer = {"sources_to_targets": [[{"time": 1}]]}
        else:
            apart = [[abs(i - j) for j in range(len(places))] for i in range(len(places))]
            answer = {"sources_to_targets": [[{"distance": each / 2, "time": 60 * each} for each in row] for row in apart]}
            if places[0]["lat"] == 0:
                answer["sources_to_targets"][0][1]["time"] = None
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    """Its address."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Valhalla) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def test_matrices_from_valhalla(server):
    """Kilometres stay kilometres, seconds become the model's minutes, for the vehicles of a profile."""
    model = RoutingModel("asked", time="min")
    model.add_depot("hub", lat=48.2, lon=16.4)
    model.add_client("a", lat=48.3, lon=16.4)
    model.add_vehicle("bicycle", profile="bike")
    model.ask_valhalla(server, "bicycle", vehicles="bike")
    instance = model.instance()
    assert objective(instance, [Route(0, np.array([1]))]) == 1.0 and schedule(instance, Route(0, np.array([1]))).duration == 2.0


@pytest.mark.parametrize(
    ("costing", "places", "words"),
    [
        ("tank", 2, "no travel times: No costing method found"),
        ("bicycle", 0, "time: there is no way from place 0 to place 1"),
        ("bicycle", 4, "distance: accepted: 4 x 4 numbers"),
    ],
)
def test_refusals_of_valhalla(server, costing, places, words):
    """The server's reason, a missing way and a malformed answer are errors of one line."""
    given = [(float(bool(places)), 1.0), (2.0, 3.0), (4.0, 5.0), (6.0, 7.0)][: places or 3]
    with pytest.raises(InputError, match=words) as error:
        travel_matrices(server, given, costing)
    assert "\n" not in str(error.value)


# -------------------------------------------------------------------- maps
def _check_geojson(value):
    """Check the rules of RFC 7946 for the objects that we write."""
    assert value["type"] == "FeatureCollection" and not value.keys() & {"coordinates", "geometries", "geometry", "properties"}
    for feature in value["features"]:
        assert feature["type"] == "Feature" and feature.keys() == {"type", "geometry", "properties"}
        geometry = feature["geometry"]
        positions = [geometry["coordinates"]] if geometry["type"] == "Point" else geometry["coordinates"]
        assert geometry["type"] in ("Point", "LineString") and len(positions) >= (1 if geometry["type"] == "Point" else 2)
        assert all(-180 <= lon <= 180 and -90 <= lat <= 90 for lon, lat in positions)


@dataclass(frozen=True)
class Given(Solver):
    """Reports given routes."""

    routes: list[Route]

    def solve(self, instance, run):
        run.report(self.routes)


def test_routes_as_geojson():
    """Names, vehicles, order and times of all visits; a route without a return ends at its last client."""
    model = RoutingModel("map", time="min")
    model.add_depot("hub", lat=48.2, lon=16.4)
    model.add_client("near", lat=48.21, lon=16.4, service=3)
    model.add_client("far", lat=48.3, lon=16.5, service=3)
    model.add_client("optional", lat=10.0, lon=100.0, prize=1)
    model.add_vehicle("van", stays_out=True)
    found = json.loads(json.dumps(model.solve(solver=Given([Route(0, np.array([1, 2]))])).to_geojson()))
    _check_geojson(found)
    line, hub, near, far, optional = (feature["properties"] for feature in found["features"])
    assert (line["vehicle"], line["number"], line["stops"]) == ("van", 1, ["near", "far"])
    assert found["features"][0]["geometry"]["coordinates"] == [[16.4, 48.2], [16.4, 48.21], [16.5, 48.3]]
    assert hub == {"name": "hub", "kind": "depot"} and optional == {"name": "optional", "kind": "client", "route": None}
    assert (near["order"], far["order"], far["vehicle"], far["kind"]) == (1, 2, "van", "client")
    assert near["departure"] == pytest.approx(near["begin"] + 3) and near["arrival"] <= near["begin"] < far["arrival"]
