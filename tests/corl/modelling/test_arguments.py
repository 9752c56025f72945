"""Every argument of every modelling method, with values that it does not take: one line that names it, and nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corl.errors import InputError, UsageError
from corl.modelling import BanditModel, KnapsackModel, RoutingModel, SchedulingModel
from corl.result import Result


def routing():
    """A depot, two clients and a vehicle."""
    model = RoutingModel("town", time="min")
    model.add_depot("hub", x=0, y=0)
    model.add_client("Ada", x=1, y=0)
    model.add_client("Bob", x=2, y=0)
    model.add_vehicle("van")
    return model


def scheduling():
    """Two jobs with due dates on two machines."""
    model = SchedulingModel("earliness")
    model.add_job("table", [("saw", 3), {"glue": 2}], due=9)
    model.add_job("shelf", [("glue", 1)], due=4)
    return model


def items():
    """One item."""
    model = KnapsackModel(5)
    model.add_item("roof", value=1, weight=2)
    return model


def arms():
    """One arm with two states."""
    model = BanditModel(["away", "here"], budget=1)
    model.add_arm("Ann", left=EYE, pulled=EYE, reward={"here": 1}, start="away")
    return model


def plan(model):
    """A plan of the scheduling model, as `solve` returns one."""
    from corl.modelling.scheduling import Plan

    instance = model.instance()
    from corl.problems.jobshop.evaluation import schedule_of_orders

    schedule = schedule_of_orders(instance, [[0], [1, 2]])
    result = Result(
        problem="jobshop", instance="", status="feasible", limit="finished", sense="min", objective=1.0, bound=None, runtime=0.0,
        setup_seconds=0.0, solution=schedule, trace=(), solver="", options={}, seed=0, versions={}, verified=True, data=instance,
    )  # fmt: skip
    return Plan(result, tuple(model._operations(instance, schedule)), ("saw", "glue"), ("table", "shelf"))


EYE = [[1.0, 0.0], [0.0, 1.0]]
BAD = [
    "x", "", b"x", (1,), [[]], [1, "y", None], {"q": []}, -1, -math.inf, math.nan, 10**400, 1 + 2j, object(), np.arange(3),
    "25:61", np.zeros((2, 2, 2)), np.float64("nan"), np.datetime64("NaT"), {1, 2}, [3, 2, 1, 0], (5, None, 5), len,
    10**5000, "a\nb",
]  # fmt: skip

NODE = {"x": 3.0, "y": 4.0}
JOB = {"name": "new", "operations": [("saw", 1)], "due": 5}
ARM = {"name": "Bob", "left": EYE, "pulled": EYE, "reward": {}, "start": "away"}
ROW = {"arm": "Bob", "state": "away", "pulled": True, "next": "here"}

METHODS = [  # how to make a model, the method, a call that is accepted, its other arguments
    (routing, "add_depot", {"name": "north", **NODE}, ("window",)),
    (routing, "add_depot", {"name": "north", "lat": 1.0, "lon": 2.0}, ()),
    (routing, "add_client", {"name": "Cid", **NODE}, (
        "demand", "pickup", "service", "window", "windows", "prize", "required", "release", "needs", "days",
        "soft_window", "early_cost", "late_cost",
    )),
    (routing, "add_vehicle", {"name": "bike"}, (
        "count", "capacity", "depot", "end_depot", "fixed_cost", "unit_cost", "duration_cost", "max_distance", "max_duration",
        "shift", "breaks", "reloads", "stays_out", "skills", "speed_factors",
    )),
    (routing, "set_periods", {"begins": [0, 5], "speed_factors": [1, 0.5]}, ("durations",)),
    (routing, "add_vehicle", {"name": "bike", "shifts": [(0, 7, 15), (1, 7, 15)]}, (
        "max_total_duration", "max_total_driving", "vehicle_cost",
    )),
    (routing, "add_cluster", {"clients": ["Ada", "Bob"]}, ("in_a_row",)),
    (routing, "balance_routes", {"measure": "range"}, ("of", "weight")),
    (routing, "add_shipment", {"origin": "Ada", "destination": "Bob"}, ("amount",)),
    (routing, "add_group", {"clients": ["Ada", "Bob"]}, ("required",)),
    (routing, "set_matrix", {"distances": np.ones((3, 3))}, ("durations",)),
    (lambda: RoutingModel, "__call__", {}, ("name", "time", "speed")),
    (lambda: RoutingModel, "from_frame", {"clients": [{"name": "a", **NODE}]}, ("name",)),
    (lambda: SchedulingModel, "__call__", {}, ("objective", "name", "begin", "unit")),
    (lambda: SchedulingModel, "from_frame", {"operations": [{"job": "a", "machine": "m", "duration": 1}]}, (
        "objective", "name", "begin", "unit", "columns",
    )),
    (SchedulingModel, "add_machine", {"name": "saw"}, ()),
    (SchedulingModel, "add_stage", {"name": "cut", "machines": ["saw"]}, ()),
    (SchedulingModel, "add_resource", {"name": "worker", "capacity": 2}, ()),
    (scheduling, "add_job", JOB, ("release", "weight", "early", "earliness", "no_wait", "family", "earliest")),
    (scheduling, "set_setup", {"machine": "saw", "before": "table", "after": "shelf", "duration": 1}, ()),
    (scheduling, "set_unavailable", {"machine": "saw", "begin": 3}, ("end",)),
    (scheduling, "rescheduled", {"now": 1}, (
        "down", "frozen_until", "rush", "priority", "machine_change", "start_change",
    )),
    (lambda: scheduling().rescheduled, "__call__", {"plan": None, "now": 1}, ()),
    (lambda: KnapsackModel, "__call__", {"capacity": 4}, ("name",)),
    (lambda: KnapsackModel, "from_frame", {"frame": [{"name": "a", "value": 1, "weight": 2}], "capacity": 4}, ("name",)),
    (items, "add_item", {"name": "door", "value": 1, "weight": 1}, ()),
    (lambda: BanditModel, "__call__", {"states": ["away"], "budget": 1}, ("horizon", "episodes", "name")),
    (arms, "add_arm", ARM, ("cost",)),
    (arms, "add_arms_from_log", {"log": [ROW], "reward": {}}, ("prior",)),
]  # fmt: skip
CASES = [
    (make, method, good, argument)
    for make, method, good, others in METHODS
    for argument in dict.fromkeys((*good, *others))
]  # fmt: skip


def call(make, method, arguments):
    """Call it, then compile the model that it was called on, which is where combinations are checked."""
    model = make()
    if method == "rescheduled":
        arguments = {"plan": plan(model), **arguments}
    made = model(**arguments) if method == "__call__" else getattr(model, method)(**arguments) or model
    if not isinstance(model, type) and method not in ("add_machine", "add_stage", "add_resource", "from_frame"):
        made.instance()


def said_of(make, method, arguments):
    """The message of the error of the house that a call raises; "accepted" where it raises none."""
    try:
        call(make, method, arguments)
    except (InputError, UsageError) as error:
        return str(error)
    return "accepted"


@pytest.mark.parametrize(("make", "method", "good", "argument"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_bad_values_are_refused_by_name(make, method, good, argument):
    """A value is accepted, or the error is one of the house's on one line, with what is accepted."""
    for bad in BAD:
        words = said_of(make, method, {**good, argument: bad})
        assert "\n" not in words and len(words) < 400, (bad, words)
        assert "accepted" in words, (bad, words)


REFUSED = [  # of every kind of argument, with a value that a user may well give
    (routing, "add_client", {"name": "C", **NODE, "window": 5}, "client 'C': window: 5 is not accepted"),
    (routing, "add_client", {"name": "C", **NODE, "window": ("8 o'clock", 9)}, "client 'C': window"),
    (routing, "add_client", {"name": "C", **NODE, "windows": [(1, 2), 3]}, "client 'C': windows: 3 is not accepted"),
    (routing, "add_client", {"name": "C", **NODE, "prize": "much"}, "client 'C': prize: 'much' is not accepted"),
    (routing, "add_client", {"name": "C", **NODE, "needs": 7}, "client 'C': needs: 7 is not accepted"),
    (routing, "add_client", {"name": "C", **NODE, "needs": [["fridge"]]}, r"client 'C': needs: \['fridge'\] is not accepted"),
    (routing, "add_client", {"name": "C", "x": 1}, "client 'C' has x; accepted: x and y"),
    (routing, "add_client", {"name": ["C"], **NODE}, r"the name of a client: \['C'\] is not accepted"),
    (routing, "add_vehicle", {"name": "v", "unit_cost": None}, None),
    (routing, "add_vehicle", {"name": "v", "duration_cost": -2}, "vehicle 'v': duration_cost: -2 is not accepted"),
    (routing, "add_vehicle", {"name": "v", "breaks": [(1, 2)]}, r"vehicle 'v': breaks: \(1, 2\) is not accepted"),
    (routing, "add_vehicle", {"name": "v", "breaks": 30}, "vehicle 'v': breaks: 30 is not accepted"),
    (routing, "add_vehicle", {"name": "v", "count": 1.5}, "vehicle 'v': count: 1.5 is not accepted"),
    (scheduling, "add_job", {**JOB, "due": "Friday"}, "job 'new': due: 'Friday' is not accepted"),
    (scheduling, "add_job", {**JOB, "operations": 5}, "job 'new': operations: 5 is not accepted"),
    (scheduling, "set_unavailable", {"machine": "saw", "begin": 4, "end": 4}, "machine 'saw': end: 4 is not accepted"),
    (arms, "add_arm", {**ARM, "reward": 3}, "arm 'Bob': reward: 3 is not accepted"),
    (arms, "add_arm", {**ARM, "cost": 0.5}, "arm 'Bob': cost: 0.5 is not accepted"),
    (items, "add_item", {"name": "d", "value": None, "weight": 1}, "item 'd': value: None is not accepted"),
]


@pytest.mark.parametrize(("make", "method", "arguments", "words"), REFUSED)
def test_the_argument_is_named(make, method, arguments, words):
    """The message begins with the object and its argument; a refused call leaves the model as it was."""
    if words is None:
        call(make, method, arguments)
        return
    model = make()
    before = vars(model.instance())
    with pytest.raises(UsageError, match=words):
        getattr(model, method)(**arguments)
    after = vars(model.instance())
    assert all(np.array_equal(before[key], after[key]) for key in before if isinstance(before[key], np.ndarray))


def numpy_scalars(value):
    """Python's numbers in nested containers as NumPy's."""
    if isinstance(value, dict):
        return {key: numpy_scalars(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(numpy_scalars, value))
    return {bool: np.bool_, int: np.int64, float: np.float32, str: np.str_}.get(type(value), lambda same: same)(value)


def written(convert, folder):
    """The bytes of three instances in JSON, whose models were given values as `convert` makes them."""
    from corl import registry

    model = RoutingModel(convert("town"), time=convert("min"), speed=convert(0.5))
    model.add_depot("hub", **convert({"lat": 48.25, "lon": 16.5, "window": [0, 900]}))
    model.add_client(convert(7), **convert({
        "lat": 48.5, "lon": 16.25, "demand": {"kg": 2, "crates": 1.5}, "pickup": {"kg": 1}, "service": 5, "window": (10, 400),
        "prize": 3.5, "required": True, "release": 3, "needs": ["fridge"],
    }))  # fmt: skip
    model.add_vehicle("van", **convert({
        "count": 2, "capacity": {"kg": 4, "crates": 3.0}, "fixed_cost": 5, "unit_cost": 0.5, "max_distance": 900,
        "shift": (0, 800), "breaks": [(20, 120, 30)], "reloads": 1, "stays_out": False, "skills": ["fridge"],
    }))  # fmt: skip
    paid = RoutingModel("paid")
    paid.add_depot("hub", **convert({"x": 0, "y": 0.5}))
    paid.add_client("a", **convert({"x": 1, "y": 0}))
    paid.add_vehicle("bike", **convert({"count": 1, "duration_cost": 0.25, "max_duration": 400.5}))
    paid.set_matrix(convert([[0, 1], [2, 0]]), convert([[0, 1.5], [2, 0]]))
    jobs = SchedulingModel(convert("earliness"))
    jobs.add_job("a", [convert(("saw", 3)), convert({"mill": 2, "saw": 4})], **convert({
        "release": 1, "due": 9, "weight": 2, "early": 4, "earliness": 3, "no_wait": True, "family": 5, "earliest": [1, 2],
    }))  # fmt: skip
    jobs.set_setup("saw", None, convert(5), convert(2))
    jobs.set_unavailable("mill", convert(30), convert(40))
    taken = KnapsackModel(convert({"money": 5, "hours": 2.5}))
    taken.add_item("roof", **convert({"value": 3, "weight": {"money": 1}}))
    for name, made in (("vrp", model), ("vrp", paid), ("jobshop", jobs), ("knapsack", taken)):
        registry.problem(name).write(made.instance(), folder / f"{name}-{made.name}.json")
    return [path.read_bytes() for path in sorted(folder.glob("*.json"))]


def test_numpy_scalars_are_numbers(tmp_path):
    """The same instances, to the byte in JSON, from Python's and from NumPy's numbers, flags and texts."""
    assert written(lambda value: value, tmp_path) == written(numpy_scalars, tmp_path)


def test_frames():
    """Columns that a model does not know are ignored; a missing one is named with those that are accepted."""
    rows = [{"name": "a", "x": 1, "y": 2, "region": "east", "demand": None}, {"name": "b", "x": 1, "y": np.int64(3)}]
    model = RoutingModel.from_frame(rows)
    model.add_depot("hub", x=0, y=0)
    model.add_vehicle("van")
    assert model.instance().clients == 2
    with pytest.raises(UsageError, match=r"client 'a' has x; accepted: x and y, or lat and lon"):
        RoutingModel.from_frame([{"name": "a", "x": 1}])
    with pytest.raises(UsageError, match=r"row 0 of the frame lacks 'value'; accepted: the columns name, value, weight"):
        KnapsackModel.from_frame([{"name": "a", "weight": 1}], 5)
    with pytest.raises(UsageError, match=r"the frame lacks 'hours'; accepted: the columns name, value, money, hours"):
        KnapsackModel.from_frame([{"name": "a", "value": 1, "money": 1}], {"money": 5, "hours": 2})
    pandas = pytest.importorskip("pandas", reason="tables are pandas'")
    frame = pandas.DataFrame({"name": ["a", "b"], "value": [3, 2], "weight": [4, pandas.NA], "colour": ["red", None]})
    with pytest.raises(UsageError, match="row 1 of the frame lacks 'weight'"):
        KnapsackModel.from_frame(frame, 5)
    assert KnapsackModel.from_frame(frame.iloc[:1], 5).instance().n == 1


def test_a_plan_is_a_warm_start():
    """What a model's `solve` returned is taken as it is, by the same model and by one compiled again."""
    from corl import registry
    from corl.warm_starts import warm_start

    model = scheduling()
    start, machine = warm_start(registry.problem("jobshop"), model.instance(), plan(model))
    assert start.tolist() == [0, 3, 5] and machine.tolist() == [0, 1, 1]
