"""Option files: written, read by `corl solve`, `corl bench` and `corl.solve`, and refused in one line."""

from __future__ import annotations

import pytest

import corl
from corl.cli.main import main
from corl.errors import InputError, UsageError
from corl.files.option_files import OptionFile, read_options, write_options
from corl.store import Store

GOOD = 'problem = "toy"\nsolver = "tunable"\n[options]\npower = 4\n'


@pytest.fixture
def mine(toy, tmp_path):
    """Write an option file; returns its path."""

    def write(text=GOOD):
        (tmp_path / "mine.toml").write_text(text)
        return tmp_path / "mine.toml"

    return write


def test_what_is_written_is_read(toy, tmp_path):
    """Numbers, texts, with any provenance."""
    content = OptionFile("toy", "tunable", {"power": 1e-2, "colour": "green", "steps": 12})
    write_options(tmp_path / "x.toml", content, {"command": 'corl "x" \\ é', "n": 3, "instances": {"a b.txt": "00ff"}})
    assert read_options(tmp_path / "x.toml") == content


def test_solve_reads_it(mine, toy, capsys):
    """The solver is the file's, the options are, and an option given beside it replaces the file's."""
    result = corl.solve(toy / "z3.txt", iterations=1, options=mine())
    assert (result.solver, result.options["power"]) == ("tunable", 4.0)
    assert corl.solve(toy / "z3.txt", iterations=1, options=str(mine()), power=2).options["power"] == 2.0
    assert main(["solve", str(toy / "z3.txt"), "--iterations", "1", "--options", str(mine()), "--json"]) == 0
    assert '"power": 4' in capsys.readouterr().out
    with pytest.raises(UsageError, match="a Solver has its options already"):
        corl.solve(toy / "z3.txt", iterations=1, options=mine(), solver=corl.registry.solver("toy", "tunable")())


def test_a_suite_reads_it(mine, inline, suite, tmp_path, monkeypatch, capsys):
    """As the options of a solver, whose label is the file's name, and as a further solver of any suite."""
    monkeypatch.chdir(tmp_path)
    mine()
    path = suite('options = "mine.toml"', head="iterations = [1]", name="a")
    assert main(["bench", str(path)]) == 0
    assert main(["bench", str(suite("good", head="iterations = [1]", name="b")), "--options", "mine.toml"]) == 0
    with Store("a.db") as one, Store("b.db") as two:
        assert [(r.solver, r.solver_name, r.options["power"]) for r in one.records()] == [("mine", "tunable", 4.0)]
        assert [(r.solver, r.solver_name) for r in two.records()] == [("good", "good"), ("mine", "tunable")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("power = 4", "powr = 4"), "options.powr: tunable: no option 'powr' (did you mean 'power'?)"),
        (GOOD.replace("4", "1000"), "options.power: tunable: option power is 1000.0; accepted: a number from 0.01 to 100"),
        (GOOD.replace("4", '"x"'), "mine.toml: options.power: tunable: option power is 'x'; accepted: a number"),
        (GOOD.replace("toy", "tou"), "mine.toml: problem: 'tou' is not known; accepted: "),
        (GOOD.replace("tunable", "tuneable"), "mine.toml: solver: 'tuneable' is not known; accepted: "),
        (GOOD.replace('solver = "tunable"', ""), "mine.toml: solver: missing; accepted: "),
        (GOOD.replace("toy", "tsp").replace("tunable", "eax").replace("power = 4", ""), "problem: 'tsp' is not the problem of"),
        (GOOD.replace("[options]", "[option]"), "mine.toml: option: not a known key; accepted: problem, solver, options"),
        ("power = x\n", "mine.toml:1: not TOML"),
    ],
)  # fmt: skip
def test_bad_files(mine, toy, capsys, text, words):
    """One line that names file, field and what is accepted, with exit code 3."""
    path = mine(text)
    assert main(["solve", str(toy / "z3.txt"), "--iterations", "1", "--options", str(path)]) == 3
    shown = capsys.readouterr().err
    assert words in shown and shown.count("\n") == 1


def test_another_solver(mine, toy):
    """A solver that is named beside the file must be the file's."""
    with pytest.raises(InputError, match="solver: 'tunable' is not the solver of this run; accepted: good"):
        corl.solve(toy / "z3.txt", iterations=1, options=mine(), solver="good")
    with pytest.raises(InputError, match="cannot be read"):
        corl.solve(toy / "z3.txt", iterations=1, options="absent.toml")
