"""Suites: what a TOML file asks for, and errors that name file and field."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from corl.benchmark.running.plan import load, planned_runs
from corl.benchmark.running.references import read_references
from corl.benchmark.running.suite import read_suite
from corl.errors import CorlError, InputError, UsageError
from corl.solvers.tsp.fast_tsp import FastTsp
from corl.solvers.vrp.pyvrp import PyVrp


def labels(path) -> list[str]:
    return [source.label for source in read_suite(path).sources]


def test_files_in_natural_order_with_references(toy, suite):
    """Patterns relative to the suite; z10 comes after z3; values, status and source are the file's."""
    os.symlink(toy, suite("good").parent / "data")
    path = suite("good", instances='files = "data/z*.txt"\nreference = { file = "data/reference.csv" }\ngroup = "zs"')
    read = read_suite(path)
    assert [source.label for source in read.sources] == ["z2", "z3", "z10"]
    two, three, ten = (source.reference for source in read.sources)
    assert (two.value, two.status, two.source) == (1.0, "best known", "guessed")
    assert three.status == "proven" and ten is None
    assert read.sources[0].group == "zs" and load(read, read.sources[2]).instance.size == 10
    assert read.name == "toy-s"


def test_the_store_is_named_after_the_suite(toy, suite):
    """A user's own file gives its stem, as how-to.md says; a shipped suite its problem and name."""
    os.symlink(toy, suite("good").parent / "data")
    assert read_suite(suite("good")).store == "s.db"
    assert read_suite("tsp/smoke").store == "tsp-smoke.db"


def test_limit_exclude_and_facts(toy, suite):
    """The first so many of what is not excluded and whose facts fit."""
    os.symlink(toy, suite("good").parent / "data")
    files = 'files = ["data/z*.txt"]\n'
    assert labels(suite("good", instances=files + "limit = 2")) == ["z2", "z3"]
    assert labels(suite("good", instances=files + 'exclude = "z2"')) == ["z3", "z10"]
    assert labels(suite("good", instances=files + "where = { dimension = [3, 20] }\nlimit = 1")) == ["z3"]
    assert labels(suite("good", instances=files + 'where = { parity = "even" }')) == ["z2", "z10"]
    assert labels(suite("good", instances=files + 'where = { parity = ["odd"] }')) == ["z3"]


def test_generated_instances(toy, suite):
    """Every combination of listed parameters with every seed, and the same instance each time."""
    path = suite("good", instances='generate = "line"\nparameters = { size = [2, 4] }\nseeds = [7, 9]')
    read = read_suite(path)
    assert [source.label for source in read.sources] == ["line-2-7", "line-2-9", "line-4-7", "line-4-9"]
    assert [load(read, source).instance.size for source in read.sources] == [2, 2, 4, 4]
    assert read.sources[0].origin == "line(size=2, seed=7)" and read.sources[0].group == "line-2"


def test_rows_of_an_array(toy, suite):
    """Each row is adapted; references from another array of the file, unless the suite gives them."""
    path = suite(
        "good",
        instances='arrays = "a.npz"\nkey = "rows"\nlimit = 2\n'
        'reference = { file = "a.npz", key = "best", status = "proven", source = "us", values = { a-1 = 5 } }',
    )
    np.savez(path.parent / "a.npz", rows=np.zeros((3, 4)), best=np.arange(3.0))
    read = read_suite(path)
    assert [(source.label, source.reference.value) for source in read.sources] == [("a-0", 0.0), ("a-1", 5.0)]
    assert load(read, read.sources[0]).instance.size == 4 and read.sources[0].reference.status == "proven"


def test_the_value_that_a_file_beside_states(toy, suite):
    """The cost in each instance's file, or what a pattern finds, in the suite's units; none where there is no file."""
    folder = suite("good").parent
    for name, said in (("a", "Route #1: 1\nCost 27591"), ("b", "ROUTE_SCORE : 64\ncost: 3e1")):
        (folder / f"{name}.sol").write_text(said)
    for name in "abc":
        (folder / f"{name}.txt").write_text("TOY 2")

    def values(reference: str):
        path = suite("good", instances=f'files = "?.txt"\nprefix = "set/"\nreference = {{ {reference} }}')
        return {source.label: source.reference for source in read_suite(path).sources}

    found = values('beside = ".sol", scale = 0.1')
    assert list(found) == ["set/a", "set/b", "set/c"] and found["set/c"] is None
    assert (found["set/a"].value, found["set/a"].source, found["set/b"].value) == (2759.1, "a.sol", 3.0)
    scores = 'beside = ".sol", pattern = "(?:SCORE : |Cost )([0-9]+)", status = "proven", source = "them", values = { a = 5 }'
    given, read = values(scores)["set/a"], values(scores)["set/b"]
    assert given.value == 5.0 and (read.value, read.status, read.source) == (64.0, "proven", "them")
    units = values('beside = ".sol", pattern = ["SCORE : ([0-9]+)", "Cost ([0-9]+)"], scale = [0.5, 10]')
    assert (units["set/a"].value, units["set/b"].value) == (275910.0, 32.0)
    (folder / "solutions").mkdir()
    (folder / "solutions" / "b-best.sol").write_text("Cost 7")
    away = values('beside = "solutions/*-best.sol"')
    assert (away["set/a"], away["set/b"].value, away["set/b"].source) == (None, 7.0, "b-best.sol")
    for wrong, words in (
        ('beside = "sol"', "the ending of a file's name"), ('beside = "*/*.sol"', "a path with * for the instance's name"),
        ('beside = ".sol", pattern = "Cost"', "a regular expression with one group"),
        ('beside = ".sol", pattern = "("', "is not a regular expression"), ('beside = ".sol", pattern = "(Hut)"', "no text fits"),
        ('beside = ".sol", pattern = "(Cost|SCORE)"', "value: 'Cost' is not accepted; accepted: a number"),
        ('beside = ".sol", pattern = ["(Hut)", "(Hat)"]', "no text fits '(Hut)' or '(Hat)'"),
        ('beside = ".sol", scale = [1, 2]', "scale: 2 are given; accepted: one for each pattern, 1"),
        ('beside = ".sol", scale = [0]', "scale: [0] is not accepted; accepted: a number above 0, or a list of these"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=re.escape(words)):
            values(wrong)


def test_bounds_in_json(tmp_path):
    """The list of an archive of bounds: proven where both bounds are equal; anything else is an error that says where."""
    file = tmp_path / "bks.json"
    entry = '{{"instance": "{}", "lower_bound": 3, "upper_bound": {}}}'.format
    file.write_text(f"[{entry('a', 3)}, {entry('b', 4)}]")
    found = read_references(file)
    assert (found["a"].value, found["a"].status, found["b"].value, found["b"].status) == (3.0, "proven", 4.0, "best known")
    file.write_text(f'[{entry("a", 3)}, {{"instance": "b"}}]')
    with pytest.raises(InputError, match=r"\[2\]: accepted: a list of objects with instance, lower_bound, upper_bound"):
        read_references(file)


def test_limits_in_proportion_to_a_fact(toy, suite):
    """Each instance has its own limits; a fact that is missing, or no number, is an error that names those that are."""
    sizes = 'generate = "line"\nparameters = { size = [2, 5] }'
    read = read_suite(suite("good", "slow", instances=sizes, head='time_limits = [0.1, 2.4]\ntime_limit_per = "dimension"'))
    found = [(plan.source.label, plan.lineup.label, plan.time_limit, plan.base_limit) for plan in planned_runs(read)]
    assert found == [
        ("line-2-0", "slow", 0.2, 0.1), ("line-2-0", "good", 4.8, 2.4), ("line-2-0", "slow", 4.8, 2.4),
        ("line-5-0", "slow", 0.5, 0.1), ("line-5-0", "good", 12.0, 2.4), ("line-5-0", "slow", 12.0, 2.4),
    ]  # fmt: skip
    wrong = read_suite(suite("good", instances=sizes, head='time_limits = [1]\ntime_limit_per = "parity"'))
    with pytest.raises(
        InputError, match=r"time_limit_per: no number above 0 among the facts of line-2-0; accepted: size, dimension"
    ):
        list(planned_runs(wrong))


def test_a_sample_of_more_than_there_is(toy, suite):
    """Is an error that says how many there are; without a number the sample is the whole set."""
    read = read_suite(suite("good", instances='generate = "line"\nparameters = { size = [2, 4, 6] }'))
    assert {source.label for source in read.sampled(None).sources} == {source.label for source in read.sources}
    assert read.sampled(2).sources == read.sampled(3).sources[:2]
    with pytest.raises(UsageError, match="--sample: 4 is not accepted; the suite has 3 instances"):
        read.sampled(4)


def test_a_folder_in_the_environment(toy, suite, monkeypatch):
    """Found where the variable is set; left out with a notice where it is not; an error where it names no folder."""
    head, both = "time_limits = [1]", 'folder = "CORL_TEST"\nfiles = "z*.txt"\nreference = { file = "reference.csv" }'
    path = suite("good", head=head, instances=both + '\n[[instances]]\ngenerate = "line"')
    monkeypatch.delenv("CORL_TEST", raising=False)
    assert labels(path) == ["line-0"] and "CORL_TEST" in read_suite(path).notices[0]
    monkeypatch.setenv("CORL_TEST", str(toy))
    assert labels(path) == ["z2", "z3", "z10", "line-0"] and read_suite(path).notices == ()
    monkeypatch.setenv("CORL_TEST", str(toy / "nowhere"))
    with pytest.raises(InputError, match=r"instances\[1\]\.folder.*not a folder"):
        read_suite(path)


def test_lines_of_references(tmp_path):
    """`NAME : VALUE`, with or without blanks, and comments."""
    (tmp_path / "best.txt").write_text("# lengths\na280 : 2579\nbr17: 39\nx = 1.5 (proven)\n")
    found = read_references(tmp_path / "best.txt", "proven", "a book")
    assert {name: reference.value for name, reference in found.items()} == {"a280": 2579, "br17": 39, "x": 1.5}
    assert found["br17"].status == "proven" and found["br17"].source == "a book"


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("r.csv", "value\n1\n", r"r\.csv:1: .*name, value"),
        ("r.csv", "name,value,status\na,1,proven\nb,x,proven\n", r"r\.csv:3: value"),
        ("r.csv", "name,value,status\na,1,sure\n", r"r\.csv:2: status.*proven, best known"),
        ("r.txt", "a : 1\nb\n", r"r\.txt:2: 'b'"),
        ("r.txt", "a : one\n", r"r\.txt:1: value"), ("r.txt", "", "empty"),
    ],
)  # fmt: skip
def test_bad_references(tmp_path, name, content, match):
    """File, line and field are named."""
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=match):
        read_references(tmp_path / name)


@pytest.mark.parametrize(
    ("head", "instances", "solver", "match"),
    [
        ("time_limits = [1", "", "good", r"s\.toml:\d+: not TOML"), ("time_limits = [0]", "", "good", "time_limits: .*above 0"),
        ("", "", "good", "time_limits: .*either"), ("time_limits = [1]\niterations = [1]", "", "good", "either"),
        ("time_limits = [1]\nseeds = 0", "", "good", "seeds: 0 is not accepted"),
        ("time_limits = [1]\nseed = 3", "", "good", "seed: not a known key; accepted: .*seeds"),
        ("time_limits = [1]", 'files = "q*"', "good", r"instances\[1\]\.files: no file matches 'q\*'"),
        ("time_limits = [1]", 'files = "/etc/passwd"', "good", r"instances\[1\]\.files: .*relative"),
        ("time_limits = [1]", 'files = "q*"\ngenerate = "line"', "good", r"instances\[1\]: .*exactly one"),
        ("time_limits = [1]", 'generate = "circle"', "good", r"instances\[1\]\.generate: .*line"),
        ("time_limits = [1]", 'generate = "line"\nseeds = [-1]', "good", r"instances\[1\]\.seeds"),
        ("time_limits = [1]", 'generate = "line"\nwhere = { colour = 3 }', "good", r"instances\[1\]\.where\.colour: .*dimension"),
        ("time_limits = [1]", 'generate = "line"\nwhere = { dimension = [1, 2] }', "good", "no instance is left"),
        ("time_limits = [1]", 'generate = "line"\nreference = { file = "none.csv" }', "good", r"none\.csv: cannot be read"),
        ("time_limits = [1]", 'generate = "line"\nreference = { status = "sure" }', "good", r"instances\[1\]\.reference\.status"),
        ("time_limits = [1]", 'generate = "line"\nreference = { values = { a = "x" } }', "good", r"reference\.values\.a"),
        ("time_limits = [1]", 'generate = "line"\nlimits = 3', "good", r"instances\[1\]\.limits: not a known key"),
        ("time_limits = [1]", 'generate = "line"\n[[instances]]\ngenerate = "line"', "good", r"instances\[2\]: two instances"),
        ("time_limits = [1]", 'arrays = "none.npz"', "good", r"none\.npz: cannot be read"),
        ("time_limits = [1]", "", "god", r"solvers\[1\]\.solver: .*did you mean 'good'"),
        ("time_limits = [1]", "", 'solver = "good"\noptions = { strat = 1 }', r"solvers\[1\]\.options: .*start"),
        ("time_limits = [1]", "", 'solver = "good"\nlabel = "a,b"', r"solvers\[1\]\.label"),
        ("time_limits = [1]", "", 'solver = "good"\ncores = 0', r"solvers\[1\]\.cores"),
        ("time_limits = [1]", "", 'solver = "good"\n[[solvers]]\nsolver = "good"', r"solvers\[2\]\.label: two solvers"),
    ],
)  # fmt: skip
def test_faults_name_file_and_field(toy, suite, head, instances, solver, match):
    """Each fault is an InputError that begins with the file and says where in it."""
    path = suite(solver, head=head, instances=instances or 'generate = "line"')
    with pytest.raises(InputError, match=match) as caught:
        read_suite(path)
    assert str(caught.value).startswith(str(path.parent))


def test_bad_problem_and_missing_file(toy, tmp_path):
    """An unknown problem lists those there are; a missing file and an unknown shipped suite are said to be so."""
    (tmp_path / "p.toml").write_text('problem = "tyo"\n')
    with pytest.raises(InputError, match=r"p\.toml: problem: .*toy"):
        read_suite(tmp_path / "p.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_suite(tmp_path / "q.toml")
    with pytest.raises(InputError, match=r"shipped are: .*tsp/smoke"):
        read_suite("tsp/smok")


def test_generator_refuses_its_parameters(toy, suite):
    """A fault that only shows when the instance is made names the suite's field too."""
    read = read_suite(suite("good", instances='generate = "line"\nparameters = { width = 3 }'))
    with pytest.raises(CorlError, match=r"instances\[1\]\.parameters: .*width"):
        read.sources[0].load()


def test_order_and_number_of_runs(toy, suite):
    """Seeds outermost, solvers innermost; a solver whose trajectory is free of the limit runs to the longest only."""
    read = read_suite(suite("good", "slow", head="time_limits = [2, 1]\nseeds = 2"))
    found = [(plan.seed, plan.time_limit, plan.lineup.label) for plan in planned_runs(read)]
    assert found == [(seed, limit, name) for seed in (0, 1) for limit, name in ((1, "slow"), (2, "good"), (2, "slow"))]
    counted = read_suite(suite("good", "slow", head="iterations = [5, 3]"))
    assert [(plan.iterations, plan.lineup.label) for plan in planned_runs(counted)] == [
        (3, "good"),
        (3, "slow"),
        (5, "good"),
        (5, "slow"),
    ]


def test_choices_of_the_command_line(toy, suite):
    """Labels and further solvers by name, other limits, fewer or more seeds."""
    read = read_suite(
        suite('solver = "good"\nlabel = "low"\noptions = { start = 2 }', "slow", head="time_limits = [1]\nseeds = [5, 0]")
    )
    chosen = read.with_changes(["low", "empty"], [3.0, 0.5], 4)
    assert [(lineup.label, dict(lineup.options)) for lineup in chosen.lineups] == [("low", {"start": 2}), ("empty", {})]
    assert chosen.time_limits == (0.5, 3.0) and chosen.seeds == (5, 0, 1, 2) and read.with_changes(None, None, 1).seeds == (5,)
    with pytest.raises(UsageError, match="low, slow"):
        read.with_changes(["god"], None, None)


def fault_of(file):
    """What reading a suite says is wrong with it; "" for nothing."""
    try:
        read = read_suite(file)
    except InputError as error:
        return str(error)
    return "" if read.lineups and read.sources else "nothing is in it"


SHIPPED = sorted((Path(__file__).resolve().parents[3] / "instances").rglob("*.toml"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_shipped_suites(file):
    """Every shipped suite can be read; the only thing that may be wrong is that data of others is not there."""
    assert re.fullmatch(r"|.*instances: all are skipped: .* skipped: the folder \$[A-Z_]+ is not set", fault_of(file))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tsp/nope", r"shipped are: .*tsp/smoke, tsp/standard"),
        ("tsp", r"shipped are: .*tsp/smoke, tsp/standard"),
        ("vpr/smoke", r"there are suites of bandits, .*tsp, vrp \(corl list suites\) \(did you mean 'vrp/smoke'\?\)"),
        ("nope", r"there are suites of bandits, .*tsp, vrp \(corl list suites\)"),
    ],
)
def test_a_suite_that_is_not_there(name, said):
    """The message lists the suites of the problem that was meant, or the problems that have some."""
    with pytest.raises(InputError, match=f"neither a file nor a shipped suite; {said}"):
        read_suite(name)


def test_a_peer_that_is_not_installed(toy, suite, monkeypatch):
    """Its line-up is left out with a notice, which the store keeps; asking for it by name, or for nothing else, is an error."""
    import toy as plugin

    monkeypatch.setattr(plugin.Slow, "requires", ("numpy", "no_such_package"))
    read = read_suite(suite("good", "slow"))
    assert [lineup.label for lineup in read.lineups] == ["good"]
    assert read.definition()["left_out"] == ["slow skipped: the package no_such_package is not installed"]
    with pytest.raises(UsageError, match="slow needs the package no_such_package"):
        read.with_changes(["slow"], None, None)
    with pytest.raises(InputError, match="solvers: all are skipped: slow skipped"):
        read_suite(suite("slow"))
    assert FastTsp.requires == ("fast_tsp",) and PyVrp.requires == ("pyvrp",)


@pytest.mark.parametrize(
    ("line", "said"),
    [(f"seeds = [{'9' * 5000}]", "not TOML: Exceeds the limit"), (f"files = '{'a' * 5000}'", "is not a pattern: .*too long")],
)
def test_what_no_file_system_or_number_holds(toy, suite, line, said):
    """An integer of 5,000 digits, a file's name of 5,000 letters: one short line."""
    path = suite("good", instances=line)
    with pytest.raises(InputError, match=said) as caught:
        read_suite(path)
    assert len(str(caught.value)) < 500
