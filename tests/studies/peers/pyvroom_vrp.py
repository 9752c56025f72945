"""VROOM through pyvroom: `python pyvroom_vrp.py INSTANCE.vrp SOLUTION.sol SECONDS`, in an environment with pyvroom.

It takes capacities, and time windows with distances in tenths. The limit is of the wall clock; it mostly ends before.
"""

from __future__ import annotations

import datetime
import sys

import cvrplib
import numpy as np
import vroom

_LEVEL = 5  # of exploration: the highest
_MORE = ("ROUNDING", "VEHICLES", "SERVICE_TIME_SECTION", "TIME_WINDOW_SECTION")


def main() -> None:
    """The command above."""
    file, solution, limit = sys.argv[1:]
    given = cvrplib.read(file, _MORE)
    rounding, nodes = given.more.get("ROUNDING", ["NINT"])[0], len(given.x)
    scale = {"NINT": 1, "DIMACS": 10}.get(rounding) or cvrplib.refuse(f"ROUNDING {rounding} is not supported")
    windows, service = [None] * nodes, [0] * nodes
    for k, (_, opens, closes) in enumerate(given.more.get("TIME_WINDOW_SECTION", [])):
        windows[k] = vroom.TimeWindow(int(scale * opens), int(scale * closes))
    for k, (_, seconds) in enumerate(given.more.get("SERVICE_TIME_SECTION", [])):
        service[k] = int(scale * seconds)
    problem = vroom.Input()
    problem.set_durations_matrix("car", np.array(given.distances(scale), np.uint32))
    for k in range(int(given.more["VEHICLES"][0]) if "VEHICLES" in given.more else nodes - 1):
        problem.add_vehicle(vroom.Vehicle(k, start=0, end=0, capacity=[int(given.capacity)], time_window=windows[0]))
    for k in range(1, nodes):
        delivery, open_times = vroom.Amount([int(given.demand[k])]), [windows[k]] if windows[k] else []
        problem.add_job(vroom.Job(k, k, default_service=service[k], delivery=delivery, time_windows=open_times))
    found = problem.solve(exploration_level=_LEVEL, nb_threads=1, timeout=datetime.timedelta(seconds=float(limit)))
    routes: dict[int, list[int]] = {}
    for vehicle, kind, job in found.routes[["vehicle_id", "type", "id"]].itertuples(index=False):
        if kind == "job":
            routes.setdefault(vehicle, []).append(int(job))
    cvrplib.write(list(routes.values()), solution)


if __name__ == "__main__":
    main()
