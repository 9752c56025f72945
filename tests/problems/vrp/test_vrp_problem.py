"""The adapter of vehicle routing: shipped instances, facts, drawings, the command line, and who may use generic solvers."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from corl import registry
from corl.files import drawing
from corl.learning.recipe import recipe_names
from corl.problems.vrp.generators import solomon, uniform, x
from corl.problems.vrp.problem import Vrp

VRP = Vrp()
SHIPPED = Path(__file__).resolve().parents[3] / "instances" / "vrp"


def reference():
    """Name -> row of reference.csv."""
    with open(SHIPPED / "reference.csv", encoding="utf-8", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.vrp")), ids=lambda path: path.stem)
def test_shipped_instances_are_made_by_their_comment(path):
    """Each is what the command in its comment makes."""
    given = VRP.read(path)
    words = shlex.split(given.comment)
    assert words[:3] == ["corl", "generate", "vrp"]
    values = dict(word.split("=") for word in words[4:] if "=" in word)
    made = VRP.generators[words[3]](
        **{key: value if key == "kind" else float(value) if "." in value else int(value) for key, value in values.items()},
        seed=int(words[-1]),
    )
    for name in ("points", "demand", "prize", "required", "earliest", "latest", "service"):
        assert np.array_equal(getattr(made, name), getattr(given, name)), name


def test_references_are_what_is_published(data):
    """The costs typed in are those of the .sol files at hand."""
    rows, checked = reference(), 0
    for path in sorted((data / "vrp").glob("*/*.sol")):
        if path.stem in rows and path.with_suffix(".oplib").exists() is False:
            assert float(rows[path.stem]["value"]) == float(path.read_text().split("Cost")[1].split()[0]), path.stem
            checked += 1
    assert checked >= 27


def test_facts():
    """What `corl info` tells: sizes, conventions, vehicles, windows, prizes, and why nothing fits."""
    facts = VRP.describe(solomon(size=20, kind="C"))
    assert facts["clients"] == 20 and facts["edge_weight_type"] == "EUC_2D in whole tenths (DIMACS)"
    assert facts["vehicles"] == "any number of capacity 200" and facts["windows"].endswith("[0, 1236]")
    assert facts["least_vehicles_by_demand"] >= 1 and "infeasible" not in facts
    assert VRP.describe(uniform(size=20, optional=0.5))["optional_clients"].split(",")[0].isdigit()


@pytest.mark.parametrize("made", [uniform(size=30, optional=0.5), x(size=40), solomon(size=10)], ids=lambda made: made.name)
def test_drawings(tmp_path, made):
    """The instance alone, and routes with a legend, who is left out, and the cost in the title."""
    routes = [[client] for client in range(1, made.n) if made.required[client]]
    drawing.save(VRP, made, None, tmp_path / "a.svg")
    drawing.save(VRP, made, routes, tmp_path / "b.svg")
    alone, drawn = ((tmp_path / name).read_text() for name in ("a.svg", "b.svg"))
    assert f"{len(routes)} routes, cost" in drawn and "cost" not in alone
    assert ("unserved" in drawn) == (len(routes) < made.clients) and "depot" in alone


def test_the_page_of_formats_shows_an_instance():
    """Its JSON can be read."""
    text = (SHIPPED.parents[1] / "problems" / "vrp" / "formats.md").read_text(encoding="utf-8")
    made = VRP.adapt(json.loads(text.split("```json\n")[1].split("```")[0]))
    assert made.clients == 2 and made.units == ("km", "min", "kg")


def test_drawings_of_matrices(random_vrp, tmp_path):
    """A matrix is drawn as a ring around its depots."""
    made = next(made for made in map(random_vrp, range(50)) if made.matrix is not None)
    drawing.save(VRP, made, None, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size > 1000


def test_the_command_line(corl_command, tmp_path):
    """generate, info and check, of an instance and of a solution; data that cannot be are exit 3, a wrong solution exit 4."""
    file = tmp_path / "a.vrp"
    assert corl_command("generate", "vrp", "uniform", "--size", 4, "--output", file).returncode == 0
    assert "clients" in corl_command("info", file).stdout
    (tmp_path / "a.sol").write_text("Route #1: 1 2\nRoute #2: 3 4\n")
    assert corl_command("check", file, tmp_path / "a.sol").returncode == 0
    (tmp_path / "a.json").write_text("[[2, 3]]")
    done = corl_command("check", file, tmp_path / "a.json")
    assert done.returncode == 4 and "must be visited and is not" in done.stdout + done.stderr
    file.write_text(file.read_text().replace("DEPOT_SECTION\n1\n", "DEPOT_SECTION\n"))
    done = corl_command("info", file)
    assert done.returncode == 3 and "DEPOT_SECTION: there must be a depot" in done.stderr and done.stderr.count("\n") == 1


def test_generic_solvers_want_environment_and_features():
    """Listed for vehicle routing and tours, not where there is no environment, or nothing for a network to see."""
    assert {"policy", "tree-search"} <= set(registry.solvers("vrp")) & set(registry.solvers("tsp"))
    assert "imitation" in recipe_names("vrp")
    for name in registry.problems():
        problem = registry.problem(name)
        able = problem.takes_policies
        assert ("policy" in registry.solvers(name)) == ("imitation" in recipe_names(name)) == able
