"""Branch and bound as a decision process: the judge believes proofs only, what is observed is the node, searches run on it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import corl
from corl.errors import Infeasible, InputError, UsageError
from corl.policy import RulePolicy
from corl.problems.milp.instance import from_triplets
from corl.problems.milp.problem import Milp
from corl.problems.milp_branching.candidates import Feature
from corl.problems.milp_branching.environment import BranchingEnvironment
from corl.problems.milp_branching.features import FEATURES, TREE_FEATURES
from corl.problems.milp_branching.generators import GENERATORS
from corl.problems.milp_branching.instance import BranchingInstance, BranchingTree
from corl.problems.milp_branching.problem import MilpBranching

BRANCHING, MILP = MilpBranching(), Milp()


def brute_force(instance):
    """The best objective over all points of a program of integers, or None."""
    program, values = instance.program, []
    for point in itertools.product(range(-1, 3), repeat=program.n):
        try:
            values.append(MILP.evaluate(program, point))
        except Infeasible:
            continue
    return (max if program.sense == "max" else min)(values, default=None)


def test_a_millionth_is_no_zero_where_a_row_says_so(tmp_path):
    """A binary at 1e-6 with a coefficient of 1e6 gives what a row asks for; the 0 that it is near does not: it is branched on."""
    rows = "ROWS\n N obj\n G c\nCOLUMNS\n M1 'MARKER' 'INTORG'\n x obj 38\n x c 1\n y obj 85\n y c 1e6\n M2 'MARKER' 'INTEND'\n"
    path = tmp_path / "large.mps"
    path.write_text(f"NAME large\n{rows}RHS\n RHS c 1\nBOUNDS\n UP B x 1\n UP B y 1\nENDATA\n")
    result = corl.solve(path, problem="milp-branching", solver="rule", iterations=20)
    assert result.solution.incumbent.tolist() == [1.0, 0.0]


@pytest.mark.filterwarnings("error")
def test_the_spread_of_a_row_may_be_infinite():
    """1 beside the smallest number that there is."""
    program = from_triplets("a", "min", [1.0, 1.0], [0, 0], [0, 1], [1.0, 1e-320], [0.0], [1.0])
    assert program.spreads.tolist() == [np.inf]


def grown(instance, seed=0):
    """A tree whose decisions are random."""
    environment, random = BranchingEnvironment([instance], 1), np.random.default_rng(seed)
    while (actions := environment.actions([0])[0])[0] >= 0:
        environment.step([0], [0], [random.choice(actions[actions >= 0])])
    return environment.solution(0)


def test_trees_prove_the_optimum_of_brute_force(tiny):
    """Whatever is branched on, the incumbent is the best point; programs without a point have trees without an incumbent."""
    kinds = set()
    for seed in (s for s in range(40) if s % 3):  # without continuous variables
        instance = tiny(seed, 4)
        tree, best = grown(instance, seed), brute_force(instance)
        assert BRANCHING.evaluate(instance, tree) == tree.nodes
        assert (tree.incumbent is None) == (best is None)
        assert best is None or MILP.evaluate(instance.program, tree.incumbent) == pytest.approx(best, rel=1e-9)
        kinds.add((best is None, tree.nodes > 1))
    assert kinds == {(False, True), (False, False), (True, False), (True, True)}


def test_no_proof_no_objective(tiny):
    """A worse incumbent, a leaf cut short, a missing or an extra node, a branching outside the limits: each is refused."""
    instance = next(i for i in map(tiny, range(1, 99, 3)) if (tree := grown(i)).nodes > 5 and tree.incumbent is not None)
    inner, leaf = int(tree.variable.argmax()), int(tree.variable.argmin())
    assert BRANCHING.evaluate(instance, tree) == tree.nodes
    worse = [
        p
        for p in itertools.product(range(-1, 3), repeat=5)
        if _value(instance, p) not in (None, _value(instance, tree.incumbent))
    ]
    root_only = BranchingTree(np.array([-1], np.int32), np.zeros(1), np.zeros(1, np.bool_), tree.incumbent)
    far = tree.floor.copy()
    far[inner] = 7.0
    half = tree.floor.copy()
    half[inner] += 0.5
    for bad, reason in (
        (replace(tree, incumbent=np.array(worse[0], float)), "better than the incumbent"),
        (replace(tree, incumbent=None), "relaxation is feasible"),
        (replace(tree, incumbent=tree.incumbent + 100.0), "above its limit"),
        (root_only, "node 0 is a leaf"),
        (BranchingTree(tree.variable[:-1], tree.floor[:-1], tree.up_first[:-1], tree.incumbent), "ends before 1"),
        (
            BranchingTree(*(np.append(a, a[leaf]) for a in (tree.variable, tree.floor, tree.up_first)), tree.incumbent),
            "after the end",
        ),
        (replace(tree, floor=far), "within its limits"),
        (replace(tree, floor=half), "within its limits"),
        ([1, 2], "is a BranchingTree"),
    ):
        with pytest.raises(Infeasible, match=reason):
            BRANCHING.evaluate(instance, bad)


def _value(instance, point):
    try:
        return MILP.evaluate(instance.program, np.asarray(point, float))
    except Infeasible:
        return None


def test_observations_say_what_the_node_is(tiny):
    """Shapes; the most fractional first; fraction and cost are the LP's and the program's; empty slots are zero."""
    instance = GENERATORS["auctions"](size=40, seed=1)
    environment = BranchingEnvironment([instance, tiny(2)], 2, 12)
    environment.reset([0, 1], [0, 1])
    seen = environment.observe([0, 1])
    state = environment.tree(0)[1]
    assert seen["candidates"].shape == (2, 12, len(FEATURES)) and seen["tree"].shape == (2, len(TREE_FEATURES))
    assert np.isfinite(seen["candidates"]).all() and not seen["candidates"][~seen["mask"]].any()
    listed = seen["action"][0][seen["mask"][0]]
    of = dict(zip(FEATURES, seen["candidates"][0, : len(listed)].T))
    assert len(listed) and (np.diff(of[Feature.TO_INTEGER]) <= 1e-6).all()
    x = state.relaxation.x[listed]
    np.testing.assert_allclose(of[Feature.FRACTION], x - np.floor(x), atol=1e-6)
    cost = -instance.program.c / np.linalg.norm(instance.program.c)  # a program that is maximised
    np.testing.assert_allclose(of[Feature.COST], cost[listed], rtol=1e-6)
    rows = np.bincount(instance.program.column, minlength=instance.program.n)
    np.testing.assert_allclose(of[Feature.ROWS], np.log1p(rows[listed]), rtol=1e-6)


def test_bad_steps_and_programs():
    """Actions that are not fractional, unfinished rows, integers without limits, unbounded relaxations."""
    environment = BranchingEnvironment([GENERATORS["auctions"](size=40, seed=1)], 1)
    integral = int(np.setdiff1d(np.arange(40), environment.actions([0])[0])[0])
    with pytest.raises(UsageError, match="not legal"):
        environment.step([0], [0], [integral])
    with pytest.raises(UsageError, match="are open"):
        environment.solution(0)
    with pytest.raises(InputError, match="without limits"):
        BranchingInstance(from_triplets("u", "min", [1.0], [], [], [], [], [], integer=True))
    free = BranchingInstance(
        from_triplets("u", "max", [1.0, 1.0], [], [], [], [], [], upper=[1.0, np.inf], integer=[True, False])
    )
    with pytest.raises(UsageError, match="unbounded"):
        BranchingEnvironment([free], 1)


def test_programs_without_integers_are_trees_of_one_node():
    """There is nothing to branch on, and that is no fault."""
    program = from_triplets("c", "max", [1.0, 1.0], [0, 0], [0, 1], [1.0, 2.0], [-np.inf], [3.0], upper=2.0)
    result = corl.solve(BranchingInstance(program), problem="milp-branching", time_limit=600)
    assert result.objective == 1 and result.solution.incumbent.tolist() == [2, 0.5]


def test_json_files_and_decisions(tmp_path):
    """A tree goes through JSON, a program through a file; decisions grow the same tree again; faults are named."""
    instance = GENERATORS["auctions"](size=40, seed=1)
    tree = grown(instance, 5)
    again = BRANCHING.from_json(instance, BRANCHING.to_json(instance, tree))
    assert BRANCHING.evaluate(instance, again) == tree.nodes > 1
    assert BRANCHING.decisions(instance, tree).tolist() == tree.variable[tree.variable >= 0].tolist()
    for bad in (3, {"tree": 1, "incumbent": None}, {"tree": [["x1", 0, "left"]], "incumbent": None}, {"tree": [None]}):
        with pytest.raises(InputError):
            BRANCHING.from_json(instance, bad)
    BRANCHING.write(instance, tmp_path / "a.mps")
    read = BRANCHING.read(tmp_path / "a.mps")
    assert BRANCHING.evaluate(read, tree) == tree.nodes
    with pytest.raises(UsageError, match="depth first"):
        BRANCHING.decisions(instance, replace(tree, variable=np.where(tree.variable < 0, -1, 39).astype(np.int32)))


@pytest.mark.long  # compiles the search
def test_search_plans_on_it():
    """Tree search on copies of the rows, with a policy that knows nothing, proves the optimum in no more nodes than the worst."""
    from corl.search.gumbel import Gumbel
    from corl.search.models import SimulatorModel, rows_needed

    class Blind(RulePolicy):
        def evaluate(self, observation):
            return np.where(observation["mask"], 0.0, -np.inf).astype(np.float32), np.zeros(len(observation["mask"]))

    instance = GENERATORS["auctions"](size=40, seed=1)
    environment = BranchingEnvironment([instance], rows_needed(1, 8), 6)
    model, total = SimulatorModel(environment, Blind().on(environment), first=1), float(environment.reset([0], [0])[0])
    while environment.actions([0])[0, 0] >= 0:
        result = Gumbel(simulations=8, noise=0.0).search(model, roots=np.array([0]), keys=0)
        total += float(environment.step([0], [0], result.action)[0])
    assert BRANCHING.evaluate(instance, environment.solution(0)) == -total


@pytest.mark.parametrize("solver", ["policy", pytest.param("tree-search", marks=pytest.mark.long)])
def test_generic_solvers_run_on_it(solver, tmp_path):
    """An untrained network of the generic kind decodes and searches: with a small and a larger budget the tree is a proof."""
    import torch

    from corl.networks.attention import AttentionPolicy
    from corl.networks.checkpoints import save

    torch.manual_seed(0)
    instance, path = GENERATORS["auctions"](size=40, seed=1), tmp_path / "p.safetensors"
    inputs = len(FEATURES) + len(TREE_FEATURES)
    network = AttentionPolicy("milp-branching", "candidates", inputs, extra=1, width=16, layers=1, heads=2, feedforward=16)
    save(path, network)
    optimum = corl.solve(instance.program).objective
    for iterations in (40, 150):
        result = corl.solve(instance, solver=solver, policy=str(path), iterations=iterations)
        assert result.verified and MILP.evaluate(instance.program, result.solution.incumbent) == pytest.approx(optimum)
