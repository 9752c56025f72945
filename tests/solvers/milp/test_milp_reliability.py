"""What every engine does when it is stopped, when a callback fails, with programs without an optimum, and over many solves."""

from __future__ import annotations

import _thread
import gc
import itertools
import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyscipopt
import pytest

import corl
from corl.cli.main import main
from corl.problems.milp.generators import auctions, multiple_knapsack
from corl.problems.milp.instance import from_triplets
from corl.problems.milp.problem import Milp

RULES = ["scip", "scip-relpscost", "scip-pscost", "scip-fullstrong"]
SOLVERS = [*RULES, "learned-branching", "highs", "cp-sat"]
HARD = {"items": 100, "knapsacks": 12, "correlation": "strong", "seed": 3}


def solve(instance, solver, **keywords):
    """corl.solve; learned branching with a shipped policy, whatever the program."""
    policy = {"policy": "milp-auctions"} if solver == "learned-branching" else {}
    return corl.solve(instance, solver=solver, **({"time_limit": 600} | policy | keywords))


@pytest.mark.parametrize("solver", ["scip-pscost", "learned-branching"])
def test_interruption_returns_the_incumbent(solver):
    """Ctrl-C ends SCIP in the middle; what it had found comes back."""
    sent = []

    def interrupt(news):
        if news.solution is not None and not sent:
            sent.append(threading.Timer(0.05, _thread.interrupt_main))
            sent[0].start()

    result = solve(multiple_knapsack(**HARD), solver, on_improvement=interrupt)
    assert result.limit in ("interrupted", "optimal") and result.objective is not None and result.verified


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_interruption_of_learned_branching_at_the_command_line(tmp_path):
    """Exit code 130, and the incumbent on standard output."""
    Milp().write(multiple_knapsack(**HARD), tmp_path / "k.mps")
    command = [sys.executable, "-P", "-m", "corl", "solve", "k.mps", "--solver", "learned-branching", "--json", "--progress"]
    command += ["--option", "policy=milp-auctions", "--time-limit", "600"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while "compil" in (first := child.stderr.readline()):  # then progress: there is an incumbent
        pass
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    out, rest = child.communicate(timeout=120)
    assert child.returncode == 130, first + rest
    found = json.loads(out)
    assert (found["limit"], found["solver"], found["verified"]) == ("interrupted", "learned-branching", True)


def test_an_interrupted_highs_is_gone():
    """HiGHS tells nothing before its end; its process ends with the run."""
    instance = auctions(items=60, bids=400, seed=2)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        assert solve(instance, "highs").limit in ("interrupted", "optimal")
    except KeyboardInterrupt:  # it came before the clock started
        pass
    finally:
        timer.cancel()


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_the_callback_raises_comes_through(solver):
    """An exception of on_improvement ends the engine and reaches the user as itself."""

    def callback(news):
        raise KeyError("mine")

    before = threading.active_count()
    with pytest.raises(KeyError, match="mine"):
        solve(multiple_knapsack(items=12, knapsacks=3), solver, on_improvement=callback)
    assert threading.active_count() <= before  # the engine's thread is gone


def test_an_exception_within_scip_reaches_the_user_as_itself(monkeypatch):
    """Of an event handler: not SCIP's `unspecified error`."""
    from corl.solvers.milp.scip import model as scip_model

    monkeypatch.setattr(scip_model._Improvements, "_keep", lambda self, kind: {}["lost"])
    with pytest.raises(corl.SolverError, match="KeyError: 'lost'") as error:
        solve(multiple_knapsack(items=20, knapsacks=2), "scip")
    assert isinstance(error.value.__cause__, KeyError)


def test_an_exception_in_the_branching_rule_reaches_the_user_as_itself(monkeypatch):
    """After some nodes; the solve ends, and the next one is well."""
    from corl.solvers.milp.branching import policy
    from corl.solvers.milp.scip.rule import compile_kernel

    branch, calls = policy.branch, itertools.count()

    def fails(pointer, scorer):
        return {}["lost"] if next(calls) == 3 else branch(pointer, scorer)

    monkeypatch.setattr(policy, "branch", fails)
    monkeypatch.setattr(policy, "compile_kernel", lambda kernel, *arguments: compile_kernel(branch, *arguments))
    instance = multiple_knapsack(items=30, knapsacks=4, seed=1)
    with pytest.raises(corl.SolverError, match="KeyError: 'lost'") as error:
        solve(instance, "learned-branching", policy="milp-independent-set")
    assert isinstance(error.value.__cause__, KeyError) and next(calls) == 4
    assert solve(instance, "learned-branching", policy="milp-independent-set", iterations=12).limit == "iterations"


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "cp-sat"])
@pytest.mark.parametrize("sense", ["min", "max"])
def test_unbounded_programs_are_said_to_be_so(solver, sense):
    """A ray that improves for ever, with integers in it."""
    sign = 1.0 if sense == "max" else -1.0
    instance = from_triplets("u", sense, [sign, sign], [0, 0], [0, 1], [1.0, -1.0], [-2.0], [2.0], integer=[True, False])
    result = solve(instance, solver)
    assert (result.status, result.limit, result.bound) == ("unbounded", "unbounded", None)
    assert result.verified or solver != "highs"


@pytest.mark.parametrize("solver", ["scip", "highs"])
def test_people_read_that_a_program_is_unbounded(tmp_path, capsys, solver):
    """A ray is no optimum: the command line has a line of its own for it, and exit code 4, whether a point was found or not."""
    (tmp_path / "u.lp").write_text("maximize\n x\nsubject to\n r: x >= 5\nend\n")
    assert main(["solve", str(tmp_path / "u.lp"), "--solver", solver]) == 4
    assert "\n  unbounded " in capsys.readouterr().out


def test_highs_that_nobody_waits_for_ends_in_silence(tmp_path):
    """Ctrl-C while it starts: no traceback of the child's."""
    from corl.processes.child import Child

    with open(tmp_path / "errors", "w+b") as errors:
        child = Child("corl.solvers.milp.highs", errors=errors)
        child.close()
        child.reap()
        assert child.exit_code in (0, 1) and not errors.read()


def test_highs_ends_with_the_process_that_asked_it():
    """A parent that is killed in the middle of a solve leaves nothing behind that goes on for a thousand seconds."""
    from corl.processes.child import Child

    child = Child("corl.solvers.milp.highs")
    assert child.receive() == "ready"
    child.send((multiple_knapsack(**HARD), 1000.0))
    time.sleep(0.5)
    child.close()  # what the end of the parent does
    child.reap()
    assert child.exit_code == 1


def test_rays_without_solutions_are_infeasible():
    """The relaxation is unbounded, and no integer is on its ray: 2 x - 2 y = 1."""
    instance = from_triplets("g", "max", [1.0, 0.0], [0, 0], [0, 1], [2.0, -2.0], [1.0], [1.0], integer=True)
    for solver in ("scip", "learned-branching", "highs"):
        assert solve(instance, solver).status == "infeasible"


def test_cp_sat_says_what_may_be_unbounded():
    """It takes no variable without limits: the one is named, and nothing is cut off in silence."""
    instance = from_triplets("u", "max", [1.0, 1.0], [0, 0], [0, 1], [1.0, -1.0], [-2.0], [2.0], upper=[4, np.inf], integer=True)
    with pytest.raises(corl.UsageError, match="variable x2 has no limits"):
        solve(instance, "cp-sat")


@pytest.mark.parametrize("solver", SOLVERS)
def test_infeasible_programs_are_said_to_be_so(solver):
    """By rows together, by a lower limit above an upper one, by an empty row, by bounds with no integer between."""
    base = {
        "name": "i", "sense": "max", "c": [1.0, 1.0], "rows": [0, 0], "columns": [0, 1], "values": [2.0, 2.0], "integer": True,
        "upper": 8.0,
    }  # fmt: skip
    for change, reason in (
        ({"row_lower": [3.0], "row_upper": [3.0], "upper": 5.0}, ""),
        ({"row_lower": [3.0], "row_upper": [2.0]}, "constraint c1 is to be at least 3 and at most 2"),
        ({"row_lower": [3.0, 1.0], "row_upper": [4.0, 2.0]}, "constraint c2 has no coefficients, and 0 is not from 1 to 2"),
        ({"row_lower": [-9.0], "row_upper": [9.0], "lower": [0.2, 0.0], "upper": [0.8, 1.0]}, "variable x1, 0.2 and 0.8"),
        ({"row_lower": [-9.0], "row_upper": [9.0], "lower": 2.0, "upper": 1.0}, "x1 has the lower limit 2 and the upper limit 1"),
    )[:: 1 if solver in ("scip", "learned-branching", "highs", "cp-sat") else 4]:
        result = solve(from_triplets(**(base | change)), solver)
        assert (result.status, result.limit) == ("infeasible", "infeasible"), change
        assert result.reason.endswith(reason) and bool(result.reason) is bool(reason)


@pytest.mark.parametrize("solver", ["scip", "learned-branching"])
def test_a_solve_leaves_no_model_behind(solver):
    """Not even until the garbage collector comes: a Model and its plugins are 8 MB."""
    instance = multiple_knapsack(items=30, knapsacks=4, seed=1)
    gc.collect()
    gc.disable()
    try:
        solve(instance, solver, iterations=5)
        assert not [kind for kind in map(type, gc.get_objects()) if issubclass(kind, (pyscipopt.Model, pyscipopt.Branchrule))]
    finally:
        gc.enable()


@pytest.mark.long
@pytest.mark.parametrize("solver", ["scip", "learned-branching", "cp-sat"])
def test_many_solves_keep_the_memory(solver):
    """200 solves in one process, learned branching's with at least five choices each: less than 100 MB after the first 20."""
    import resource  # not on Windows

    learned = solver == "learned-branching"
    instance = multiple_knapsack(items=30, knapsacks=4, seed=1) if learned else multiple_knapsack(items=12, knapsacks=3, seed=1)
    sizes = []
    for k in range(200):
        result = solve(instance, solver, **({"iterations": 12} if learned else {}))
        assert result.limit == ("iterations" if learned else "optimal")
        if k in (19, 199):
            gc.collect()
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    assert sizes[1] - sizes[0] < 100
