"""Routing solvers of others, run as programs: what they are given, and the routes that they return.

Each takes (instance, its file, processor seconds, seed). The variables that name the programs are in routing_strength.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from corl import registry

__all__ = ["PEERS", "ails2", "filo2", "hgs", "hgs_vrptw"]

_HYGESE = """
import json, sys, hygese
import numpy as np
data, limit, seed = json.load(sys.stdin)
data["distance_matrix"] = np.array(data["distance_matrix"])
found = hygese.Solver(hygese.AlgorithmParameters(timeLimit=limit, seed=seed, nbIter=10**9), verbose=False).solve_cvrp(data)
print(json.dumps([list(map(int, route)) for route in found.routes]))
"""
_AILSII = """
import json, sys, ailsii
data, limit, seed = json.load(sys.stdin)
options = ["-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1", "-Xmx8g"]
found = ailsii.Solver(ailsii.AlgorithmParameters(timeLimit=limit), jvm_args=options).solve_cvrp(data)
print(json.dumps(found.routes))
"""
_PILOT = 5_000  # iterations of FILO2 from which its rate is known


def _shared_data(instance: Any) -> dict[str, Any]:
    """Return what HGS and AILS-II take alike: one depot, demands, one capacity, points."""
    return {
        "demands": instance.demand.tolist(),
        "vehicle_capacity": float(instance.vehicles.capacity[0]),
        "depot": 0,
        "x_coordinates": instance.points[:, 0].tolist(),
        "y_coordinates": instance.points[:, 1].tolist(),
    }


def _in_python(variable: str, program: str, data: dict[str, Any], limit: float, seed: int) -> list[list[int]]:
    """Run a program in the interpreter that a variable names, and return its routes."""
    command = [os.environ[variable], "-c", program]
    ended = subprocess.run(command, input=json.dumps([data, limit, seed]), capture_output=True, text=True, check=True)
    return [[int(node) for node in route] for route in json.loads(ended.stdout.splitlines()[-1])]


def hgs(instance: Any, file: Path, limit: float, seed: int) -> list[list[int]]:
    """Return the routes of HGS-CVRP, which takes instances with one depot and capacities only."""
    lengths = np.stack([instance.distances_from(node) for node in range(instance.n)])
    data = _shared_data(instance) | {"distance_matrix": lengths.tolist(), "service_times": [0.0] * instance.n}
    return _in_python("HYGESE_PYTHON", _HYGESE, data, limit, seed)


def ails2(instance: Any, file: Path, limit: float, seed: int) -> list[list[int]]:
    """Return the routes of AILS-II with rounded distances; it has no seed, and its limit is of the wall."""
    return _in_python("AILSII_PYTHON", _AILSII, _shared_data(instance), limit, seed)


def _read_routes(instance: Any, file: Path) -> Any:
    return registry.problem("vrp").read_solution(instance, file)


def hgs_vrptw(instance: Any, file: Path, limit: float, seed: int) -> Any:
    """Return the routes of HGS-VRPTW."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.sol"
        command = [os.environ["HGS_VRPTW"], str(file), str(found), "-t", str(int(limit)), "-seed", str(seed), "-it", "1000000000"]
        subprocess.run(command, capture_output=True, text=True, check=True)
        return _read_routes(instance, found)


def filo2(instance: Any, file: Path, limit: float, seed: int) -> Any:
    """Return the routes of FILO2, whose annealing counts iterations: as many as two pilots say that the limit has."""
    short, _ = _filo2(instance, file, _PILOT, seed)
    long, _ = _filo2(instance, file, 2 * _PILOT, seed)
    per_iteration = max(long - short, 1e-3) / _PILOT
    return _filo2(instance, file, max(_PILOT, int((limit - short) / per_iteration) + _PILOT), seed)[1]


def _filo2(instance: Any, file: Path, iterations: int, seed: int) -> tuple[float, Any]:
    """Return the processor seconds of a run of FILO2, and its routes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [os.environ["FILO2"], str(file), "--outpath", folder + "/", "--seed", str(seed)]
        begun = os.times()
        subprocess.run([*command, "--coreopt-iterations", str(iterations)], capture_output=True, text=True, check=True)
        ended = os.times()
        (found,) = Path(folder).glob("*.sol")
        return ended.children_user - begun.children_user, _read_routes(instance, found)


PEERS: dict[str, Callable[[Any, Path, float, int], Any]] = {"hgs": hgs, "hgs-vrptw": hgs_vrptw, "ails2": ails2, "filo2": filo2}
