"""The classical branching rules: what they choose, against definitions; the trees they grow, against the judge and SCIP."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import corl
from corl.errors import Infeasible, InputError, UsageError
from corl.learning.training import train
from corl.problems.milp.evaluation import objective
from corl.problems.milp.instance import from_triplets
from corl.problems.milp_branching.environment import BranchingEnvironment
from corl.problems.milp_branching.generators import GENERATORS
from corl.problems.milp_branching.instance import BranchingInstance
from corl.problems.milp_branching.problem import MilpBranching
from corl.problems.milp_branching.relaxations import OutOfTime
from corl.solvers.milp_branching.rule import chosen, scores

RULES = ("most-fractional", "pseudocost", "strong")


def test_trees_prove_what_scip_finds():
    """Every rule ends with SCIP's optimum; a bench of three trees: strong branching needs the fewest nodes."""
    nodes = dict.fromkeys(RULES, 0.0)
    for seed in (0, 1, 2):
        instance = GENERATORS["auctions"](size=60, seed=seed)
        optimum = corl.solve(instance.program, solver="scip", iterations=10_000).objective
        for rule in RULES:
            result = corl.solve(instance, solver="rule", rule=rule, iterations=10_000)
            assert objective(instance.program, result.solution.incumbent) == pytest.approx(optimum, rel=1e-9)
            assert result.verified and result.solver == "rule"
            nodes[rule] += result.objective
    assert nodes["strong"] < min(nodes["most-fractional"], nodes["pseudocost"])


def test_scores_by_their_definitions():
    """At a node where something is known: the fraction; products of the children's true gains, and of pseudocosts."""
    environment = BranchingEnvironment([GENERATORS["auctions"](size=60, seed=3)], 1, 60)
    for _ in range(3):
        environment.step([0], [0], [chosen(environment, 0, "most-fractional")])
    relaxations, state = environment.tree(0)
    listed = environment.actions([0])[0]
    listed = listed[listed >= 0]
    assert len(listed) > 1
    x, node = state.relaxation.x, state.node
    np.testing.assert_allclose(scores(environment, 0, "most-fractional", listed), np.abs(x - np.round(x))[listed])
    total, count = state.pseudocosts
    for score, guess, j in zip(scores(environment, 0, "strong", listed), scores(environment, 0, "pseudocost", listed), listed):
        down, up = node.upper.copy(), node.lower.copy()
        down[j], up[j] = np.floor(x[j]), np.ceil(x[j])
        gains = [
            relaxations.solve(*pair).objective - state.relaxation.objective for pair in ((node.lower, down), (up, node.upper))
        ]
        assert score == pytest.approx(np.prod(np.clip(gains, 1e-6, 1e100)), rel=1e-9)
        moved = (x[j] - np.floor(x[j]), np.ceil(x[j]) - x[j])
        if count[0, j] and count[1, j]:
            each = [max(1e-6, total[k, j] / count[k, j] * moved[k]) for k in (0, 1)]
            assert guess == pytest.approx(each[0] * each[1], rel=1e-9)


def test_strong_branching_sees_infeasible_children():
    """Where one variable alone makes both children infeasible, it is chosen at once: a tree of three nodes."""
    rows, columns = [0, 0, 1, 1], [0, 1, 1, 2]
    program = from_triplets("s", "max", [1.0, 1.0, 1.0], rows, columns, [2.0, 2.0, 1.0, 1.0], [3.0, -np.inf], [3.0, 1.5],
                            upper=1.0, integer=True)  # fmt: skip
    result = corl.solve(BranchingInstance(program), solver="rule", rule="strong", iterations=100)
    assert result.objective == 3.0 or result.solution.incumbent is None
    assert result.solution.incumbent is None and result.verified


def test_a_budget_that_is_too_small_gives_no_tree():
    """A tree is whole or nothing."""
    result = corl.solve(GENERATORS["auctions"](size=40, seed=1), solver="rule", iterations=1)
    assert (result.status, result.limit) == ("no_solution", "iterations")


@pytest.mark.parametrize("recipe", ["imitation", "self-improvement"])
def test_batches_without_a_choice_are_passed_over(recipe, tmp_path):
    """Where every tree of a batch has one node nothing is learned from it; where all have, that is said in one line."""
    options = {"generator": "set-cover", "width": 16, "layers": 1, "heads": 2, "watch": 0, "size": 40}
    two = {"teacher": "rule", "batch": 2}
    options |= two if recipe == "imitation" else {"episodes": 2, "samples": 2, "updates": 1, "batch": 4}
    few = {"steps": 4, "workers": 0, "device": "cpu"}
    output = tmp_path / "p.safetensors"
    training = train("milp-branching", recipe, output=output, **options, **few)
    assert training.limit == "steps" and output.exists() and np.isfinite(training.metrics["loss"])
    with pytest.raises(UsageError, match="had two actions"):
        train("milp-branching", recipe, **options | {"size": 20}, **few)


@pytest.mark.parametrize("rule", RULES)
def test_no_linear_program_begins_after_the_limit(rule):
    """Each asks what is left: the first that finds nothing ends the tree, wherever it is, strong branching's own ones too."""
    instance, left = GENERATORS["auctions"](size=60, seed=3), [9.0] * 7
    environment = BranchingEnvironment([instance], 1, 60, remaining=lambda: left.pop() if left else 0.0)

    def grow():
        while (variable := chosen(environment, 0, rule)) >= 0:
            environment.step([0], [0], [variable])

    with pytest.raises(OutOfTime):
        grow()
    assert not left
    result = corl.solve(instance, solver="rule", rule=rule, time_limit=1e-6)
    assert (result.status, result.limit) == ("no_solution", "time_limit")


def test_badly_scaled_programs():
    """Rows and costs of 1e-9: the tree proves the true optimum, in the program's own units; a spread of 1e15 is refused."""
    rows, columns, values = [0, 0], [0, 1], np.array([2.0, 3.0])
    for unit in (1.0, 1e-9):
        program = from_triplets("s", "min", [3 * unit, 4 * unit], rows, columns, unit * values, [4 * unit], [np.inf], upper=5.0,
                                integer=True, offset=1.0)  # fmt: skip
        result = corl.solve(BranchingInstance(program), solver="rule", iterations=100)
        assert result.solution.incumbent.tolist() == [2.0, 0.0] and result.objective == 7.0
        worse = replace(result.solution, incumbent=np.array([0.0, 2.0]))
        with pytest.raises(Infeasible, match="better than the incumbent"):
            MilpBranching().evaluate(BranchingInstance(program), worse)
    with pytest.raises(InputError, match="linear programming cannot hold it: the largest coefficient of constraint c1"):
        BranchingInstance(from_triplets("s", "min", [1, 1], rows, columns, [1e15, 1], [1.0], [np.inf], upper=5.0, integer=True))
