"""What a user's run makes of a solver's false reports and failures: they are counted, and what is verified is kept."""

from __future__ import annotations

import json
import math

import pytest

from corl.adapter import Problem
from corl.errors import Infeasible, SolverError
from corl.run import Run


class Number(Problem):
    """A solution is a number, its objective itself; negative ones are infeasible."""

    name, instance_type = "number", object

    def evaluate(self, instance, solution):
        if solution < 0:
            raise Infeasible("negative")
        return float(solution)


class Largest(Number):
    sense = "max"


@pytest.fixture(autouse=True)
def as_users_run_it(monkeypatch):
    """Without the switch that makes every test strict."""
    monkeypatch.delenv("CORL_STRICT")


@pytest.mark.parametrize("false", [(-1,), (-1, -1), (math.nan,), (math.inf,), (3, 2.9), (3, math.nan)])
def test_a_false_solution_is_discarded(false):
    """Infeasible, not finite, or not worth what is claimed: the incumbent stays, and a later solution counts."""
    refusals = []
    run = Run(Number(), None, iterations=10, on_refusal=refusals.append)
    assert run.report(5) and not run.report(*false) and run.objective == 5
    assert run.report(4) and run.limit is None and run.status == "feasible"
    assert run.discarded == 1 and refusals == [run.refusal] and "the solver" in run.refusal
    assert [objective for _, objective, _ in run.trace] == [5, 4]


def test_a_false_bound_is_discarded():
    """One that the incumbent beats, or that is no number; the best one before stays."""
    run = Run(Number(), None, iterations=10)
    run.report(5)
    for bound in (3, 5.1, math.nan, math.inf):
        run.report_bound(bound)
    assert run.bound == 3 and run.discarded == 3 and run.limit is None and "contradicted" in run.refusal


@pytest.mark.parametrize(("problem", "bound", "worse", "better"), [(Number(), 4, 6, 3), (Largest(), 6, 4, 7)])
def test_a_solution_that_beats_the_bound_counts(problem, bound, worse, better):
    """It is verified and the bound is not: bounds so far are gone, from the trace too."""
    run = Run(problem, None, iterations=10)
    run.report_bound(bound)
    run.report(worse)
    assert run.report(better) and run.objective == better and run.bound is None and run.status == "feasible"
    assert [row[1:] for row in run.trace] == [(worse, None), (better, None)] and run.discarded == 1


@pytest.mark.parametrize(("problem", "false", "better"), [(Number(), 6, 3), (Largest(), 4, 7)])
def test_a_false_proof_of_optimality_does_not_end_a_run(problem, false, better):
    """A better solution refutes the bound that had ended the run, and the search continues."""
    run = Run(problem, None, iterations=10)
    run.report(false)
    run.report_bound(false)
    assert run.limit == "optimal" and run.budget() == 0
    assert run.report(better) and run.status == "feasible" and run.limit is None and run.budget() == 1


@pytest.mark.parametrize("reason", ["interrupted", "iterations"])
def test_a_refuted_proof_keeps_what_else_ended_the_run(reason):
    """Ctrl-C, or a limit, before a false proof stays."""
    run = Run(Number(), None, iterations=10)
    run.stop(reason)
    run.report_infeasible("false")
    assert run.report(5) and run.limit == reason and not run.infeasible


def test_a_solution_refutes_a_proof():
    """After a claim that there is none a solution counts and the search continues; before one the claim does not."""
    run = Run(Number(), None, iterations=10)
    run.report_infeasible("so it seems")
    assert run.report(5) and run.status == "feasible" and run.reason == "" and run.limit is None
    run.report_infeasible()
    assert run.status == "feasible" and run.limit is None and run.discarded == 2
    run = Run(Number(), None, iterations=10)
    run.report_bound(1)
    run.report_unbounded()
    assert run.status == "no_solution" and run.limit is None and run.discarded == 1


def test_a_part_of_a_run_counts_for_the_whole():
    """What is discarded in a thread of the solver's own is counted where the user sees it."""
    run = Run(Number(), None, iterations=10)
    run.sub_run().report(-1)
    assert run.discarded == 1 and "negative" in run.refusal


def test_a_failure_keeps_what_was_found():
    """Not so where nothing was, or the caller's warm start alone."""
    run = Run(Number(), None, iterations=10, warm_start=8)
    run.start()
    with pytest.raises(SolverError, match="boom"):
        run.fail(SolverError("boom"))
    run.report(5)
    run.fail(SolverError("boom"))
    assert (run.objective, run.limit, run.refusal) == (5, "failed", "boom")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("mode", "words"), [("lie later", "claimed 0.2"), ("crash later", "ValueError: boom")])
def test_one_warning_and_a_result(toy_command, mode, words, workers):
    """Exit code 0, the verified solution, one line on stderr, and the count in JSON; with workers as without."""
    done = toy_command(mode, "--iterations", 50, "--workers", workers, "--json")
    values = json.loads(done.stdout)
    assert done.returncode == 0 and values["objective"] == 1 and values["discarded"] >= 1 and words in values["reason"]
    assert words in done.stderr and done.stderr.count("corl: warning: ") == 1 and values["verified"]
    assert values["limit"] == ("iterations" if mode == "lie later" else "failed" if workers == 1 else values["limit"])


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("mode", "words"), [("lie", "claimed 0.5"), ("infeasible", "an empty array"), ("crash", "boom")])
def test_nothing_but_faults_is_an_error(toy_command, mode, words, workers):
    """One line, exit code 1."""
    done = toy_command(mode, "--iterations", 50, "--workers", workers)
    assert done.returncode == 1 and words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_the_text_says_it(toy_command):
    """People read how many reports were false, and what the first was."""
    assert "discarded  2, first: the solver claimed 0.2" in toy_command("lie later", "--iterations", 50).stdout
