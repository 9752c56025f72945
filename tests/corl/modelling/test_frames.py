"""SchedulingModel from tables, and with dates: what is read, what plans say, and how errors name row and column."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from corl.errors import UsageError
from corl.modelling import SchedulingModel

LIMITS = {"solver": "cp-sat", "time_limit": 5}
MONDAY = datetime(2026, 11, 30, 8, 0)
ROWS = [
    {"Order": "table", "Operation": 1, "Work center": "saw", "Processing time": 3, "due": 9, "Priority": 2},
    {"Order": "table", "Operation": 2, "Work center": "glue", "Processing time": 2, "due": None},
    {"Order": "shelf", "Operation": 2, "Work center": "paint", "Processing time": 4, "due": 8},
    {"Order": "shelf", "Operation": 2, "Work center": "spray", "Processing time": 1, "due": 8},
    {"Order": "shelf", "Operation": 1, "Work center": "saw", "Processing time": 2, "due": 8},
]


def by_hand():
    """The model that the table means."""
    model = SchedulingModel("tardiness")
    model.add_job("table", [("saw", 3), ("glue", 2)], due=9, weight=2)
    model.add_job("shelf", [("saw", 2), {"paint": 4, "spray": 1}], due=8)
    return model


def same(one, other):
    """Whether two models have the same instance but for the numbers of the machines."""
    a, b = one.instance(), other.instance()
    names = [{k: each.machine_names[k] for k in range(each.machines)} for each in (a, b)]
    rows = [[[{of[m]: d for m, d in op} for op in job] for job in each.rows()] for each, of in zip((a, b), names)]
    dates = [[part if part is None else part.tolist() for part in (each.release, each.due, each.weight)] for each in (a, b)]
    return rows[0] == rows[1] and dates[0] == dates[1] and a.job_names == b.job_names


def columns_of(rows):
    """The rows as a dict of columns."""
    return {key: [row.get(key) for row in rows] for key in ROWS[0]}


@pytest.mark.parametrize("form", ["rows", "columns", "arrays", "pandas"])
def test_a_table_is_the_model_by_hand(form):
    """Guessed columns, operations by number, choices in rows of their own, empty cells; every form of table."""
    table = {"rows": ROWS, "columns": columns_of(ROWS)}.get(form)
    if form == "arrays":
        table = {key: np.array(column, object) for key, column in columns_of(ROWS).items()}
    if form == "pandas":  # integers of columns with empty cells are floats there
        table = pytest.importorskip("pandas", reason="a table of pandas").DataFrame(ROWS)
    assert same(SchedulingModel.from_frame(table, "tardiness"), by_hand())


def test_polars_tables_are_read_by_their_rows():
    """An object with `to_dicts`, as polars' DataFrame has it."""

    class Frame:
        def to_dicts(self):
            return ROWS

    assert same(SchedulingModel.from_frame(Frame(), "tardiness"), by_hand())


def test_machines_in_one_cell_and_columns_by_name():
    """A list of machines, with one duration or one for each; names separated by a bar; columns that cannot be guessed."""
    rows = [
        {"Auftrag": 1.0, "Maschine": ["saw", "mill"], "h": 3},
        {"Auftrag": 1.0, "Maschine": "paint | spray", "h": (4, 1)},
    ]
    model = SchedulingModel.from_frame(rows, columns={"job": "Auftrag", "machine": "Maschine", "duration": "h"})
    other = SchedulingModel()
    other.add_job(1, [{"saw": 3, "mill": 3}, {"paint": 4, "spray": 1}])
    assert same(model, other)


def test_the_word_order_is_a_job_or_a_position():
    """Beside a column of jobs, `order` is the position of the operation."""
    rows = [{"job": "a", "order": 2, "machine": "m", "duration": 1}, {"job": "a", "order": 1, "machine": "n", "duration": 2}]
    assert [each.machine for each in SchedulingModel.from_frame(rows).solve(**LIMITS).operations] == ["n", "m"]


DATED = [
    {
        "job": "a",
        "machine": "saw",
        "duration": timedelta(hours=1, minutes=20),
        "release": MONDAY,
        "due": datetime(2026, 11, 30, 12),
    },
    {"job": "a", "machine": "glue", "duration": "0:50", "release": None, "due": None},
    {"job": "b", "machine": "saw", "duration": 30, "release": "2026-11-30 08:10", "due": date(2026, 12, 1)},
]


def test_dates_become_dates_again():
    """Datetimes, ISO texts, timedeltas and clock texts; the plan has dates, and integers from the earliest release."""
    plan = SchedulingModel.from_frame(DATED, "tardiness").solve(**LIMITS)
    assert plan.objective == 0 and plan.clock.begin == MONDAY
    for each in plan.operations:
        assert each.starts_at == MONDAY + timedelta(minutes=each.start) and each.ends_at == MONDAY + timedelta(minutes=each.end)
    first = plan.job("a")[0]
    assert (first.start, first.end, plan.rows()[0]["end"]) == (0, 80, datetime(2026, 11, 30, 9, 20))
    assert "a 2026-11-30 08:00 to 2026-11-30 09:20" in str(plan)


def test_pandas_times_are_read():
    """Timestamps, Timedeltas and NaT, with a time zone as well."""
    pandas = pytest.importorskip("pandas", reason="times of pandas")
    frame = pandas.DataFrame({
        "job": ["a", "a", "b"], "machine": ["saw", "glue", "saw"],
        "duration": pandas.to_timedelta([80, 50, 30], unit="min"),
        "release": pandas.to_datetime(["2026-11-30 08:00", None, "2026-11-30 08:10"]).tz_localize("UTC"),
    })  # fmt: skip
    model = SchedulingModel.from_frame(frame, unit="s")
    assert model.instance().release.tolist() == [0, 600] and model.instance().choice_duration.tolist() == [4800, 3000, 1800]
    found = model.solve(**LIMITS).to_frame()
    assert found.columns.tolist() == ["job", "step", "machine", "start", "end"]
    assert found["start"].min() == datetime(2026, 11, 30, 8, tzinfo=UTC)


def test_numpy_times_are_read():
    """datetime64 and timedelta64 in any unit, as a dict of arrays holds them."""
    table = {
        "job": ["a", "b"], "machine": ["saw", "saw"], "duration": np.array([80, 30], "timedelta64[m]"),
        "release": np.array(["2026-11-30T08:00", "2026-11-30T08:10"], "datetime64[ns]"),
    }  # fmt: skip
    instance = SchedulingModel.from_frame(table).instance()
    assert (instance.release.tolist(), instance.choice_duration.tolist()) == ([0, 10], [80, 30])


def test_times_between_two_units():
    """Durations and releases are rounded up, due dates down; a release before the begin is the begin."""
    rows = [{"job": "a", "machine": "m", "duration": timedelta(minutes=61), "release": "2026-11-29", "due": "2026-11-30 11:59"},
            {"job": "b", "machine": "m", "duration": 1, "release": "2026-11-30 09:01", "due": "2026-11-30 11:00"}]  # fmt: skip
    instance = SchedulingModel.from_frame(rows, "tardiness", begin=MONDAY, unit="h").instance()
    assert instance.due is not None
    assert (instance.choice_duration.tolist(), instance.release.tolist(), instance.due.tolist()) == ([2, 1], [0, 2], [3, 3])


def test_dates_in_every_method():
    """Set-ups, calendars and rescheduling take dates as well as integers."""
    model = SchedulingModel("tardiness", begin="2026-11-30 08:00")
    model.add_job("a", [("saw", timedelta(hours=1)), ("glue", 30)], due="2026-11-30 10:00", earliest=[0, "2026-11-30 09:00"])
    model.add_job("b", [("saw", "1:00")], due="2026-11-30 12:00", release=datetime(2026, 11, 30, 8, 30))
    model.set_setup("saw", "a", "b", timedelta(minutes=10))
    model.set_unavailable("glue", "2026-11-30 08:00", "2026-11-30 09:15")
    plan = model.solve(**LIMITS)
    assert plan.objective == 0 and plan.job("a")[1].starts_at >= datetime(2026, 11, 30, 9, 15)
    later = model.rescheduled(plan, "2026-11-30 08:20", down={"saw": "2026-11-30 09:00"}).instance()
    assert later.rules is not None and later.rules.now == 20


GOOD = {"job": "a", "machine": "m", "duration": 1}
FAULTS = [
    ([], {}, "operations: the table has no rows"),
    (7, {}, "operations: 7 is not accepted; accepted: a pandas or polars DataFrame, a dict of columns, or a list of dicts"),
    ({"job": ["a"], "machine": ["m", "n"], "duration": [1]}, {}, "columns of different lengths: job 1, machine 2, duration 1"),
    ({"job": "a", "machine": ["m"]}, {}, "operations: column 'job': 'a' is not accepted; accepted: a list or an array"),
    ([{"job": "a", "duration": 1}], {}, "none of the columns ('job', 'duration') is the machine; accepted: a column 'machine'"),
    ([GOOD], {"columns": {"job": "jbo"}}, "columns: job: there is no column 'jbo' (did you mean 'job'?)"),
    ([GOOD], {"columns": {"jobs": "job"}}, "columns: 'jobs' is not known; accepted: 'job', 'operation'"),
    ([GOOD], {"columns": 3}, "columns: 3 is not accepted; accepted: a dict from fields"),
    ([GOOD, GOOD | {"duration": None}], {}, "row 1, column 'duration': empty; accepted: a duration in every row"),
    ([GOOD | {"duration": 1.5}], {}, "row 0, column 'duration': 1.5 is not accepted; accepted: an integer from 0"),
    ([GOOD | {"duration": timedelta(-1)}], {}, "row 0, column 'duration':"),
    ([GOOD | {"duration": "soon"}], {}, "row 0, column 'duration': 'soon' is not accepted; accepted: an integer, a timedelta"),
    ([GOOD | {"machine": ["m", "n"], "duration": [1]}], {}, "accepted: a duration for each of the 2 machines"),
    ([GOOD | {"machine": ["m", "m"]}], {}, "row 0, column 'machine': 'm' is there already"),
    ([GOOD | {"machine": ["m", None]}], {}, "row 0, column 'machine': None is not accepted"),
    ([GOOD | {"Release Date": "Monday"}], {}, "row 0, column 'Release Date': 'Monday' is not accepted; accepted: an integer"),
    ([GOOD | {"weight": -1}], {}, "row 0, column 'weight': -1 is not accepted"),
    ([GOOD | {"weight": 1}, GOOD | {"weight": 2}], {}, "row 1, column 'weight': '2' differs from row 0; accepted: the same"),
    ([GOOD | {"due": MONDAY}], {}, "begin: missing; accepted: the date of time 0, as the table has due dates"),
    ([GOOD | {"due": MONDAY}], {"begin": "2026-12-24"}, "row 0, column 'due': '2026-11-30 08:00:00' is not accepted"),
    ([GOOD | {"release": MONDAY}, GOOD | {"job": "b", "release": MONDAY.replace(tzinfo=UTC)}], {}, "dates with a time zone, or"),
    ([GOOD | {"release": MONDAY}], {"begin": "2026-11-30T08:00+00:00"}, "accepted: both with a time zone, or neither"),
    ([GOOD], {"begin": 3}, "begin: 3 is not accepted; accepted: a date"),
    ([GOOD], {"unit": "week"}, "unit: 'week' is not known"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "options", "message"), FAULTS, ids=[message[:40] for *_, message in FAULTS])
def test_faults_name_row_and_column(table, options, message):
    """One line with what is accepted."""
    with pytest.raises(UsageError) as error:
        SchedulingModel.from_frame(table, **options)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_date_needs_a_begin():
    """In a model of integers."""
    with pytest.raises(
        UsageError, match="job 'a': release: '2026-11-30 08:00:00' is a date; accepted: an integer, or a date in a"
    ):
        SchedulingModel().add_job("a", [("m", 1)], release=MONDAY)


def running():
    """A model of two jobs, and its plan."""
    model = SchedulingModel("tardiness")
    model.add_job("a", [("saw", 4), {"paint": 3, "spray": 4}], due=8, weight=2)
    model.add_job("b", [("saw", 4), ("glue", 2)], due=12)
    return model, model.solve(**LIMITS)


def test_rush_orders_come_first():
    """A new job is released now, due as soon as it can end, and weighs more than any other."""
    model, plan = running()
    later = model.rescheduled(plan, 1, rush={"rush": [("saw", 2), ("glue", 1)]}, priority=5)
    instance = later.instance()
    assert (instance.release[2], instance.due[2], instance.weight[2]) == (1, 4, 10)
    found = later.solve(**LIMITS)
    assert found.jobs == ("a", "b", "rush")
    assert [each.start for each in found.job("rush")] == [4, 6]  # after the operation that is under way, before the other job
    again = later.rescheduled(found, 5, rush={"second": [("saw", 1)]})
    assert again.instance().weight[3] == 100


def test_changes_have_a_price():
    """With a breakdown of the paint shop: without costs the job moves, with dear moves it waits; dear shifts keep the starts."""
    model, plan = running()
    assert plan.job("a")[1].machine == "paint"
    free = model.rescheduled(plan, 2, down={"paint": 7}).solve(**LIMITS)
    dear = model.rescheduled(plan, 2, down={"paint": 7}, machine_change=100).solve(**LIMITS)
    assert (free.job("a")[1].machine, dear.job("a")[1].machine, dear.job("a")[1].start) == ("spray", "paint", 7)
    assert dear.objective == 2 * 2
    kept = model.rescheduled(plan, 2, start_change=50).solve(**LIMITS)
    assert [each.start for each in kept.operations] == [each.start for each in plan.operations]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rush": [1]}, "rush: [1] is not accepted; accepted: a dict from jobs to their operations"),
        ({"rush": {"x": [("saw", -1)]}}, "rush: job 'x', operation 0: ('saw', -1) is not accepted"),
        ({"rush": {"a": [("saw", 1)]}}, "there is a job 'a' already"),
        ({"priority": 0}, "priority: 0 is not accepted; accepted: an integer from 1"),
        ({"machine_change": -1}, "machine_change: -1 is not accepted"),
        ({"start_change": 0.5}, "start_change: 0.5 is not accepted"),
    ],
)
def test_faults_of_rescheduling(options, message):
    """One line that names the argument."""
    model, plan = running()
    with pytest.raises(UsageError) as error:
        model.rescheduled(plan, 1, **options)
    assert message in str(error.value)


def test_the_makespan_has_no_rush_orders():
    """It knows no priorities."""
    model = SchedulingModel()
    model.add_job("a", [("saw", 1)])
    with pytest.raises(UsageError, match="rush: the makespan knows no priorities"):
        model.rescheduled(model.solve(**LIMITS), 0, rush={"b": [("saw", 1)]})
