"""vrp-cli: `python vrp_cli_vrp.py INSTANCE.vrp SOLUTION.sol SECONDS`, in an environment with the package vrp-cli.

It takes capacities, and time windows with distances in tenths, as seconds. The limit is of the wall clock; there is no seed.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

import cvrplib
import vrp_cli

_MORE = ("ROUNDING", "VEHICLES", "SERVICE_TIME_SECTION", "TIME_WINDOW_SECTION")
_ONE_THREAD = {"numThreadPools": 1, "threadsPerPool": 1}
_NAME = "v"  # of the vehicle type and its profile


def main() -> None:
    """The command above."""
    file, solution, limit = sys.argv[1:]
    given = cvrplib.read(file, _MORE)
    rounding = given.more.get("ROUNDING", ["NINT"])[0]
    scale = {"NINT": 1, "DIMACS": 10}.get(rounding) or cvrplib.refuse(f"ROUNDING {rounding} is not supported")
    distances = [each for row in given.distances(scale) for each in row]
    matrix = {"profile": _NAME, "travelTimes": distances, "distances": distances}
    config = {"termination": {"maxTime": int(float(limit))}, "environment": {"parallelism": _ONE_THREAD}}
    problem = json.dumps(_problem(given, scale, sum(distances)))
    found = json.loads(vrp_cli.solve_pragmatic(problem=problem, matrices=[json.dumps(matrix)], config=json.dumps(config)))
    tours = [[each for stop in tour["stops"] for each in stop["activities"]] for tour in found["tours"]]
    cvrplib.write([[int(each["jobId"]) for each in tour if each["type"] == "delivery"] for tour in tours], solution)


def _problem(given: cvrplib.Instance, scale: int, end: int) -> dict[str, Any]:
    """Return the problem in the program's JSON; `end`: a time after which nothing happens."""
    nodes = len(given.x)
    windows, service = [(0.0, float(end))] * nodes, [0.0] * nodes
    for k, (_, opens, closes) in enumerate(given.more.get("TIME_WINDOW_SECTION", [])):
        windows[k] = (scale * opens, scale * closes)
    for k, (_, seconds) in enumerate(given.more.get("SERVICE_TIME_SECTION", [])):
        service[k] = scale * seconds
    jobs = []
    for k in range(1, nodes):
        place = {"location": {"index": k}, "duration": service[k], "times": [[_moment(each) for each in windows[k]]]}
        jobs.append({"id": str(k), "deliveries": [{"places": [place], "demand": [int(given.demand[k])]}]})
    depot = {"index": 0}
    earliest, latest = (_moment(each) for each in windows[0])
    vehicle = {
        "typeId": _NAME,
        "vehicleIds": [str(k) for k in range(int(given.more["VEHICLES"][0]) if "VEHICLES" in given.more else nodes - 1)],
        "profile": {"matrix": _NAME},
        "costs": {"fixed": 0, "distance": 1, "time": 0},
        "shifts": [{"start": {"earliest": earliest, "location": depot}, "end": {"latest": latest, "location": depot}}],
        "capacity": [int(given.capacity)],
    }
    goals = [[{"type": "minimize-unassigned"}], [{"type": "minimize-cost"}]]
    return {"plan": {"jobs": jobs}, "fleet": {"vehicles": [vehicle], "profiles": [{"name": _NAME}]}, "objectives": goals}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


if __name__ == "__main__":
    main()
