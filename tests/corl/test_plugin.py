"""README's 30-line problem, exactly as printed there, used in every way that a built-in one is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import corl
from corl.cli.main import main
from corl.errors import InputError, UsageError
from corl.registry import problem, problems, solver, solvers


def test_it_is_thirty_lines(readme_block):
    """The example keeps the promise of its heading: 30 lines of code, blank ones not counted."""
    lines = [line for line in readme_block("python", "class Partition").splitlines() if line.strip()]
    assert len(lines) <= 30


def test_solve_in_process(plugin):
    """A registered problem is recognised from the content, solved by its only solver, and verified."""
    assert "partition" in problems() and solvers("partition") == ["flip"]
    result = corl.solve(plugin / "numbers.txt", iterations=200, seed=1)
    assert result.problem == "partition" and result.verified and result.limit == "iterations"
    again = corl.solve(plugin / "numbers.txt", iterations=200, seed=1)
    assert (again.solution == result.solution).all() and again.objective == result.objective


def test_an_instance_object_is_enough(plugin):
    """An Instance names its own problem."""
    instance = problem("partition").read(plugin / "numbers.txt")
    assert corl.solve(instance, iterations=5).problem == "partition"


def test_command_line(corl_command, plugin_folder, tmp_path):
    """`corl solve --json` prints one result, and `corl check` confirms it."""
    done = corl_command("solve", "numbers.txt", "--iterations", 50, "--json", "--output", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)
    assert values["verified"] and values["objective"] == json.loads((tmp_path / "out.json").read_text())["objective"]
    checked = corl_command("check", "numbers.txt", tmp_path / "out.json")
    assert checked.returncode == 0 and f"objective {values['objective']}" in checked.stdout


def test_check_refuses_wrong_claims_and_infeasible_solutions(corl_command, tmp_path):
    """A false objective and a broken constraint both end in exit code 4."""
    corl_command("solve", "numbers.txt", "--iterations", 50, "--output", tmp_path / "out.json")
    values = json.loads((tmp_path / "out.json").read_text())
    (tmp_path / "lie.json").write_text(json.dumps(values | {"objective": values["objective"] - 1}))
    (tmp_path / "bad.json").write_text(json.dumps(values["solution"][:-1]))
    assert corl_command("check", "numbers.txt", tmp_path / "lie.json").returncode == 4
    bad = corl_command("check", "numbers.txt", tmp_path / "bad.json")
    assert bad.returncode == 4 and "every number" in bad.stdout


def test_workers_share_nothing_and_the_best_counts(plugin):
    """Two workers with iterations: the same bits each time, and never worse than the first alone."""
    alone = corl.solve(plugin / "numbers.txt", iterations=100, seed=5)
    both = [corl.solve(plugin / "numbers.txt", iterations=100, seed=5, workers=2) for _ in range(2)]
    assert both[0].objective == both[1].objective <= alone.objective
    assert (both[0].solution == both[1].solution).all() and both[0].verified


def test_a_failing_worker_is_one_clear_error(plugin, tmp_path):
    """What a worker raises is raised as its own error, not as a hang."""
    from corl.processes.team import Team
    from corl.run import Run
    from corl.solvers.generic.policy import Policy

    instance = problem("partition").read(plugin / "numbers.txt")
    with Team(Run(problem("partition"), instance, iterations=5, workers=2), Policy("nonsense"), 2) as team:
        with pytest.raises(UsageError, match="neither a checkpoint file nor a shipped policy"):
            team.prepare()


def test_workers_from_an_unguarded_script_and_from_standard_input(plugin_folder, plugin_environment):
    """No `if __name__ == "__main__"` is needed, and standard input works too."""
    script = "import corl\nprint(corl.solve('numbers.txt', iterations=20, workers=2).status)\n"
    (plugin_folder / "unguarded.py").write_text(script)
    for command, given in (([sys.executable, "unguarded.py"], None), ([sys.executable, "-"], script)):
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, cwd=plugin_folder, env=plugin_environment, timeout=120
        )
        assert done.stdout == "feasible\n", done.stderr


def test_unknown_names_list_the_valid_ones(plugin):
    """A mistyped problem or solver is answered by the names there are."""
    with pytest.raises(UsageError, match=r"did you mean 'partition'.*partition, tsp"):
        problem("partitoin")
    with pytest.raises(UsageError, match="there are: flip"):
        solver("partition", "eax")


def test_unrecognised_files(corl_command, tmp_path):
    """A file of no known kind, an empty one and a missing one are bad input: one line, exit code 3."""
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "b.txt").write_text("")
    for name in ("a.txt", "b.txt", "c.txt"):
        done = corl_command("solve", tmp_path / name)
        assert done.returncode == 3 and done.stderr.count("\n") == 1 and name in done.stderr, done.stderr
    with pytest.raises(InputError):
        corl.solve(tmp_path / "c.txt")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--solver", "nope"), ("--option", "x=1"), ("--option", "x"), ("--time-limit", "-1"), ("--time-limit", "nan"),
        ("--iterations", "0"), ("--workers", "0"), ("--seed", "-1"), ("--problem", "nope"), ("--output", "no/folder/x.json"),
        ("--output", "x.tour"), ("--plot", "no/folder/x.png"),
    ],
)  # fmt: skip
def test_usage_errors(plugin, arguments, capsys, monkeypatch):
    """A bad argument is one line on stderr and exit code 2."""
    monkeypatch.chdir(plugin)
    code = main(["solve", "numbers.txt", *arguments])
    out, err = capsys.readouterr()
    assert code == 2 and err.count("\n") == 1 and out == "", err


def test_several_files(corl_command, tmp_path):
    """Several files are solved one after another; a bad one among them does not stop the others, and shows in the exit code."""
    (tmp_path / "others.txt").write_text("PARTITION\n3\n4\n5\n")
    files = ("numbers.txt", "missing.txt", tmp_path / "others.txt")
    done = corl_command("solve", *files, "--iterations", 5, "--json", "--output", tmp_path)
    assert done.returncode == 3 and len(done.stdout.splitlines()) == 2 and (tmp_path / "others.json").exists()
