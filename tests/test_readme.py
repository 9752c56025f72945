"""Every command and every piece of Python in README.md, the problems' pages and those of results runs as it is printed there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import corl
from corl import registry
from corl.cli.main import parser_of
from corl.learning.recipe import recipe_names
from support.pages import named

ROOT = Path(__file__).resolve().parents[1]
SHELL = ("", "sh", "shell")

SHORTER = [  # what is printed, what runs here, and why
    (r"pip install \. && ", "", "the continuous integration runs it, in a new environment"),
    (r'pip install "\.\[test\]" && pytest', "true", "these are the tests"),
    (r"corl bench tsp/smoke", "corl bench tsp/smoke --time-limits 0.2 --solvers eax,fast-tsp,ortools", "minutes"),
    (r"--steps 500", "--steps 3 --option width=16", "a training"),
    (r"corl train memory (.|\\\n)*?--device cpu", "true", "45 minutes each; read above, the recipes have tests of their own"),
    (r"--option samples=300 --option share=0.5", "", "a training"),
    (r"(corl train milp --instances .*)", r"\1 --option judge=false", "a judgement needs ten programs, and may write no file"),
    (r"(corl train milp .*)", r"\1 --option samples=10 --option share=0.5 --option updates=5", "trainings"),
    (r"(corl solve [^#&\n]*)", r"\1 --time-limit 1", "ten seconds, or what is printed"),
    (r"corl tune .*", "true", "hours; read above, with tests of its own (tests/corl/benchmark/tuning)"),
    (r"corl trace resnet50", "corl trace alexnet", "a minute"),
]
LONGEST = 1.0  # seconds of a `corl.solve` here, whatever is printed
PATIENT = {"problems/bandits/README.md": 20.0}  # where a page needs a solution, on a busy machine too; it ends by itself

TWO_PROGRAMS = (
    "mkdir FOLDER; corl generate milp auctions --option items=40 --option bids=200 --output FOLDER/a.mps;"
    " corl generate milp auctions --option items=40 --option bids=200 --seed 1 --output FOLDER/b.mps; cp FOLDER/a.mps FILE"
)
BEFORE = {  # what a reader of the page has at hand
    "corl/documentation/decisions-over-time.md": "echo time,kind > events.csv",  # with the printed events: tests/corl/online
    "corl/documentation/tuning.md": (
        "corl generate vrp --size 20 --output day.vrp;"
        """ printf 'problem = "vrp"\\nsolver = "ruin-recreate"\\n[options]\\nheat = 3.0\\n' > mine.toml"""
    ),
    "problems/bandits/README.md": "corl generate bandits capacity --option arms=20 --output bandit.json",
    "problems/memory/README.md": "corl generate memory dag --output program.json",
    "problems/memory_static/README.md": "corl generate memory-static tiled --output buffers.csv",
    "problems/milp/README.md": TWO_PROGRAMS,
    "corl/documentation/tutorials/integer-programs.md": TWO_PROGRAMS,
}


def blocks(readme: Path) -> list[tuple[str, str]]:
    """(language, text) of every code block, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```", readme.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


PAGES = [  # those with code
    page
    for page in (ROOT / "README.md", *sorted(ROOT.glob("problems/**/*.md")), *sorted(ROOT.glob("instances/*/results/README.md")),
                 *sorted(ROOT.glob("corl/**/*.md")))
    if blocks(page)
]  # fmt: skip


def commands(readme: Path) -> list[str]:
    """The lines of the shell blocks, continued ones joined, parts of a && b apart."""
    text = "".join(text for language, text in blocks(readme) if language in SHELL)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [part.strip() for line in lines for part in line.split("&&") if part.strip()]


def at_hand(name: str) -> dict[str, object]:
    """The names that a page uses without making them."""
    if name == "problems/tsp/README.md":
        import networkx

        graph = networkx.complete_graph(8)
        networkx.set_edge_attributes(graph, {edge: 1 + sum(edge) for edge in graph.edges}, "weight")
        return {"graph": graph}
    if name == "problems/vrp/README.md":
        page = ROOT / "problems" / "vrp" / "formats.md"
        return {"bakery": json.loads(next(text for language, text in blocks(page) if language == "json"))}
    if name == "problems/memory/formats.md":
        import torch

        return {"model": torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()), "x": torch.zeros(8, 64)}
    return {}


@pytest.mark.parametrize("readme", PAGES, ids=named)
def test_what_is_printed_can_be_read(readme):
    """Every piece of Python compiles, and every `corl` command has a sub-command and options that there are."""
    for language, text in blocks(readme):
        if language == "python":
            compile(text, str(readme), "exec")
    for command in commands(readme):
        words = shlex.split(command, comments=True)
        if words[0] == "corl":
            assert parser_of(words[1:]).parse_args(words[1:])


def test_the_table_of_environments():
    """The table of problems, environments, generic solvers and recipes is the registry's."""
    text = (ROOT / "corl" / "documentation" / "overview.md").read_text(encoding="utf-8")
    table = text[text.index("Environments, solvers and recipes of each problem") :].split("\n\n")[1]
    head, _, *rows = [line for line in table.splitlines() if line]
    solvers, recipes = (set(re.findall(r"`([\w-]+)`", cell)) for cell in head.split("|")[3:5])
    cells = {row.split("|")[1].strip(" `"): [cell.strip() for cell in row.split("|")[2:6]] for row in rows}
    assert sorted(cells) == registry.problems()
    for name, (environments, searched, trained, own) in cells.items():
        known = registry.problem(name)
        there = known.has_environment
        assert environments == (", ".join(f"`{each}`" for each in known.environments) or ("one" if there else "none"))
        assert (searched, trained) == (("all", "all") if there else ("none", "none"))
        assert solvers & set(registry.solvers(name)) == (solvers if there else set())
        assert set(re.findall(r"`([\w-]+)`", own)) | (recipes if there else set()) == set(recipe_names(name))


def test_the_suite_that_readme_runs_has_the_solvers_that_it_compares():
    """`corl bench SUITE`, then a report and a comparison of the store that it writes, of solvers and instances it has."""
    from corl.benchmark.running.suite import read_suite

    words = [shlex.split(command) for command in commands(ROOT / "README.md")]
    (suite,) = (read_suite(each[2]) for each in words if each[:2] == ["corl", "bench"])
    reported = next(each for each in words if each[:2] == ["corl", "report"])
    (compared,) = (each for each in words if each[:2] == ["corl", "compare"])
    assert compared[2] == reported[2] == f"{suite.name}.db"
    left_out = re.findall(r"(\S+) left out", " ".join(suite.notices))
    assert set(compared[3:5]) <= {lineup.label for lineup in suite.lineups} | set(left_out)


@pytest.mark.long
@pytest.mark.parametrize("readme", PAGES, ids=named)
def test_what_is_printed_runs(readme, tmp_path, monkeypatch):
    """All blocks of a page in order, in one folder and one Python session, with the limits of SHORTER and LONGEST."""
    for folder in ("instances", "problems"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}

    def shell(text: str) -> None:
        done = subprocess.run(["bash", "-ec", text], capture_output=True, text=True, env=environment, timeout=500)
        assert done.returncode == 0, f"{text}\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}"

    solve = corl.solve
    name = named(readme)
    longest = PATIENT.get(name, LONGEST)
    monkeypatch.setattr(corl, "solve", lambda *data, time_limit=longest, **options: solve(
        *data, time_limit=min(time_limit, longest), **options))  # fmt: skip
    shell(BEFORE.get(name, "true"))
    names = {"__name__": "__main__"} | at_hand(name)
    for language, text in blocks(readme):
        if language == "python":
            exec(compile(text, str(readme), "exec"), names)
        elif language in SHELL:
            for printed, run, _ in SHORTER:
                text = re.sub(printed, run, text)
            shell(text)
