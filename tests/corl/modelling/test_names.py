"""Names of a model are the names of its instance: in files, solutions, messages, pictures and tables."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corl import registry
from corl.errors import Infeasible, InputError
from corl.modelling import RoutingModel, SchedulingModel
from corl.problems.jobshop.instance import Schedule
from corl.problems.vrp.routes import Route

JOBSHOP, VRP = registry.problem("jobshop"), registry.problem("vrp")


@pytest.fixture
def shop():
    """Two jobs whose operations name the machines in another order than they were declared; M3 is down from 4 to 6."""
    model = SchedulingModel("tardiness", "shop")
    for machine in ("M1", "M2", "M3"):
        model.add_machine(machine)
    model.add_job("table", [("M3", 3), ("M1", 2)], due=9)
    model.add_job("shelf", [("M2", 3), ("M3", 2)], due=9)
    model.set_unavailable("M3", 4, 6)
    return model.instance()


SCHEDULE = Schedule(np.array([0, 3, 0, 6]), np.array([2, 0, 1, 2], np.int32))


@pytest.fixture
def day():
    """A depot on the globe, two clients to serve and two optional ones: out of reach, and too heavy."""
    model = RoutingModel("day", time="min", speed=0.5)
    model.add_depot("hub", lat=48.2, lon=16.4, window=("08:00", "18:00"))
    model.add_client("Ada", lat=48.21, lon=16.4, window=("09:00", "10:00"), service=5, demand=2)
    model.add_client("Bob", lat=48.22, lon=16.4, service=5, demand=1)
    model.add_client("Far", lat=40.0, lon=16.4, prize=5)
    model.add_client("Big", lat=48.22, lon=16.41, prize=5, demand=100)
    model.add_vehicle("van", capacity=5)
    return model.instance()


ROUTES = [Route(0, np.array([1, 2], np.int32))]


def test_machines_are_in_the_order_of_their_declaration(shop):
    """In the rows of the page and of the plot; what is drawn of M3, its breakdown too, is in the row of M3."""
    matplotlib = pytest.importorskip("matplotlib", reason="plots are matplotlib's")
    matplotlib.use("agg")
    from matplotlib import pyplot

    scene = JOBSHOP.view(shop, SCHEDULE)
    assert list(scene.rows) == ["M1", "M2", "M3"]
    assert [text.split("\n")[1] for _, y, _, _, text, _, _ in scene.boxes if y == 2] == [
        "not available from 4 to 6", "operation 1 of job table: 0 to 3", "operation 2 of job shelf: 6 to 8",
    ]  # fmt: skip
    _, axes = pyplot.subplots()
    JOBSHOP.draw(shop, SCHEDULE, axes)
    assert [each.get_text() for each in axes.get_yticklabels()] == ["M1", "M2", "M3"]
    assert {each.get_text() for each in axes.texts} == {"table", "shelf"}
    pyplot.close("all")


@pytest.mark.parametrize(("problem", "name", "solution"), [(JOBSHOP, "shop", SCHEDULE), (VRP, "day", ROUTES)])
def test_files_and_solutions_keep_names(problem, name, solution, request, tmp_path):
    """Instances and solutions in JSON are written and read with names."""
    instance = request.getfixturevalue(name)
    problem.write(instance, tmp_path / "a.json")
    again = problem.read(tmp_path / "a.json")
    for key in ("names", "vehicle_names", "job_names", "machine_names"):
        assert getattr(instance, key, ()) == getattr(again, key, ())
    form = problem.to_json(instance, solution)
    assert json.loads(json.dumps(form)) == form
    assert problem.evaluate(again, problem.from_json(again, form)) == problem.evaluate(instance, solution)
    assert "Ada" in str(form) or ("table" in str(form) and "M3" in str(form))


def test_messages_name_jobs_and_machines(shop):
    """The judge's, and those of an instance that is refused."""
    early = Schedule(np.array([0, 3, 0, 3]), SCHEDULE.machine)
    with pytest.raises(
        Infeasible, match="operation 1 of job 'shelf' runs from 3 to 5; at 4 its machine 'M3' is not available until 6"
    ):
        JOBSHOP.evaluate(shop, early)
    model = SchedulingModel("earliness")
    model.add_job("table", [("saw", 1)], due=3, early=4)
    with pytest.raises(InputError, match="job 'table' may end from 4 and is due at 3"):
        model.instance()


def test_messages_name_clients(day):
    """The judge's, and the proof that an instance has no solution."""
    with pytest.raises(Infeasible, match="client 'Bob' must be visited and is not"):
        VRP.evaluate(day, ROUTES[:0] + [Route(0, np.array([1], np.int32))])
    model = RoutingModel("late")
    model.add_depot("hub", x=0, y=0, window=(0, 10))
    model.add_client("Cid", x=20, y=0)
    model.add_vehicle("van")
    assert VRP.infeasible(model.instance()).startswith("no vehicle can serve client 'Cid' because of")


def test_the_true_reason_of_a_client_left_out(day):
    """One that no vehicle can reach or carry is reported as that, whatever route was tried last; one of a group, by the other."""
    told = VRP.explain(day, ROUTES)
    assert told["client 'Far'"] == "no vehicle can serve it because of the hours of depots and vehicles"
    assert told["client 'Big'"] == "no vehicle can serve it because of its demand, pickup or shipment"
    model = RoutingModel("group")
    model.add_depot("hub", x=0, y=0)
    model.add_client("a", x=1, y=0)
    model.add_client("b", x=2, y=0)
    model.add_group(["a", "b"])
    model.add_vehicle("van")
    assert VRP.explain(model.instance(), [[1]]) == {"client 'b'": "client 'a' of its group is served"}


def test_the_table_of_stops(day):
    """Arrival, wait, break, service, departure and load in the model's unit of time; on the globe ways in metres."""
    scene = VRP.view(day, ROUTES)
    rows = [dict(zip(scene.steps_head, step)) for step in scene.groups[0].steps]
    assert list(rows[0]) == ["client", "arrival", "wait", "break", "begin", "service", "departure", "load", "metres"]
    assert [row["client"] for row in rows] == ["Ada", "Bob"] and [row["load"] for row in rows] == [1, 0]
    assert rows[0]["metres"] == pytest.approx(1111.95, abs=0.01) and rows[0]["begin"] == 540 and rows[0]["departure"] == 545
    assert rows[1]["arrival"] == pytest.approx(545 + rows[1]["metres"] / 1000 / 0.5)
    for row in rows:
        assert row["departure"] == pytest.approx(row["arrival"] + row["wait"] + row["break"] + row["service"])


def test_breaks_are_in_the_table_of_stops():
    """A break that has to begin before the vehicle is back is taken at a client, and the wait for it is told apart."""
    from corl.problems.vrp.timetable import stops

    model = RoutingModel("rested")
    model.add_depot("hub", x=0, y=0)
    model.add_client("a", x=10, y=0, service=5)
    model.add_client("b", x=20, y=0, service=5)
    model.add_vehicle("van", breaks=[(30, 32, 7)])
    instance = model.instance()
    (first, second) = stops(instance, Route(0, np.array([1, 2], np.int32)))
    for stop in (first, second):
        assert stop.departure == pytest.approx(stop.arrival + stop.wait + stop.pause + stop.service)
    assert first.pause + second.pause == 7 and second.arrival >= first.departure + 10 - 1e-6
    assert (second.pause, second.wait, second.departure) == (7, 0, 37)


def test_facts_are_in_the_units_that_were_given(day):
    """`corl info` of a model in minutes, at half a kilometre a minute, on the globe."""
    facts = VRP.describe(day)
    assert facts["windows"].endswith("the day is [480, 1080] min")
    assert facts["units"] == "distance in km, time in min, speed 0.5"
    assert facts["bounding_box"] == "latitude [40, 48.22], longitude [16.4, 16.41]"
    assert facts["vehicles"].startswith("1 of 'van' capacity 5")


def test_a_solution_is_taken_by_names(shop):
    """A plan is a warm start of the same model built in another order of machines and jobs."""
    from corl.warm_starts import warm_start

    model = SchedulingModel("tardiness")
    model.add_job("shelf", [("M2", 3), ("M3", 2)], due=9)
    model.add_job("table", [("M3", 3), ("M1", 2)], due=9)
    other = model.instance()
    start, machine = warm_start(JOBSHOP, other, JOBSHOP.to_json(shop, SCHEDULE))
    assert start.tolist() == [0, 6, 0, 3] and [other.machine_names[m] for m in machine] == ["M2", "M3", "M3", "M1"]


def test_a_day_without_clients():
    """It is an instance like any other, with nothing to do."""
    model = RoutingModel("quiet", time="min")
    model.add_depot("hub", lat=48.2, lon=16.4)
    model.add_vehicle("van", capacity=3)
    instance = model.instance()
    assert instance.clients == 0 and VRP.evaluate(instance, []) == 0 and VRP.infeasible(instance) == ""
