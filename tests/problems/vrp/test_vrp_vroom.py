"""VROOM's JSON: read exactly, refused by name, written, and its solutions read back."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from corl.cli.main import main
from corl.errors import Infeasible, InputError, UsageError
from corl.problems.vrp.formats.vroom.instance import VroomInstance
from corl.problems.vrp.problem import Vrp
from corl.solver import Solver
from corl.solvers.vrp.enumeration import can_enumerate, cheapest_solution

VRP = Vrp()
SQUARE = [[0, 600, 900, 400], [610, 0, 300, 700], [900, 320, 0, 500], [400, 700, 510, 0]]
MORNING: dict[str, Any] = {  # a bakery, a pharmacy and a parcel for the pharmacy
    "vehicles": [
        {"id": 4, "start_index": 0, "end_index": 0, "capacity": [4], "skills": [1, 14], "time_window": [28800, 43200]},
        {"id": 9, "start_index": 0, "end_index": 3, "capacity": [4], "skills": [1], "time_window": [28800, 43200]},
        {"id": 7, "description": "spare", "start_index": 0, "end_index": 3, "capacity": [4], "skills": [1],
         "time_window": [28800, 43200]},
    ],
    "jobs": [
        {"id": 1, "description": "baker", "service": 300, "delivery": [1], "skills": [1], "location_index": 1,
         "time_windows": [[29000, 31000], [36000, 40000]]},
        {"id": 2, "service": 240, "pickup": [1], "location_index": 2, "priority": 10},
        {"id": 3, "setup": 60, "service": 300, "delivery": [2], "skills": [14], "location_index": 3},
    ],
    "matrices": {"car": {"durations": SQUARE}},
}  # fmt: skip


@pytest.fixture
def read(tmp_path):
    """Return a function that writes a JSON object to a file and reads the instance in it."""

    def from_object(problem: Any) -> VroomInstance:
        path = tmp_path / "problem.json"
        path.write_text(json.dumps(problem, indent=1))
        return VRP.read(path)

    return from_object


def changed(**parts: Any) -> dict[str, Any]:
    """Return a copy of MORNING with other parts."""
    return json.loads(json.dumps(MORNING)) | parts


# -------------------------------------------------------------------- the meaning
def test_equal_vehicles_become_one_type(read):
    """Vehicles that differ in id and description only are one type, in VROOM's order of ids."""
    instance = read(MORNING)
    assert instance.vehicle_names == ("vehicle 4", "vehicles 9, 7") and instance.vehicles.count.tolist() == [1, 2]
    assert instance.service.tolist() == [0, 0, 300, 240, 360] and instance.tasks[2].setup == 60


def _random_problem(seed: int) -> dict[str, Any]:
    """Return a tiny problem with costs, skills, windows, loads, priorities, limits and open ends, at random."""
    random = np.random.default_rng(seed)
    size = 5

    def maybe(share: float, **fields: Any) -> dict[str, Any]:
        return fields if random.random() < share else {}

    def matrix(high: int) -> list[list[int]]:
        drawn = random.integers(1, high, (size, size))
        np.fill_diagonal(drawn, 0)
        return drawn.tolist()

    def times() -> list[list[int]]:
        cuts = sorted(random.choice(200, 4, replace=False).tolist())
        return [cuts[:2], cuts[2:]] if random.random() < 0.4 else [[cuts[0], cuts[3]]]

    shipments = random.random() < 0.3
    profiles = {name: {"durations": matrix(60), "distances": matrix(900)} for name in ("car", "bike")}
    if random.random() < 0.2:
        profiles["car"]["costs"] = matrix(50)
    vehicles = []
    for number in range(2):
        profile = "car" if random.random() < 0.6 else "bike"
        ends = [{"start_index": int(random.integers(size))}, {"end_index": int(random.integers(size))}]
        chosen = ends[0] | ends[1] if random.random() < 0.6 else ends[int(random.integers(2))]
        costs = maybe(0.5, fixed=int(random.integers(30)))
        if "costs" not in profiles[profile]:
            costs |= maybe(0.4, per_hour=int(random.integers(5000))) | maybe(0.3, per_km=int(random.integers(90)))
        costs |= maybe(0.2, per_task_hour=int(random.integers(4000)))
        free = not costs.keys() - {"fixed", "per_hour"} and "costs" not in profiles[profile]
        vehicle = {"id": 10 - number, "profile": profile, **chosen, "capacity": [int(random.integers(2, 6)), 9], "costs": costs}
        vehicle |= maybe(0.4, skills=[1]) | maybe(0.4, time_window=[int(random.integers(60)), int(random.integers(100, 250))])
        vehicle |= maybe(0.3, speed_factor=float(random.choice([0.5, 1.25, 1.5]))) | (
            {} if shipments else maybe(0.3, max_tasks=2)
        )
        vehicles.append(vehicle | (maybe(0.3, max_travel_time=int(random.integers(60, 150))) if free else {}))
    places = random.permutation(size).tolist()

    def task(number: int) -> dict[str, Any]:
        return {"id": number, "location_index": places[number % size], "service": int(random.integers(20)),
                **maybe(0.4, time_windows=times())}  # fmt: skip

    jobs = [
        task(number) | maybe(0.5, delivery=[int(random.integers(3)), 1]) | maybe(0.4, pickup=[int(random.integers(3)), 0])
        | maybe(0.3, skills=[1]) | maybe(0.4, priority=int(random.integers(4)))
        for number in range(1 if shipments else 3)
    ]  # fmt: skip
    problem = {"vehicles": vehicles, "jobs": jobs, "matrices": profiles}
    if shipments:
        problem["shipments"] = [{"amount": [1, 1], "pickup": task(3), "delivery": task(4)}]
    return problem


def _best_by_simulation(problem: dict[str, Any]) -> tuple[int, int, float] | None:
    """Return (-sum of priorities, -number of tasks, cost) of the best routes, by trying all; None if no shipment fits."""
    tasks = {("job", each["id"]): each for each in problem["jobs"]}
    for each in problem.get("shipments", []):
        tasks |= {(kind, each[kind]["id"]): each | each[kind] for kind in ("pickup", "delivery")}
    needed = {key for key in tasks if key[0] != "job"}
    best = None
    for owners in itertools.product(range(len(problem["vehicles"]) + 1), repeat=len(tasks)):
        left_out = {key for key, owner in zip(tasks, owners) if owner == len(problem["vehicles"])}
        if left_out & needed:
            continue
        cost = 0.0
        for number, vehicle in enumerate(problem["vehicles"]):
            own = [key for key, owner in zip(tasks, owners) if owner == number]
            if own:
                costs = (_cost(problem, vehicle, order, tasks) for order in itertools.permutations(own))
                cost += min((each for each in costs if each is not None), default=np.inf)
        if cost < np.inf:
            served = [tasks[key] for key in tasks if key not in left_out]
            key = (-sum(each.get("priority", 0) for each in served if "pickup" not in each or isinstance(each["pickup"], list)),
                   -len(served), cost)  # fmt: skip
            best = key if best is None or key[:2] < best[:2] or (key[:2] == best[:2] and cost < best[2]) else best
    return best


def _cost(problem: dict[str, Any], vehicle: dict[str, Any], order: Any, tasks: Any) -> float | None:
    """Return the cost of one vehicle's tasks in an order, simulated step by step; None if a limit is violated."""
    matrices, costs = problem["matrices"][vehicle["profile"]], {"per_hour": 3600, "per_km": 0, "fixed": 0} | vehicle["costs"]
    factor = round(100 / vehicle.get("speed_factor", 1)) / 100
    window = vehicle.get("time_window", [0, np.inf])
    if len(order) > vehicle.get("max_tasks", 99):
        return None
    deliveries = [tasks[key].get("delivery", [0, 0]) for key in order if key[0] == "job"]
    load = np.array(deliveries or [[0, 0]]).sum(axis=0)
    place, time, travel, cost, on_board = vehicle.get("start_index"), window[0], 0.0, float(costs["fixed"]), set()
    if (load > vehicle["capacity"]).any():
        return None

    def go(to: int) -> float:
        """Return the travel time to a place; add its cost."""
        nonlocal cost
        if place is None:
            return 0.0
        seconds = matrices["durations"][place][to] * factor
        hourly = round(100 / vehicle.get("speed_factor", 1) * costs["per_hour"]) / 100 / 3600
        by_time = matrices["durations"][place][to] * hourly + matrices["distances"][place][to] * costs["per_km"] / 1000
        cost += matrices["costs"][place][to] if "costs" in matrices else by_time
        return seconds

    for kind, number in order:
        task = tasks[kind, number]
        seconds = go(task["location_index"])
        travel, time, place = travel + seconds, time + seconds, task["location_index"]
        starts = [max(time, begin) for begin, end in task.get("time_windows", [[0, np.inf]]) if max(time, begin) <= end]
        if not starts or not set(task.get("skills", [])) <= set(vehicle.get("skills", [])):
            return None
        time = min(starts) + task["service"]
        cost += costs.get("per_task_hour", 0) / 3600 * task["service"]
        if kind == "job":
            load = load - task.get("delivery", [0, 0]) + task.get("pickup", [0, 0])
        elif kind == "delivery" and number - 1 not in on_board:
            return None
        else:
            on_board.add(number)
            load = load + (np.array(task["amount"]) if kind == "pickup" else -np.array(task["amount"]))
        if (load > vehicle["capacity"]).any():
            return None
    if "pickup" in {kind for kind, _ in order} and len(on_board) != 2:
        return None
    if "end_index" in vehicle:
        seconds = go(vehicle["end_index"])
        travel, time = travel + seconds, time + seconds
    return cost if time <= window[1] and travel <= vehicle.get("max_travel_time", np.inf) else None


@pytest.mark.parametrize("seed", range(60))
def test_the_best_routes_are_those_of_a_simulation(read, seed):
    """The judge's cheapest solution has VROOM's best sum of priorities, number of tasks and cost, computed from its JSON."""
    problem = _random_problem(seed)
    instance, best = read(problem), _best_by_simulation(problem)
    found = cheapest_solution(instance, lambda: False)
    assert (found is None) == (best is None)
    if found is None or best is None:
        return
    written = json.loads(VRP.solution_text(instance, found, "vroom"))
    served = {node for route in found for node in route.visits.tolist()}
    missed = sum(instance.prize[node] for node in range(instance.depots, instance.n) if node not in served)
    assert VRP.evaluate(instance, found) - missed == pytest.approx(best[2], rel=1e-6, abs=1e-3)
    assert (-sum(instance.tasks[node - instance.depots].priority for node in served), -len(served)) == best[:2]
    assert written["summary"]["cost"] == pytest.approx(best[2], abs=0.51)
    assert VRP.evaluate(instance, VRP.from_json(instance, written)) == VRP.evaluate(instance, found)


# -------------------------------------------------------------------- round trips
@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_a_problem_is_written_as_it_was_read(read, tmp_path, seed):
    """Reading, writing and reading again gives the same arrays."""
    one = read(_random_problem(seed))
    VRP.write(one, tmp_path / "again.vroom.json")
    other = VRP.read(tmp_path / "again.vroom.json")
    for name in ("matrix", "demand", "earliest", "latest", "service", "prize", "required"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.names == other.names and one.tasks == other.tasks and one.vehicle_records == other.vehicle_records


def test_our_instances_are_written_for_vroom(random_vrp, tmp_path):
    """What VROOM's format expresses is written, and reads back with the same cheapest routes; the rest is named."""
    compared, refusals = 0, []
    for seed in range(150):
        instance = random_vrp(seed)
        try:
            VRP.write(instance, tmp_path / "a.vroom.json")
        except UsageError as error:
            refusals.append(str(error))
            continue
        found = VRP.read(tmp_path / "a.vroom.json")
        if can_enumerate(instance) and can_enumerate(found) and (best := cheapest_solution(instance, lambda: False)) is not None:
            other = cheapest_solution(found, lambda: False)
            assert other is not None and sum(len(route.visits) for route in other) == instance.clients
            assert VRP.evaluate(found, other) == pytest.approx(VRP.evaluate(instance, best))
            compared += 1
    assert compared > 0
    assert all(each.startswith("VROOM's format ") and each.endswith("; write a .json file") for each in refusals)


def test_a_solution_names_tasks_and_vehicles(read):
    """Steps have types, ids, times and loads; what nobody serves is listed."""
    instance = read(MORNING)
    solution = VRP.from_json(instance, {"routes": [{"vehicle": 4, "steps": [
        {"type": "start"}, {"type": "job", "id": 1}, {"type": "job", "id": 3}, {"type": "end"}]}]})  # fmt: skip
    written = json.loads(VRP.solution_text(instance, solution, "vroom"))
    (route,) = written["routes"]
    assert written["code"] == 0 and written["unassigned"] == [{"id": 2, "type": "job", "location_index": 2}]
    assert [step["type"] for step in route["steps"]] == ["start", "job", "job", "end"]
    assert [step["load"] for step in route["steps"]] == [[3], [2], [0], [0]]
    assert [step["duration"] for step in route["steps"]] == [0, 600, 1300, 1700] and route["cost"] == 1700
    assert route["steps"][2] | {"arrival": 0} == {
        "type": "job", "id": 3, "location_index": 3, "setup": 60, "service": 300, "waiting_time": 0, "load": [0], "arrival": 0,
        "duration": 1300, "violations": [],
    }  # fmt: skip


@dataclass(frozen=True)
class Cheapest(Solver):
    """Reports the cheapest solution of a tiny instance."""

    def solve(self, instance, run):
        run.report(cheapest_solution(instance, lambda: False))


def test_the_command_line_writes_and_checks(read, tmp_path, monkeypatch, capsys):
    """`corl solve --format vroom` prints a solution of VROOM or writes it, which `corl check` judges; other names are refused."""
    monkeypatch.setattr("corl.registry.choose", lambda *arguments: "cheapest")
    monkeypatch.setattr("corl.registry.solver", lambda *names: Cheapest)
    read(MORNING)
    problem, output = str(tmp_path / "problem.json"), tmp_path / "ours.json"
    assert main(["solve", problem, "--format", "vroom"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert main(["solve", problem, "--format", "vroom", "--output", str(output)]) == 0
    assert json.loads(output.read_text()) == printed and printed["summary"]["unassigned"] == 0
    capsys.readouterr()
    assert main(["check", problem, str(output)]) == 0
    assert capsys.readouterr().out.startswith(f"feasible, objective {printed['summary']['cost']}")
    assert main(["solve", problem, "--format", "vrom"]) == 2
    assert "vrp has no format 'vrom' (did you mean 'vroom'?)" in capsys.readouterr().err
    assert main(["solve", problem, "--format", "vroom", "--json"]) == 2


# -------------------------------------------------------------------- refusals
@pytest.mark.parametrize(
    ("where", "fields", "words"),
    [
        ("vehicles", {"breaks": [{"id": 1, "time_windows": [[0, 1]]}]}, "breaks that may be taken on the way"),
        ("vehicles", {"steps": [{"type": "start"}]}, "accepted by --warm-start"),
        ("vehicles", {"profile": "truck"}, "no travel times of profile 'truck'"),
        ("vehicles", {"max_distance": 5}, "distances in matrices"),
        ("vehicles", {"costs": {"per_km": 5}}, "distances in matrices"),
        ("vehicles", {"end_index": 9}, "end_index: 9 is not accepted; accepted: an integer from 0 to 3"),
        ("vehicles", {"speed_factor": 9}, "speed_factor: 9 is not accepted"),
        ("vehicles", {"depot": 1}, "there is no key 'depot'"),
        ("jobs", {"service_per_type": {"van": 3}}, "service times that differ by vehicle type: not supported"),
        ("jobs", {"setup": 9, "location_index": 0}, "setup at a location that another task or a start has"),
        ("jobs", {"id": 2}, "there is a job 2 already"),
        ("jobs", {"time_windows": [[5, 9], [8, 12]]}, "that do not overlap"),
        ("jobs", {"delivery": [1, 2]}, "delivery: a list of 2 is not accepted; accepted: a list of 1"),
        ("jobs", {"priority": 101}, "accepted: an integer from 0 to 100"),
    ],
)
def test_what_is_not_supported_is_named(read, where, fields, words):
    """Each field that our instances cannot express is refused in one line with file, line, field and what is accepted."""
    problem = changed()
    problem[where][0] |= fields
    with pytest.raises(InputError) as refused:
        read(problem)
    message = str(refused.value)
    assert words in message and "\n" not in message and "problem.json" in message


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return (container, key) of every value inside a JSON value."""
    if not isinstance(value, (dict, list)):
        return []
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    return [(value, key) for key, _ in pairs] + [each for _, inner in pairs for each in _places(inner)]


@pytest.mark.parametrize("seed", range(6))
def test_any_other_value_is_refused_in_one_line_or_read(tmp_path, seed):
    """Every value of a problem, and of a solution, replaced by one of another type: an instance, or an error of one line."""
    problem, path = _random_problem(seed), tmp_path / "problem.json"
    path.write_text(json.dumps(problem))
    instance = VRP.read(path)
    found = cheapest_solution(instance, lambda: False)
    solution = {} if found is None else json.loads(VRP.solution_text(instance, found, "vroom"))
    random = np.random.default_rng(seed)
    strange = (None, True, -1, 0.5, 10**20, "x", [], [1], [[1]], {}, {"id": 1}, [{}])
    for whole, read in ((problem, lambda: VRP.read(path)), (solution, lambda: VRP.from_json(instance, solution))):
        places = _places(whole)
        for container, key in [places[k] for k in random.permutation(len(places))[:60]]:
            before, container[key] = container[key], strange[random.integers(len(strange))]
            path.write_text(json.dumps(problem))
            try:
                read()
            except (InputError, Infeasible) as error:
                lines = str(error).splitlines()
                assert len(lines) == 1
            container[key] = before


def test_coordinates_alone_are_refused(read):
    """Without matrices there are no travel times; the message says so."""
    problem = {"vehicles": [{"id": 1, "start": [2.3, 48.8], "end": [2.3, 48.8]}], "jobs": [{"id": 1, "location": [2.4, 48.9]}]}
    with pytest.raises(InputError, match="matrices: there are no travel times of profile 'car'"):
        read(problem)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        ({"code": 2, "error": "bad", "routes": []}, InputError, "VROOM reports the error 'bad'"),
        ({"routes": [{"vehicle": 5, "steps": []}]}, Infeasible, "vehicle 5, which is not in the instance"),
        ({"routes": [{"vehicle": 4, "steps": [{"type": "job", "id": 8}]}]}, Infeasible, "job 8, which is not in the instance"),
        ({"routes": [{"vehicle": 4, "steps": [{"type": "break", "id": 8}]}]}, InputError, "'break' is not supported"),
    ],
)
def test_bad_solutions_are_refused(read, value, error, words):
    """A solution with unknown ids is infeasible; another form is an input error."""
    with pytest.raises(error, match=words):
        VRP.from_json(read(MORNING), value)
