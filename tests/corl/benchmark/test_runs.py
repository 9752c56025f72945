"""Runs in processes of their own: whatever a solver does is a row with its reason, and never the end of the benchmark."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time

import pytest

from corl.benchmark.running.cores import available, claimed
from corl.benchmark.running.machine import git_commit, machine_facts
from corl.cli.main import main
from corl.store import Store

posix = pytest.mark.skipif(os.name != "posix", reason="signals and pinning are POSIX's")


def rows(path):
    with Store(path) as store:
        return {(record.solver, record.instance, record.seed): record for record in store.records()}


def test_a_good_run_is_recorded_in_full(bench, suite, toy_folder, tmp_path):
    """Every field of the record says what was asked, what came of it, and under what circumstances."""
    os.symlink(toy_folder, tmp_path / "data")
    path = suite(
        'solver = "good"\nlabel = "low"\noptions = { start = 2 }',
        instances='files = "data/z3.txt"\nreference = { file = "data/reference.csv" }',
    )
    done = bench(path, "--export")
    assert done.returncode == 0 and "1 ok" in done.stdout and "corl report" in done.stdout, done.stderr
    (record,) = rows(tmp_path / "s.db").values()
    assert (record.suite, record.problem, record.instance, record.solver, record.seed) == ("toy-s", "toy", "z3", "low", 0)
    assert record.outcome == "ok" and record.reason == "" and record.limit == "time_limit" and record.time_limit == 0.2
    assert record.objective == pytest.approx(record.trace[-1][1]) and len(record.trace) > 0
    assert (record.reference, record.reference_status, record.reference_source) == (0.0, "proven", "arithmetic")
    assert 0.2 <= record.runtime < record.wall_seconds and record.setup_seconds >= 0 and record.peak_bytes > 10**6
    assert record.solver_name == "good" and record.options == {"start": 2} and record.facts["size"] == 3
    assert record.facts["group"] == "files" and record.facts["parity"] == "odd" and "text" not in record.facts
    assert {"corl", "python", "numpy"} <= set(record.versions) and record.machine.items() >= machine_facts().items()
    assert record.commit == git_commit() and record.started.endswith("Z")
    if os.name == "posix":
        assert record.cpu_seconds > 0 and len(record.cores) == 1
    with Store(tmp_path / "s.db") as store:
        assert len(store.solution(record)) == 3
        assert store.suites()["toy-s"]["solvers"] == {"low": {"solver": "good", "options": {"start": 2}, "cores": 1}}
        assert store.commands("toy-s") == [f"corl bench {path} --export"]
    text = (tmp_path / "results" / "s.csv").read_text()
    comments = [line for line in text.splitlines() if line.startswith("# ")]
    assert any(line.startswith("# command: corl bench") for line in comments) and any("# machine: " in line for line in comments)
    (row,) = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    assert (row["solver"], row["runs"], row["solved"], row["failed"]) == ("low", "1", "1", "0") and float(
        row["mean_gap_percent"]
    ) >= 0


@posix
def test_everything_that_goes_wrong_is_a_row(bench, suite, tmp_path, monkeypatch):
    """Exceptions, signals, exits, hangs, lies, infeasible and missing solutions, refusals, noise: the good run is there too."""
    monkeypatch.delenv("CORL_STRICT")  # a benchmark is strict by itself
    solvers = ["raises", "segfaults", "killed", "exits", "lies", "infeasible", "errs", "empty", "refuses", "talks", "good"]
    done = bench(suite(*solvers))
    assert done.returncode == 0, done.stderr
    found = rows(tmp_path / "s.db")
    assert len(found) == len(solvers)
    expected = {
        "raises": ("crash", "ZeroDivisionError: on purpose"), "segfaults": ("crash", "SIGSEGV"), "killed": ("crash", "SIGKILL"),
        "exits": ("crash", "exit code 7: the last words"),
        "lies": ("wrong", "claimed -1.0 for a solution with objective value 5.0"),
        "infeasible": ("wrong", "a solution has 5 numbers"), "errs": ("wrong", "a solution has 5 numbers"),
        "empty": ("nothing", "finished"), "refuses": ("refused", "it never does"), "talks": ("ok", ""), "good": ("ok", ""),
    }  # fmt: skip
    for (solver, _, _), record in found.items():
        outcome, reason = expected[solver]
        assert record.outcome == outcome and reason in record.reason and "\n" not in record.reason, record
        assert (record.objective is not None) == (outcome == "ok") and record.wall_seconds > 0
    assert found["segfaults", "line-0", 0].versions == {} and found["good", "line-0", 0].seed == 0


@posix
def test_a_hang_is_killed(bench, suite, tmp_path):
    """A solver that ignores its limit is ended after twice the limit and the allowance for set-up."""
    done = bench(suite("hangs", head="time_limits = [0.3]\nsetup_allowance = 1"))
    (record,) = rows(tmp_path / "s.db").values()
    assert done.returncode == 0 and record.outcome == "timeout" and record.reason == "killed after 1.6 s"
    assert record.wall_seconds >= 1.6


def test_a_beaten_reference_is_said(bench, suite, toy_folder, tmp_path):
    """A verified solution better than the best known value is news."""
    os.symlink(toy_folder, tmp_path / "data")
    done = bench(suite("good", instances='files = "data/z2.txt"\nreference = { file = "data/reference.csv" }'))
    assert "beats the best known 1 of z2" in done.stderr


@pytest.mark.long
@posix
@pytest.mark.skipif(len(available()) < 2, reason="needs two processors")
def test_as_many_cores_as_given(bench, suite, tmp_path):
    """A run of two cores is pinned to two and has them as workers and threads; runs side by side have disjoint ones."""
    path = suite("cores", 'solver = "cores"\nlabel = "both"\ncores = 2')
    assert bench(path).returncode == 0
    found = rows(tmp_path / "s.db")
    assert found["cores", "line-0", 0].objective == found["both", "line-0", 0].objective == 5.0
    assert len(found["both", "line-0", 0].cores) == 2 and len(found["cores", "line-0", 0].cores) == 1
    path = suite('solver = "slow"\noptions = { seconds = 0.5 }', name="pair", head="time_limits = [0.1]\nseeds = 2")
    assert bench(path, "--jobs", 2).returncode == 0
    first, second = rows(tmp_path / "pair.db").values()
    assert not set(first.cores) & set(second.cores)
    assert 0 <= first.machine["parallel_slowdown"] + 0.5 < 1.5


@posix
def test_claims_are_disjoint_among_processes():
    """While one process holds a processor, another cannot claim it; it can when the first is killed."""
    script = (
        "import time\nfrom corl.benchmark.running.cores import claimed\n"
        "with claimed({}) as cores:\n    print(cores, flush=True)\n    time.sleep(60)"
    )
    with claimed(1) as mine:
        rest = len(available()) - 1
        child = subprocess.Popen([sys.executable, "-c", script.format(rest or 1)], stdout=subprocess.PIPE, text=True)
        if rest:
            assert not set(mine) & set(eval(child.stdout.readline()))
    if not rest:
        assert eval(child.stdout.readline()) == mine
    child.kill()
    child.communicate()
    with claimed(len(available())) as all_of_them:
        assert list(all_of_them) == available()


def test_resuming(bench, suite, tmp_path):
    """A store with runs of the suite is refused without --resume; with it only what is missing is run, even more seeds."""
    path = suite("good", "slow")
    assert bench(path).returncode == 0
    before = rows(tmp_path / "s.db")
    refused = bench(path)
    assert refused.returncode == 2 and "--resume" in refused.stderr
    again = bench(path, "--resume")
    assert again.returncode == 0 and "0 runs" in again.stdout and rows(tmp_path / "s.db") == before
    more = bench(path, "--resume", "--seeds", 2, "--solvers", "good")
    assert more.stdout.startswith("1 run: 1 ok\n") and len(rows(tmp_path / "s.db")) == 3
    with Store(tmp_path / "s.db") as store:
        assert set(store.suites()["toy-s"]["solvers"]) == {"good", "slow"} and len(store.commands("toy-s")) == 3


@pytest.mark.long
def test_resuming_what_has_changed(bench, suite, tmp_path):
    """Runs of other options or instances are not mixed under one label."""
    assert bench(suite("good")).returncode == 0
    for changed in (
        suite('solver = "good"\noptions = { start = 3 }'),
        suite("good", instances='generate = "line"\nparameters = { size = 5 }'),
    ):
        done = bench(changed, "--resume")
        if "start" in changed.read_text():
            assert done.returncode == 2 and "start" in done.stderr and "label" in done.stderr
        else:  # another label: other runs
            assert done.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--seeds", "0"), ("--jobs", "0"), ("--jobs", "9999"), ("--time-limits", "0"), ("--time-limits", "a"),
        ("--solvers", "nope"), ("--address", "a:1"), ("--store", "no/folder/x.db"),
        ("--solvers", ","), ("--export", "."),
        ("--sample", "0"), ("--sample", "9"), ("--budget", "soon"), ("--budget", "1s"),
    ],
)  # fmt: skip
def test_usage_errors(toy, suite, arguments, capsys, monkeypatch, tmp_path):
    """A bad argument is one line on stderr and exit code 2, before anything runs."""
    monkeypatch.chdir(tmp_path)
    code = main(["bench", str(suite("good")), *arguments])
    out, err = capsys.readouterr()
    assert code == 2 and err.count("\n") == 1 and out == "", err


def test_more_processors_than_there_are(bench, suite, tmp_path):
    """A line-up that could never start is refused before the runs of the others."""
    done = bench(suite("good", 'solver = "cores"\ncores = 999'))
    assert done.returncode == 2 and "asks for 999 processors" in done.stderr and done.stderr.count("\n") == 1
    assert rows(tmp_path / "s.db") == {}


def test_a_foreign_store_is_left_alone(bench, suite, tmp_path):
    """A file that is no store is bad input, and stays as it was."""
    (tmp_path / "x.db").write_text("precious")
    done = bench(suite("good"), "--store", "x.db")
    assert done.returncode == 3 and (tmp_path / "x.db").read_text() == "precious"


@posix
@pytest.mark.parametrize(
    "number", [signal.SIGINT, *(pytest.param(how, marks=pytest.mark.long) for how in (signal.SIGTERM, signal.SIGKILL))]
)
def test_interrupted(suite, toy_environment, tmp_path, number):
    """Ctrl-C and SIGTERM end with 130 and keep what had finished; even kill -9 leaves no process of a run behind."""
    file = tmp_path / "pid"
    path = suite("good", "slow", f'solver = "hangs"\noptions = {{ file = "{file}" }}', head="time_limits = [0.3]")
    command = [sys.executable, "-P", "-m", "corl", "bench", str(path)]
    child = subprocess.Popen(command, cwd=tmp_path, env=toy_environment, stderr=subprocess.PIPE, text=True)
    until(lambda: file.exists() and file.read_text().endswith("\n"))
    child.send_signal(number)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == (-9 if number == signal.SIGKILL else 130), errors
    assert number == signal.SIGKILL or "2 runs stored" in errors
    assert {key[0] for key in rows(tmp_path / "s.db")} == {"good", "slow"}
    until(lambda: not alive(int(file.read_text())))


def until(fulfilled) -> None:
    """Wait up to a minute."""
    deadline = time.monotonic() + 60
    while not fulfilled():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not os.path.isdir("/proc/self")  # without /proc, os.kill has found it
    except ProcessLookupError:
        return False


@pytest.mark.long
def test_a_budget_is_continued_to_the_whole_set_and_a_site(bench, suite, tmp_path, toy_environment):
    """A sample, then what a budget allows of the rest, then all: every run once, with its load; then the site has them."""
    sizes = "\nparameters = { size = [2, 3, 4, 5, 6, 7] }"
    path = suite("good", "slow", instances=f'generate = "line"{sizes}')
    assert "2 ok" in (first := bench(path, "--sample", 1)).stdout and "2 runs to do, about 6 s" in first.stderr
    before = set(rows(tmp_path / "s.db"))
    partial = bench(path, "--budget", "3h", "--resume")
    assert "within 3h: 10 of 10 runs" in partial.stderr and "10/10, about 0 s left" in partial.stderr
    found = rows(tmp_path / "s.db")
    assert len(found) == 12 and before < set(found) and bench(path, "--resume").stdout.startswith("0 runs")
    if os.name == "posix":
        assert all(record.facts["load_begin"] >= 0 and record.facts["load_end"] >= 0 for record in found.values())
    command = [sys.executable, "-P", "-m", "corl", "report", "s.db"]
    done = subprocess.run([*command, "--site", "site"], cwd=tmp_path, env=toy_environment, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "site/index.html\n", done.stderr
    names = {file.name for file in (tmp_path / "site").iterdir()}
    assert names == {"index.html", "toy.html", "suite-toy-s.html", "suite-toy-s.csv"}
    printed = subprocess.run([*command, "--csv"], cwd=tmp_path, env=toy_environment, capture_output=True, text=True).stdout
    assert printed == (tmp_path / "site" / "suite-toy-s.csv").read_text() and printed.count("\n") == 13


@pytest.mark.long
def test_kernels_are_warmed_up_once(bench, suite, tmp_path, toy_environment, monkeypatch):
    """A short run per solver and kind of instance comes before the first benchmark, and not again."""
    monkeypatch.setitem(toy_environment, "CORL_CACHE", str(tmp_path / "cache"))
    path = suite("good", "slow", instances='generate = "line"\nparameters = { size = [4, 5, 6] }')
    first, again = bench(path, "--store", "a.db"), bench(path, "--store", "b.db")
    assert "compiling: 4 short runs" in first.stderr and "compiling" not in again.stderr
    assert len(rows(tmp_path / "a.db")) == len(rows(tmp_path / "b.db")) == 6
