"""Orienteering's judge, files, generators and adapter."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from corl.cli.main import main
from corl.errors import Infeasible, InputError, UsageError
from corl.files.text import Text
from corl.problems.orienteering.evaluation import path_length, shortest_path
from corl.problems.orienteering.formats import read_text
from corl.problems.orienteering.generators import scores
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.orienteering.problem import Orienteering

ORIENTEERING = Orienteering()
OPLIB = """NAME : small
COMMENT : three nodes
TYPE : OP
DIMENSION : 3
COST_LIMIT : 14
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 3 4
5 6 0
NODE_SCORE_SECTION
1 0
2 5
5 3
DEPOT_SECTION
1
-1
EOF
"""
JSON = '{"problem": "orienteering", "points": [[0, 0], [3, 4], [6, 0]], "scores": [0, 5, 3], "limit": 10, "end": 2}'


def same(a: OrienteeringInstance, b: OrienteeringInstance) -> bool:
    """The same numbers, to the bit."""
    arrays = [(a.scores, b.scores), (a.graph.points, b.graph.points), (a.graph.matrix, b.graph.matrix)]
    facts = [(each.limit, each.start, each.end, each.graph.edge_weight_type) for each in (a, b)]
    return facts[0] == facts[1] and all(x is y or np.array_equal(x, y) for x, y in arrays)


def test_the_judge_agrees_with_plain_python(random_instance):
    """Of all paths in small instances: the score where they are short enough, otherwise Infeasible with the length."""
    for seed, closed in itertools.product(range(3), (True, False)):
        instance = random_instance(5, "EUC_2D", seed, closed)
        points = instance.graph.points.tolist()
        others = [i for i in range(5) if i not in (instance.start, instance.end)]
        for size in range(4):
            for inner in itertools.permutations(others, size):
                path = [instance.start, *inner, instance.end]
                length = sum(math.floor(math.dist(points[a], points[b]) + 0.5) for a, b in itertools.pairwise(path))
                if length <= instance.limit:
                    assert ORIENTEERING.evaluate(instance, path) == sum(instance.scores[i] for i in set(path))
                else:
                    with pytest.raises(Infeasible, match=f"is {length} long"):
                        ORIENTEERING.evaluate(instance, path)


@pytest.mark.parametrize(
    ("path", "words"),
    [([0, 1], "goes from node 1 to node 1"), ([0], "both listed"), ([0, 1, 1, 0], "node 2 is visited 2 times"),
     ([0, 0, 0], "node 1 is visited 2 times"), ([0, 3, 0], "no node with index 3"), ([0, 0.5, 0], "list of integers"),
     ([[0], [0, 1]], "list of nodes"), ([0, 1, 2, 0], "16 long; the limit is 14")],
)  # fmt: skip
def test_faults_of_solutions_are_named(path, words):
    """In the file's own ids."""
    with pytest.raises(Infeasible, match=words):
        ORIENTEERING.evaluate(read_text(Text(OPLIB)), path)


def test_formats():
    """OPLib with one and with two depots, and JSON; ids of the file in solutions."""
    instance = read_text(Text(OPLIB))
    assert (instance.name, instance.comment, instance.limit, instance.closed) == ("small", "three nodes", 14, True)
    assert instance.scores.tolist() == [0, 5, 3] and instance.graph.ids.tolist() == [1, 2, 5]
    assert ORIENTEERING.to_json(instance, np.array([0, 2, 0])) == [1, 5, 1]
    assert ORIENTEERING.from_json(instance, [1, 5, 1]).tolist() == [0, 2, 0]
    assert ORIENTEERING.evaluate(instance, [0, 2, 0]) == 3
    changed = OPLIB.replace("SECTION\n1\n-1", "SECTION\n1 5\n-1").replace("EUC_2D", "EXACT_2D").replace(": 14", ": 10")
    path = read_text(Text(changed))
    assert same(path, read_text(Text(JSON))) and ORIENTEERING.evaluate(path, [0, 2]) == 3
    assert ORIENTEERING.recognises(OPLIB) and ORIENTEERING.recognises(JSON)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("2 5\n", "2 -5\n", r":13: NODE_SCORE_SECTION: a score of -5 is not accepted"),
        ("2 5\n", "", r"NODE_SCORE_SECTION: node 2 has no score"),
        ("2 5\n", "2 5\n2 5\n", r":14: NODE_SCORE_SECTION: node 2 is given twice"),
        ("2 5\n", "7 5\n", r":13: NODE_SCORE_SECTION: there is no node 7"),
        ("COST_LIMIT : 14", "COST_LIMIT : -1", r":5: COST_LIMIT: '-1' is not accepted"),
        ("COST_LIMIT : 14\n", "", r"COST_LIMIT: missing"),
        ("DEPOT_SECTION\n1\n", "DEPOT_SECTION\n9\n", r":16: DEPOT_SECTION: there is no node 9"),
        ("DEPOT_SECTION\n1\n", "DEPOT_SECTION\n", r":15: DEPOT_SECTION: 0 nodes"),
        ("DEPOT_SECTION\n1\n-1\n", "", r"DEPOT_SECTION: missing"),
        ("2 3 4", "2 3 x", r":9: NODE_COORD_SECTION: 'x'"),
        ("TYPE : OP", "TYPE : TSP", r":3: TYPE: 'TSP' is not accepted; accepted: OP"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_3(tmp_path, capsys, old, new, place):
    """The command line names file, line and field."""
    file = tmp_path / "bad.oplib"
    file.write_text(OPLIB.replace(old, new))
    assert main(["solve", str(file), "--problem", "orienteering"]) == 3
    assert "\n" not in capsys.readouterr().err.strip()
    with pytest.raises(InputError, match=place):
        ORIENTEERING.read(file)


def test_refused_instances(random_instance):
    """Asymmetric matrices, negative distances, scores and limits, ends that there are not."""
    graph = random_instance(4, "EXPLICIT").graph
    crooked = graph.matrix.copy()
    crooked[0, 1] += 1
    for parts in (
        {"graph": replace(graph, matrix=crooked, symmetric=False)}, {"graph": replace(graph, matrix=-graph.matrix)},
        {"scores": np.array([1, 1, 1, -1.0])}, {"scores": np.ones(3)}, {"limit": -1.0}, {"limit": float("nan")}, {"start": 4},
    ):  # fmt: skip
        with pytest.raises(InputError):
            OrienteeringInstance(**({"graph": graph, "scores": np.ones(4), "limit": 5.0} | parts))


def test_shortest_path(random_instance, most):
    """Without the triangle inequality a detour may be shorter than the direct way; none is found where there is none."""
    for seed in range(20):
        instance = random_instance(6, "EXPLICIT", seed, False)
        for limit in (0.0, instance.limit / 2, instance.limit / 4):
            given_less = replace(instance, limit=limit)
            path = shortest_path(given_less)
            assert (path is None) == (most(given_less) == -math.inf)
            assert path is None or path_length(instance, path) <= limit


def test_generators_are_what_they_say():
    """The same for a seed; scores of the generations; wrong parameters are refused."""
    for name, generate in ORIENTEERING.generators.items():
        instance = generate(size=50, seed=7)
        assert same(instance, generate(size=50, seed=7)) and not same(instance, generate(size=50, seed=8))
        assert name in instance.comment and "--seed 7" in instance.comment and instance.closed
        for parameters in ({"size": 0}, {"limit" if name == "distance" else "share": -1.0}):
            with pytest.raises(UsageError):
                generate(**parameters)
    assert (ORIENTEERING.generators["generation-1"]().scores == 1).all()
    assert ORIENTEERING.generators["generation-2"]().scores[:3].tolist() == [74, 15, 56]
    far = ORIENTEERING.generators["generation-3"]().scores
    assert far[0] == 0 and far.max() == 100 and far[1:].min() >= 1
    kool = ORIENTEERING.generators["distance"]
    assert [kool(size=n).limit for n in (10, 20, 50, 99, 100)] == [2, 2, 3, 3, 4] and kool(limit=2.5).limit == 2.5
    found = kool().scores
    assert len(found) == 101 and found[0] == 0 and found.max() == 1 and found[1:].min() >= 0.01


@pytest.mark.parametrize("generation", [1, 2, 3])
def test_scores_are_those_of_oplib(data, generation):
    """The generations' scores on TSPLIB's nodes are those that OPLib's files have."""
    for name in ("rd400", "pr1002", "eil101"):
        instance = ORIENTEERING.read(data / "vrp" / "op" / f"{name}-gen{generation}-50.oplib")
        assert scores(instance.graph, generation).tolist() == instance.scores.tolist()


def test_adapt_and_facts(tmp_path, random_instance):
    """Mappings of lists or arrays; anything else is refused; facts and pictures."""
    from corl.files.drawing import save

    instance = ORIENTEERING.adapt({"points": np.array([[0, 0], [3, 4.0], [6, 0]]), "scores": [0, 5, 3], "limit": 10, "end": 2})
    assert same(instance, read_text(Text(JSON)))
    for wrong in (3, {}, {"points": [[0, 0]], "scores": [1]}, {"points": [[0, 0]], "scores": ["a"], "limit": 1}):
        with pytest.raises(InputError):
            ORIENTEERING.adapt(wrong)
    assert ORIENTEERING.describe(instance)["limit"] == 10
    for kind, solution in (("EUC_2D", None), ("EUC_2D", np.array([0, 0])), ("EXPLICIT", np.array([0, 0]))):
        save(ORIENTEERING, random_instance(6, kind, 1), solution, tmp_path / "a.svg")
        assert (tmp_path / "a.svg").stat().st_size > 1000


def test_command_line(tmp_path, capsys):
    """generate, info, solve with JSON, check; a limit below the way to the end is exit 4, in words."""
    file, answer = tmp_path / "a.oplib", tmp_path / "a.json"
    assert main(["generate", "orienteering", "--size", "20", "--output", str(file)]) == 0
    assert main(["info", str(file)]) == 0
    assert main(["solve", str(file), "--iterations", "300", "--output", str(answer), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["solution"][0] == told["solution"][-1] == 1 and told["objective"] <= told["bound"]
    assert main(["check", str(file), str(answer)]) == 0
    capsys.readouterr()
    file.write_text(JSON.replace('"limit": 10', '"limit": 5'))
    assert main(["solve", str(file), "--iterations", "10"]) == 4
    told = capsys.readouterr()
    assert "infeasible" in told.out + told.err
