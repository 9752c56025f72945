"""The benchmark's store: nothing lost, nothing doubled, nobody else's file touched."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corl.errors import InputError, UsageError
from corl.record import Record
from corl.store import Store, key_of


def record(**changes) -> Record:
    """A run with something in every field."""
    values = {
        "suite": "s", "problem": "tsp", "instance": "a", "solver": "x", "seed": 0, "time_limit": 1.0, "iterations": None,
        "outcome": "ok", "reason": "", "objective": 10.5, "bound": 9.0, "sense": "min", "reference": 10.0,
        "reference_status": "proven", "reference_source": "somebody", "limit": "time_limit", "runtime": 1.01,
        "setup_seconds": 0.3, "wall_seconds": 2.0, "cpu_seconds": 1.9, "peak_bytes": 10**8,
        "trace": ((0.1, 11.0, None), (0.2, 10.5, 9.0)),
        "solution": [3, 1, 2], "solver_name": "ils", "options": {"kick": 3}, "facts": {"size": 3}, "cores": (0, 1),
        "started": "2026-01-01T00:00:00Z", "versions": {"corl": "0"}, "machine": {"processor": "p"}, "commit": "abc+",
    }  # fmt: skip
    return Record(**values | changes)


def test_every_field_comes_back(tmp_path):
    """A record read back equals the one stored, but for the solution, which is read on demand."""
    assert {field.name for field in dataclasses.fields(Record)} == set(dataclasses.asdict(record()))
    with Store(tmp_path / "s.db", create=True) as store:
        assert store.add(record())
    with Store(tmp_path / "s.db") as store:
        (found,) = store.records()
        assert found == record(solution=None) and store.solution(found) == [3, 1, 2]
        assert store.records("other") == [] and store.records("s") == [found]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(), st.integers(0, 2**62), st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.tuples(st.floats(0, 1e9), st.none() | st.floats(-1e300, 1e300), st.none() | st.integers(-(2**53), 2**53))),
)  # fmt: skip
def test_any_values_come_back(tmp_path_factory, text, seed, number, trace):
    """Texts, numbers and traces of any kind survive the round trip."""
    text = text.encode("utf-8", "replace").decode()
    one = record(instance=text, seed=seed, objective=number, trace=tuple(trace), facts={"note": text, "x": number}, solution=None)
    with Store(tmp_path_factory.mktemp("store") / "s.db", create=True) as store:
        store.add(one)
        assert store.records() == [one] and store.done_keys() == {key_of(one)}


def test_a_run_is_kept_once(tmp_path):
    """The same run again is refused, with either kind of limit; another seed, limit, solver, instance or suite is another run."""
    with Store(tmp_path / "s.db", create=True) as store:
        for first in (record(), record(time_limit=None, iterations=100)):
            assert store.add(first) and not store.add(dataclasses.replace(first, objective=1.0, outcome="crash"))
        others = ({"seed": 1}, {"time_limit": 2.0}, {"solver": "y"}, {"instance": "b"}, {"suite": "t"}, {"iterations": 100})
        assert all(store.add(record(**change)) for change in others)
        assert len(store.records()) == len(store.done_keys()) == 8 and len(store.done_keys("t")) == 1
        assert all(found.objective == 10.5 for found in store.records())


def test_suites_and_commands(tmp_path):
    """A suite's latest definition and all its commands are kept."""
    with Store(tmp_path / "s.db", create=True) as store:
        store.add_suite("s", {"problem": "tsp"}, "corl bench s")
        store.add_suite("s", {"problem": "vrp"}, "corl bench s --resume")
        store.add_suite("s", {"problem": "vrp"}, "corl bench s --resume")
        assert store.suites() == {"s": {"problem": "vrp"}}
        assert store.commands("s") == ["corl bench s", "corl bench s --resume"] and store.commands("t") == []


def test_training_curves(tmp_path):
    """Points come back by step; a repeated step is replaced; what is no number is unknown."""
    with Store(tmp_path / "s.db", create=True) as store:
        store.add_training("run", {"seed": 3, "layers": 6})
        for step, value in ((2, 0.5), (1, 0.9), (3, float("nan")), (2, 0.4)):
            store.add_curve("run", step, "loss", value)
        store.add_curve("run", 1, "gap", 0.1)
    with Store(tmp_path / "s.db") as store:
        assert store.curves() == {"run": {"loss": [(1, 0.9), (2, 0.4), (3, None)], "gap": [(1, 0.1)]}}
        assert store.trainings() == {"run": {"seed": 3, "layers": 6}}


def test_foreign_damaged_missing_and_newer_files(tmp_path):
    """Each is an InputError that names the file, and none is changed."""
    (tmp_path / "text.db").write_text("hello " * 1000)
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE runs (x)")
    with Store(tmp_path / "newer.db", create=True) as store:
        store._connection.execute("PRAGMA user_version = 99")
    with Store(tmp_path / "damaged.db", create=True) as store:
        for seed in range(300):
            store.add(record(seed=seed))
    damaged = bytearray((tmp_path / "damaged.db").read_bytes())
    damaged[4096:-4096] = b"\xa5" * (len(damaged) - 8192)
    (tmp_path / "damaged.db").write_bytes(damaged)
    for name, text in (("text", "no store"), ("foreign", "another program"), ("newer", "newer corl"), ("gone", "no such")):
        before = (tmp_path / f"{name}.db").read_bytes() if name != "gone" else b""
        with pytest.raises(InputError, match=text) as caught:
            Store(tmp_path / f"{name}.db")
        assert f"{name}.db" in str(caught.value)
        assert not (tmp_path / "gone.db").exists() and (name == "gone" or (tmp_path / f"{name}.db").read_bytes() == before)
    with pytest.raises(InputError, match="damaged"), Store(tmp_path / "damaged.db") as store:
        store.records()
    with pytest.raises(InputError, match="regular file"):
        Store(tmp_path)
    with pytest.raises(UsageError, match="cannot be used"):
        Store(tmp_path / "no" / "folder.db", create=True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_may_only_be_read(tmp_path):
    """A report can be made from a read-only file in a read-only folder."""
    with Store(tmp_path / "s.db", create=True) as store:
        store.add(record())
    (tmp_path / "s.db").chmod(0o444)
    tmp_path.chmod(0o555)
    with Store(tmp_path / "s.db") as store:
        assert len(store.records()) == 1
    tmp_path.chmod(0o755)


def test_processes_that_make_a_store_at_once(tmp_path):
    """Whoever comes first makes the tables; the others find a store, never another program's file or a locked one."""
    script = (
        "import sys, time\nfrom corl.store import Store\n"
        "print(flush=True)\nstart = float(sys.stdin.readline())\n"
        "for k in range(50):\n    while time.time() < start + k / 50: pass\n"
        "    with Store(f'{sys.argv[1]}/{k}.db', create=True) as store:\n        assert store.records() == []\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    children = [subprocess.Popen([sys.executable, "-c", script, tmp_path], **pipes) for _ in range(4)]
    for child in children:
        child.stdout.readline()
    start = time.time() + 0.1
    for child in children:
        child.stdin.write(f"{start}\n")
        child.stdin.flush()
    assert [child.communicate()[1] for child in children] == [""] * 4


def test_two_processes_write_at_once(tmp_path):
    """Writers wait for each other; nothing is lost."""
    script = (
        "import sys, dataclasses\nsys.path.insert(0, sys.argv[3])\nfrom test_store import record, Store\n"
        "with Store(sys.argv[1], create=True) as store:\n"
        "    for seed in range(50):\n        store.add(record(seed=seed, solver=sys.argv[2]))\n"
    )
    command = [sys.executable, "-c", script, tmp_path / "s.db"]
    children = [subprocess.Popen([*command, name, os.path.dirname(__file__)]) for name in "abc"]
    assert [child.wait(600) for child in children] == [0, 0, 0]
    with Store(tmp_path / "s.db") as store:
        assert len(store.records()) == 150


@pytest.mark.parametrize(
    "change",
    [
        "runs SET objective = 'x'", "runs SET solver = x'00'", "runs SET facts = '[1]'", "runs SET seed = 'x'",
        "runs SET time_limit = 'x'", "runs SET time_limit = 0", "runs SET bound = 9e999", "runs SET runtime = -1",
        "runs SET trace = x'000000000000f0ff'", "runs SET trace = x'000000000000f0bf0000000000000000000000000000f07f'",
        "runs SET options = '{'", "runs SET options = replace(hex(zeroblob(50000)), '00', '[')", "circumstances SET json = 'x'",
        "suites SET json = '3'", "suites SET json = '{\"a\": 1, \"a\": 2}'", "commands SET command = x'00'",
        "trainings SET json = '\"x\"'", "curves SET value = '{}'",
    ],
)  # fmt: skip
def test_values_of_another_kind_are_damage(tmp_path, change):
    """What a file of ours cannot hold is an InputError, not a TypeError of the report."""
    path = tmp_path / "s.db"
    with Store(path, create=True) as store:
        store.add(record())
        store.add_suite("s", {"problem": "tsp"}, "corl bench s.toml")
        store.add_training("t", {})
        store.add_curve("t", 1.0, "loss", 2.0)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE {change}")
    with Store(path) as store, pytest.raises(InputError, match=r"s\.db: (damaged|\w+: not JSON)"):
        store.records(), store.suites(), store.commands("s"), store.trainings(), store.curves()
