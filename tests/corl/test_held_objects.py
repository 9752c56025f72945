"""What users hold already, given to a call or made of a result: Results, files, graphs, models, axes, tables."""

from __future__ import annotations

import json

import pytest

import corl
from corl import registry
from corl.cli.main import main


def test_a_warm_start_is_a_result_a_file_or_a_solution(tmp_path):
    """The search begins at it: with one iteration and a good tour nothing better is found, whatever form it has."""
    good = corl.solve("tsp/uniform-500", solver="ils", iterations=200, seed=1)
    good.write(tmp_path / "good.tour")
    good.write(tmp_path / "good.json")
    told = corl.Result.from_json((tmp_path / "good.json").read_text())
    for start in (good, good.solution, tmp_path / "good.tour", str(tmp_path / "good.json"), told):
        assert corl.solve("tsp/uniform-500", solver="ils", iterations=1, warm_start=start).objective <= good.objective
    with pytest.raises(corl.UsageError, match="warm_start: a Result of tsp, not of knapsack"):
        corl.solve(corl.generate("knapsack", "uniform", size=10), warm_start=good)
    with pytest.raises(corl.InputError, match="none"):
        corl.solve("tsp/uniform-500", warm_start=tmp_path / "none.tour")


@pytest.mark.parametrize("name", ["[1] best.json", "{best}.json"])
def test_a_warm_start_is_a_file_whatever_its_name(tmp_path, monkeypatch, name):
    """A text that begins as JSON does is a path where there is such a file."""
    monkeypatch.chdir(tmp_path)
    instance = corl.generate("knapsack", "uniform", size=10)
    good = corl.solve(instance, solver="dp")
    good.write(tmp_path / name)
    assert corl.solve(instance, solver="greedy", warm_start=name).objective == good.objective


def test_a_warm_start_from_the_command_line(tmp_path, capsys):
    """--warm-start FILE; with several FILEs it is refused."""
    good = corl.solve("tsp/uniform-500", solver="ils", iterations=200, seed=1)
    good.write(tmp_path / "good.tour")
    options = ["--solver", "ils", "--iterations", "1", "--json", "--warm-start", str(tmp_path / "good.tour")]
    assert main(["solve", "tsp/uniform-500", *options]) == 0
    assert json.loads(capsys.readouterr().out)["objective"] <= good.objective
    assert main(["solve", "tsp/uniform-500", "tsp/clustered-500", *options]) == 2
    assert "--warm-start" in capsys.readouterr().err


def test_plot_draws_on_given_axes(tmp_path):
    """Without a path it returns the axes, the user's own where they are given; a file and axes together are refused."""
    from matplotlib.figure import Figure

    result = corl.solve("tsp/uniform-500", solver="nearest-neighbour")
    axes = Figure().add_subplot()
    assert result.plot(ax=axes) is axes and axes.has_data()
    assert result.plot(tmp_path / "a.png") is None and (tmp_path / "a.png").stat().st_size > 1000
    with pytest.raises(corl.UsageError, match="not both"):
        result.plot(tmp_path / "a.png", ax=axes)


def test_a_graph_keeps_its_nodes_names(tmp_path):
    """Result.to_json says them and takes them back; two that are written alike are refused, and so is an unknown one."""
    import networkx

    graph = networkx.Graph()
    for k, name in enumerate(["Bonn", "Kiel", "Ulm", "Jena"]):
        graph.add_node(name, pos=(k, k * k))
    result = corl.solve(graph, problem="tsp", time_limit=0.1)
    told = json.loads(result.to_json())["solution"]
    assert sorted(told) == ["Bonn", "Jena", "Kiel", "Ulm"] and told == [result.data.names[city] for city in result.solution]
    assert corl.Result.from_json(result.to_json(), result.data).solution.tolist() == result.solution.tolist()
    with pytest.raises(corl.Infeasible, match="Rom"):
        registry.problem("tsp").from_json(result.data, ["Rom"])
    graph.add_node(1, pos=(0, 1))
    graph.add_node("1", pos=(0, 2))
    with pytest.raises(corl.InputError, match="have the same text"):
        corl.solve(graph, problem="tsp")


def test_a_model_needs_no_problem():
    """A pyscipopt Model says itself what it is; what could be meant in several ways does not."""
    pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    x = model.addVar(vtype="I", ub=3)
    model.setObjective(x, "maximize")
    assert corl.solve(model, solver="scip", time_limit=5).objective == 3
    with pytest.raises(corl.UsageError, match="cannot be determined from"):
        corl.solve([[0, 1], [1, 0]])


def test_tables_of_a_solution():
    """Routes with their stops in order and times that do not fall; operations as scheduled; refused without a solution."""
    routes = corl.solve(corl.generate("vrp", "solomon", size=12, seed=1), iterations=100)
    stops = routes.table(steps=True)
    assert len(routes.table()) == len({row["route"] for row in stops}) and len(stops) == 12
    for one in {row["route"] for row in stops}:
        begins = [row["begin"] for row in stops if row["route"] == one]
        assert begins == sorted(begins)
    shop = corl.solve(corl.generate("jobshop", seed=1, jobs=3, machines=3), iterations=100)
    rows = shop.table(steps=True)
    assert len(rows) == 9 and max(row["end"] for row in rows) == shop.objective
    program = corl.solve(corl.generate("milp", "auctions", items=10, bids=20), time_limit=20)
    assert [row["value"] for row in program.table()] == program.solution.tolist()
