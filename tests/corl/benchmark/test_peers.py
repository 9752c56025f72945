"""Peers: programs as solvers of a benchmark; whatever they do is a row, and a mark says what they were held against."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import corl
from corl.benchmark.peers.definition import Published, read_peers
from corl.benchmark.peers.verification import held
from corl.benchmark.running.suite import read_suite
from corl.cli.main import main
from corl.errors import InputError, SolverError, UsageError
from corl.store import Store

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs are killed by signals and process groups")

PROGRAM = """
import json, os, subprocess, sys, time
what, instance, solution, limit, seed = sys.argv[1:6]
n = next(int(line.split(":")[1]) for line in open(instance) if line.startswith("DIMENSION"))
tour = list(range(1, n + 1))
if what == "fails":
    print("the last words", file=sys.stderr)
    sys.exit(3)
if what == "refuses":
    print("too round", file=sys.stderr)
    sys.exit(77)
if what == "infeasible":
    tour = tour[:-1]
if what == "hangs":
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    open(os.environ["PID_FILE"], "w").write(str(child.pid))
    time.sleep(600)
if what == "babbles":
    open(solution, "w").write("no JSON")
elif what != "silent":
    json.dump(tour, open(solution, "w"))
if what == "speaks":
    assert "PYTHONPATH" not in os.environ and (limit, seed) == ("2", "7")
"""

SUITE = 'problem = "tsp"\ntime_limits = [1]\n[[instances]]\n{}\n[[solvers]]\nsolver = "nearest-neighbour"\n'


@pytest.fixture
def peers(tmp_path, monkeypatch):
    """Write a folder with a peer for each name; extra lines are added to each file. Returns the folder."""
    folder = tmp_path / "peers"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM)
    monkeypatch.setenv("A_PYTHON", sys.executable)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # with claims on processors of its own

    def write(*names, more=""):
        for name in names:
            command = ["$A_PYTHON", "{folder}/program.py", name, "{instance}", "{solution}", "{limit}", "{seed}"]
            lines = ['problem = "tsp"', f"command = {json.dumps(command)}", 'instance = ".tsp"', 'solution = ".json"', more]
            (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")
        return folder

    return write


def square(tmp_path):
    """Write a TSP of four cities whose order is the optimal tour, of length 40."""
    rows = ["NAME : square", "TYPE : TSP", "DIMENSION : 4", "EDGE_WEIGHT_TYPE : EUC_2D", "NODE_COORD_SECTION"]
    path = tmp_path / "square.tsp"
    path.write_text("\n".join([*rows, "1 0 0", "2 10 0", "3 10 10", "4 0 10", "EOF"]) + "\n")
    return path


def test_a_program_is_a_solver_from_python(peers, tmp_path):
    """It gets the limit and the seed, its solution is judged, its processor time is known, and PYTHONPATH is not passed on."""
    solver = read_peers(peers("speaks"))["speaks"].solver
    result = corl.solve(square(tmp_path), solver=solver, time_limit=2, seed=7)
    assert result.objective == 40 and result.solver == "speaks" and result.verified
    (ended,) = solver.ended
    assert ended.exit_code == 0 and ended.cpu_seconds > 0 and ended.wall_seconds <= result.runtime


def test_failures_name_the_peer_and_its_last_words(peers, tmp_path):
    """Exit codes, refusals, missing, malformed and infeasible solutions, each as one line."""
    expected = {
        "fails": (SolverError, "fails ended with exit code 3: the last words"),
        "refuses": (UsageError, "refuses refuses this instance: too round"),
        "silent": (SolverError, "silent wrote no solution"),
        "babbles": (SolverError, "the solution of babbles cannot be read: not JSON"),
        "infeasible": (SolverError, "infeasible solution"),
    }
    found = read_peers(peers(*expected))
    for name, (kind, message) in expected.items():
        with pytest.raises(kind, match=message):
            corl.solve(square(tmp_path), solver=found[name].solver, time_limit=2)


def test_a_late_program_is_killed_with_all_it_started(peers, tmp_path, monkeypatch):
    """Also a process that it put into a session of its own."""
    monkeypatch.setenv("PID_FILE", str(tmp_path / "pid"))
    solver, limit, started = read_peers(peers("hangs", more="grace = 0.5"))["hangs"].solver, 0.5, ""
    while not started:  # on a busy machine it may be killed before it has started a process
        with pytest.raises(SolverError, match="hangs did not end: killed after"):
            corl.solve(square(tmp_path), solver=solver, time_limit=limit)
        limit *= 2
        started = (tmp_path / "pid").read_text() if (tmp_path / "pid").exists() else ""
    while sys.platform == "linux" and Path(f"/proc/{started}").exists():
        time.sleep(0.01)


def test_peers_are_rows_of_a_benchmark(peers, tmp_path, monkeypatch, capsys):
    """Good and bad ones beside a solver of corl, with the mark that they were not held against published figures."""
    monkeypatch.chdir(tmp_path)
    folder, suite = peers("good", "fails", "refuses"), tmp_path / "s.toml"
    square(tmp_path)
    suite.write_text(SUITE.format('files = "square.tsp"'))
    assert main(["bench", str(suite), "--peers", str(folder), "--solvers", "good,fails,refuses,nearest-neighbour"]) == 0
    assert "note: good: not held against its published figure (its file has 0 of 3 figures)" in capsys.readouterr().err
    with Store(tmp_path / "s.db") as store:
        records = {record.solver: record for record in store.records()}
    outcomes = {name: record.outcome for name, record in records.items()}
    assert outcomes == {"good": "ok", "fails": "crash", "refuses": "refused", "nearest-neighbour": "ok"}
    good = records["good"]
    assert good.objective == 40 and good.options["name"] == "good" and good.facts["program_cpu_seconds"] > 0
    assert main(["report", "s.db"]) == 0
    report = capsys.readouterr().out
    assert "Warning: good: not held against its published figure" in report and "| good (not held) |" in report
    assert main(["report", "s.db", "--html", "s.html"]) == 0
    assert "<small>not held</small>" in (tmp_path / "s.html").read_text()
    capsys.readouterr()
    assert main(["compare", "s.db", "good", "nearest-neighbour"]) == 0
    assert "note: good: not held against its published figure" in capsys.readouterr().out


def test_a_peer_is_held_after_three_figures(peers, tmp_path, capsys):
    """The outcome is stored with date and machine; a figure that is not reached, or a change of the file, ends it."""
    square(tmp_path)
    figure = '[[published]]\nfile = "../square.tsp"\nobjective = {}\ntolerance_percent = 1\nseconds = 2\nsource = "a paper"\n'
    folder = peers("good", more=3 * figure.format(39.8))
    assert main(["bench", "--peers", str(folder), "--verify"]) == 0
    assert "good on square, 2 s: 40, published 39.8 (a paper), tolerance 1 %: reproduced" in capsys.readouterr().out
    assert held(read_peers(folder), folder) == {"good": ""}
    entry = json.loads((folder / "verified.json").read_text())["good"]
    assert entry["date"] and entry["machine"]["cores"] and [check["objective"] for check in entry["checks"]] == [40, 40, 40]
    folder = peers("good", more=2 * figure.format(39.8) + figure.format(39))
    assert "changed since" in held(read_peers(folder), folder)["good"]
    assert main(["bench", "--peers", str(folder), "--verify"]) == 4  # the verdict is no error
    assert "good: not held against its published figure (2 of 3 reproduced" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('command = ["x", "{nothing}", "{instance}"]', "command: {nothing} is not known; accepted: {instance}, {solution}"),
        ('command = ["x"]', "command: without {instance}"),
        ('command = ["x", "{instance:d}"]', "command: '{instance:d}': Unknown format code 'd'"),
        ('solution = ".xyz"', "solution: '.xyz' is not accepted; accepted: .json or .tour"),
        ('limit = "moon"', "accepted: wall, processor"),
        ('name = "ils"', "name: 'ils' is a solver of tsp in corl"),
        ("nothing = 1", "nothing: not a known key; accepted: problem, .*, published"),
        ('[[published]]\nfile = "x"\nobjective = 1\nseconds = 1', "tolerance_percent: missing"),
        ('[[published]]\nfile = "x"\ngap_percent = 1\nseconds = 1\ntolerance_percent = 1', "accepted: file, with objective"),
    ],
)
def test_errors_name_file_and_field(tmp_path, line, message):
    """Errors of a peer's file are one line that says what is accepted."""
    lines = ['problem = "tsp"', 'command = ["x", "{instance}"]', 'instance = ".tsp"', 'solution = ".json"']
    key = line.split(" ")[0]
    (tmp_path / "x.toml").write_text("\n".join([*(each for each in lines if not each.startswith(f"{key} ")), line]))
    with pytest.raises(InputError, match=message) as error:
        read_peers(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'x.toml'}: ")


def test_a_damaged_file_of_outcomes_is_named(peers):
    """In one line, as every file that cannot be read."""
    folder = peers("good")
    (folder / "verified.json").write_text("rubbish")
    with pytest.raises(InputError, match=r"verified\.json: not JSON"):
        held(read_peers(folder), folder)


def test_an_interrupted_program_leaves_nothing(peers, tmp_path, monkeypatch):
    """Neither a process in a session of its own nor a folder, after Ctrl-C and after a kill of the process that runs it."""
    monkeypatch.setenv("PID_FILE", str(tmp_path / "pid"))
    read_peers(peers("hangs"))
    script = "import sys, corl, tempfile; from corl.benchmark.peers.definition import read_peers; tempfile.tempdir = sys.argv[3];"
    script += "corl.solve(sys.argv[2], solver=read_peers(sys.argv[1])['hangs'].solver, time_limit=600)"
    for number in (signal.SIGINT, signal.SIGKILL):
        (folder := tmp_path / "temporary").mkdir()
        (tmp_path / "pid").unlink(missing_ok=True)
        command = [sys.executable, "-c", script, str(tmp_path / "peers"), str(square(tmp_path)), str(folder)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            time.sleep(0.02)
        os.kill(process.pid, number)
        process.wait()
        pid = int((tmp_path / "pid").read_text())
        while list(folder.iterdir()) or (sys.platform == "linux" and Path(f"/proc/{pid}").exists()):
            time.sleep(0.02)
        folder.rmdir()


def test_a_peer_without_its_program_is_skipped(peers, tmp_path, monkeypatch):
    """A variable that is not set, or a program that is not there, skips the peer with the reason; wanted, it is an error."""
    monkeypatch.chdir(tmp_path)
    folder, suite = peers("good"), tmp_path / "s.toml"
    monkeypatch.delenv("A_PYTHON")
    peer = read_peers(folder)["good"]
    assert peer.unavailable == "$A_PYTHON is not set"
    suite.write_text(SUITE.format('generate = "uniform"'))
    found = read_suite(suite).with_peers({"good": peer}, {"good": ""})
    assert [lineup.label for lineup in found.lineups] == ["nearest-neighbour"] and found.notices == (
        "good skipped: $A_PYTHON is not set",
    )
    assert main(["bench", str(suite), "--peers", str(folder), "--solvers", "good"]) == 2


def test_figures_of_maximised_objectives():
    """Worse means smaller there."""
    figure = Published("x", "", 100.0, 1.0, None, 1.0, "", "")
    assert figure.reproduced_by(101, "min") and not figure.reproduced_by(101.5, "min")
    assert figure.reproduced_by(99, "max") and not figure.reproduced_by(98.5, "max")


def test_a_program_that_uses_too_much_of_the_processor_is_killed(peers, tmp_path):
    """With a limit of the processor; how long this takes on the wall clock depends on the machine."""
    folder = peers("spins", more='limit = "processor"\ngrace = 0')
    (folder / "program.py").write_text("while True: pass\n")
    solver = read_peers(folder)["spins"].solver
    with pytest.raises(SolverError, match="spins did not end: killed after"):
        corl.solve(square(tmp_path), solver=solver, time_limit=1)
