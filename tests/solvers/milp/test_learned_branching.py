"""Learned branching: features, lessons, the recipe, the rule inside SCIP, and which programs a policy is for."""

from __future__ import annotations

import gc
import itertools

import numpy as np
import pyscipopt
import pytest
import torch
from scipy.special import softmax

import corl
from corl.errors import UsageError
from corl.learning.algorithms import imitation
from corl.learning.replay import Replay
from corl.learning.training import train
from corl.networks import checkpoints
from corl.problems.milp.generators import auctions, facility_location, independent_set, multiple_knapsack, set_cover
from corl.problems.milp.problem import Milp
from corl.problems.milp_branching.candidates import Feature
from corl.run import Run
from corl.solvers.milp.branching.network import BranchingNetwork, scorer_of
from corl.solvers.milp.branching.policy import load_branching
from corl.solvers.milp.branching.recipe import BranchingRecipe
from corl.solvers.milp.branching.scoring import scores
from corl.solvers.milp.branching.signature import family_of, matches, shipped_policies, signature, signature_range
from corl.solvers.milp.imitation.teacher import Teacher, strong_branching
from corl.solvers.milp.scip import functions as scip_functions
from corl.solvers.milp.scip.candidates import candidates, features
from corl.solvers.milp.scip.model import Engine, fill
from corl.solvers.milp.scip.recorder import Recorder, record
from corl.solvers.milp.scip.rule import Rule

RECIPE = BranchingRecipe(family="auctions")


class Watched(Teacher):
    """Keeps what it saw and did at every node: features, the choice, and the label (None: not labelled)."""

    def __init__(self, recorder, lesson, *given):
        super().__init__(recorder, self.watch, *given)
        self.learned, self.nodes, self.label = lesson, [], None

    def watch(self, node, seen, label):
        self.label = label
        return self.learned(node, seen, label)

    def __call__(self, node):
        self.label, seen = None, node.features.copy()
        self.nodes.append((seen, super().__call__(node), self.label))
        return self.nodes[-1][1]


def recorded(choose, recorder, iterations=None):
    """The episode of a small program's tree."""
    assert scip_functions.load()
    instance = multiple_knapsack(items=30, knapsacks=4, seed=1)
    run = Run(Milp().with_sense_of(instance), instance, seed=3, iterations=iterations)
    run.start()
    return record(instance, run, choose, recorder)


def taught(*given, iterations=None):
    """(who taught a small program's tree, the episode)."""
    recorder = Recorder(BranchingNetwork())
    teacher = Watched(recorder, RECIPE.lesson, 3, *given)
    return teacher, recorded(teacher, recorder, iterations)


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """Trained for a few steps on a folder with one program."""
    folder = tmp_path_factory.mktemp("programs")
    Milp().write(multiple_knapsack(items=30, knapsacks=4, seed=1), folder / "k.mps.gz")
    output = folder / "own.safetensors"
    options = {"instances": str(folder), "samples": 8, "share": 1.0, "each": 4, "updates": 20, "judge": False}
    training = train("milp", "branching", steps=100, seed=1, device="cpu", workers=0, output=output, **options)
    assert training.limit == "finished" and training.metrics["nodes"] >= 8 and np.isfinite(training.metrics["loss"])
    return output


def test_features_of_a_node():
    """Those that SCIP's Python interface knows too have its values; those beside others are shares."""
    seen = []

    class Look(pyscipopt.Branchrule):
        def branchexeclp(self, allowaddcons):
            pointers = candidates(scip_functions.pointer_of(self.model))
            variables, values, fractions, *_ = self.model.getLPBranchCands()
            assert [v.ptr() for v in variables] == pointers.tolist()
            known = {
                "FRACTION": np.array(fractions), "TO_INTEGER": np.minimum(fractions, 1.0 - np.array(fractions)),
                "DEPTH": np.log1p(self.model.getDepth()) * np.ones(len(values)),
            }  # fmt: skip
            seen.append((features(scip_functions.pointer_of(self.model), pointers, 0), known))
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}

    model = pyscipopt.Model()
    model.hideOutput()
    fill(model, multiple_knapsack(items=30, knapsacks=4, seed=1))
    model.setParam("limits/nodes", 10)
    model.includeBranchrule(Look(), "look", "", 536870911, -1, 1.0)
    model.optimize()
    model.freeProb()
    assert len(seen) >= 3
    for found, known in seen:
        assert np.isfinite(found).all()
        for name, values in known.items():
            assert found[:, Feature[name]] == pytest.approx(values, abs=1e-9), name
        for name in ("DUAL_SHARE", "FRACTION_SHARE", "ROWS_SHARE", "TIGHT_SHARE"):
            assert (found[:, Feature[name]] >= -1e-9).all() and (found[:, Feature[name]] <= 1.0 + 1e-9).all()
        assert found[:, Feature.GAINS_BELOW_BEST].max() == 0.0


def test_nodes_without_lp_are_left_to_scip():
    """A rule of ours is silent where SCIP has no LP solution of a node (trouble in the LP, its limit): the optimum is found."""
    instance = multiple_knapsack(items=6, knapsacks=2, seed=1)
    run = Run(Milp().with_sense_of(instance), instance, seed=1)
    run.start()
    engine = Engine(instance, run, {"lp/solvefreq": -1, "presolving/maxrounds": 0})
    try:
        engine.add(Rule(engine.model, engine.callbacks, lambda node: pytest.fail("asked")), "ours", "")
        assert engine.solve(lambda kind, value: None) == "optimal" and engine.model.getNTotalNodes() > 1
        assert engine.model.getObjVal() == pytest.approx(corl.solve(instance, solver="scip").objective)
    finally:
        engine.close()


def test_kernel_scores_as_torch_does():
    """The same network, to float32's accuracy, with inputs beyond the clip among them."""
    torch.manual_seed(3)
    network = BranchingNetwork()
    inputs = torch.randn(50, len(Feature)) * 4.0
    network.standardise(network.collate([], [{"lines": inputs[None, :20].numpy(), "mask": np.ones((1, 20), bool)}], np.zeros(1)))
    expected = network.score(inputs).detach().numpy()
    assert scores(scorer_of(network), inputs.double().numpy()) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_strong_branching_leaves_no_trace():
    """What SCIP knows of the candidates (pseudocosts, their counts, inferences, cutoffs) is as before. The choice is the best."""
    nodes = [(choice, label) for _, choice, label in taught(1.0, 12, 1000)[0].nodes if label is not None]
    assert len(nodes) >= 3
    for choice, label in nodes:
        assert label.scores[label.slots.tolist().index(choice)] == label.scores.max()
    seen = []

    def look(node):
        before = node.features
        strong_branching(node.model, node.model.getLPBranchCands()[0])
        seen.append((before, features(node.pointer, node.candidates, 0)))
        return -1

    recorded(look, Recorder(BranchingNetwork()), 8)
    assert len(seen) >= 3
    history = slice(Feature.PSEUDOCOST_DOWN, Feature.FROM_INCUMBENT + 1)
    for before, after in seen:
        assert after[:, history] == pytest.approx(before[:, history], rel=1e-6, abs=1e-6)


def test_lessons_of_the_states_that_a_policy_comes_to(policy, tmp_path):
    """It chooses where strong branching is not asked; where it is, its best candidates are asked about. The recipe takes it."""
    grower = load_branching(str(policy))
    teacher, episode = taught(0.3, 20, 4, grower, iterations=60)
    for seen, choice, label in teacher.nodes:
        order = np.argsort(-scores(grower.scorer, seen), kind="stable")
        if label is None:
            assert choice == order[0]
        else:
            assert len(label.slots) == min(4, len(seen)) and set(order[:2]) <= set(label.slots)
            assert label.scores[label.slots.tolist().index(choice)] == label.scores.max()
    labelled = [(seen, label) for seen, _, label in teacher.nodes if label is not None]
    assert 2 <= len(labelled) == int(episode.lengths.sum()) < len(teacher.nodes)
    for lines, mask, target, (seen, label) in zip(
        episode.observed["lines"], episode.observed["mask"], episode.moves["policy"], labelled, strict=True
    ):
        assert lines[mask] == pytest.approx(seen[label.slots], rel=1e-6)
        assert target[mask] == pytest.approx(softmax(label.scores / 0.3), rel=1e-4, abs=1e-9)
    options = {"family": "multiple-knapsack", "samples": 8, "each": 8, "share": 1.0, "updates": 2, "policy": str(policy)}
    output = tmp_path / "p.safetensors"
    training = train("milp", "branching", steps=20, device="cpu", workers=0, output=output, **options)
    assert training.limit == "finished" and training.metrics["nodes"] >= 8


def test_the_loss_prefers_the_best():
    """Learning one labelled node, beside one with fewer candidates, raises the best candidate's score."""
    torch.manual_seed(0)
    network, inputs = BranchingNetwork(), torch.randn(2, 6, len(Feature))
    seen = [{"lines": inputs.numpy(), "mask": np.arange(6) < np.array([[6], [2]])}]
    target = torch.softmax(torch.tensor([[0.0, 0.1, 2.0, 0.0, 0.3, 0.2], [1.0, 0.0, *[-torch.inf] * 4]]) / 0.3, 1)
    batch = imitation.Batch(network.collate([], seen, np.zeros(2)), target, torch.zeros(2))
    before, optimiser = network.score(inputs).detach(), torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(40):
        optimiser.zero_grad()
        imitation.loss(network, batch)[0].backward()
        optimiser.step()
    after = network.score(inputs).detach()
    assert after.argmax(1)[0] == 2 and after[1, 0] > after[1, 1]
    assert after[0, 2] - after[0].mean() > before[0, 2] - before[0].mean()
    logits, values = network(batch.states)
    assert torch.equal(torch.isfinite(logits), torch.from_numpy(seen[0]["mask"])) and not values.any()


def test_a_tree_becomes_an_episode(policy):
    """Under a compiled policy: the same tree as without a recorder, its choices, its nodes as rewards, which children are whose;
    and a replay takes it."""
    grower, plain, recorder, slots, lower = load_branching(str(policy)), [], Recorder(BranchingNetwork()), [], []

    def chosen(node):
        best = int(np.argmax(grower.scores(node)))
        lower.append([variable.getLbLocal() for variable in node.model.getVars(transformed=True)])
        slots.append((best, grower(node), node.model.getDepth(), node.model.getNTotalNodes()))
        return slots[-1][1]

    def counted(node):
        plain.append(grower(node))
        return plain[-1]

    episode = recorded(recorder.recording(chosen), recorder, 60)
    assert not recorded(counted, Recorder(BranchingNetwork()), 60).lengths.any()
    best, taken, depth, nodes = np.array(slots).T
    count, moves, seen = len(slots), episode.moves, episode.observed
    assert count >= 8 and plain == taken.tolist() == best.tolist() == moves["slot"].tolist()
    assert (moves["policy"].argmax(1) == taken).all() and (moves["actions"] >= 0).sum(1).tolist() == seen["mask"].sum(1).tolist()
    assert seen["lines"][:, 0, Feature.DEPTH] == pytest.approx(np.log1p(depth))
    assert -nodes[0] + moves["reward"].sum() == episode.objective[0] and (moves["reward"][:-1] == -np.diff(nodes)).all()
    assert (moves["returns"] == moves["reward"][::-1].cumsum()[::-1]).all()
    parents, ways = np.nonzero(moves["children"])
    below = parents + moves["children"][parents, ways]
    assert sorted(below) == list(range(1, count)) and (depth[below] == depth[parents] + 1).all() and set(ways) == {0, 1}
    variables = moves["actions"][parents, taken[parents]]  # all are binary
    assert (np.array(lower)[below, variables] == ways).all() and not np.array(lower)[parents, variables].any()
    replay = Replay(count)
    replay.add(episode)
    batch = imitation.draw(replay, np.arange(count), BranchingNetwork())
    assert batch.states.mask.shape == batch.target.shape and (batch.value.numpy() == moves["returns"]).all()


def test_a_policy_of_ones_own(policy):
    """Trained on a folder, it knows such programs; what SCIP proves with it is what SCIP proves; a seed gives the same bits."""
    knapsack, instance = multiple_knapsack(items=30, knapsacks=4, seed=7), set_cover(rows=100, columns=200, density=0.08, seed=2)
    config = checkpoints.read_header(policy)["config"]
    assert matches(signature(knapsack), config["lower"], config["upper"])
    assert not matches(signature(instance), config["lower"], config["upper"])
    expected = corl.solve(instance, solver="scip", time_limit=600)
    found = corl.solve(instance, solver="learned-branching", policy=str(policy), time_limit=600)
    assert (found.status, found.objective, found.bound) == ("optimal", expected.objective, expected.bound)
    one, two = (corl.solve(knapsack, solver="learned-branching", policy=str(policy), iterations=12, seed=5) for _ in range(2))
    assert one.objective == two.objective and one.bound == two.bound


def test_programs_of_no_family_are_refused(policy):
    """Without a policy's name; and `auto` is then SCIP."""
    instance = multiple_knapsack(items=10, knapsacks=2, seed=2)
    with pytest.raises(UsageError, match="no policy was trained on such programs"):
        corl.solve(instance, solver="learned-branching", time_limit=600)
    assert corl.solve(instance, time_limit=600).solver == "scip"


def test_signatures_tell_families_apart():
    """Each family is within its own range, at twice the size too, and in no other one's."""
    makers = {
        "auctions": lambda seed, k: auctions(items=40 * k, bids=150 * k, seed=seed),
        "facility-location": lambda seed, k: facility_location(customers=12 * k, facilities=12 * k, seed=seed),
        "independent-set": lambda seed, k: independent_set(nodes=120 * k, seed=seed),
        "multiple-knapsack": lambda seed, k: multiple_knapsack(items=30 * k, knapsacks=4 * k, seed=seed),
        "set-cover": lambda seed, k: set_cover(rows=60 * k, columns=120 * k, seed=seed),
    }
    ranges = {name: signature_range([signature(make(seed, 1)) for seed in range(4)]) for name, make in makers.items()}
    for (name, make), (other, limits), size in itertools.product(makers.items(), ranges.items(), (1, 2)):
        assert matches(signature(make(9, size)), *limits) == (name == other), (name, other, size)


def test_programs_of_the_trained_families_are_recognised():
    """At their usual and twice the number of columns, fresh seeds: the policy of their own name. `auto` takes the faster one."""
    from corl.problems.milp.generators import GENERATORS
    from corl.solvers.milp.auto import choose

    larger = {
        "auctions": {"items": 200, "bids": 1000}, "set-cover": {"columns": 2000}, "independent-set": {"nodes": 1000},
        "facility-location": {"customers": 50, "facilities": 50}, "multiple-knapsack": {"items": 200},
        "generalised-assignment": {"jobs": 120}, "lot-sizing": {"periods": 30}, "network-design": {"arcs": 200},
    }  # fmt: skip
    trained = {config["family"] for config in shipped_policies().values()}
    assert {"auctions", "set-cover", "independent-set"} <= trained and set(larger) == set(GENERATORS)
    for name, make in GENERATORS.items():
        for options in ({}, larger[name]):
            instance = make(seed=77, **options)
            assert family_of(instance) == (f"milp-{name}" if name in trained else ""), (name, options)
            assert choose(instance, 10.0, None) == ("learned-branching" if name == "independent-set" else "scip")


def test_other_programs_belong_to_no_family(data):
    """Those of MIPLIB 3 among the shared data."""
    files = sorted((data / "milp" / "miplib3").glob("*.mps.gz"))
    assert len(files) >= 25
    assert [path.name for path in files if family_of(Milp().read(path))] == []


def test_bad_options():
    """Said before anything is collected."""
    wrong = ({"instances": "x"}, {"samples": 3}, {"width": 1}, {"family": "none"})
    for options in ({}, *({"family": "auctions"} | one for one in wrong)):
        with pytest.raises(UsageError):
            train("milp", "branching", steps=3, device="cpu", **options)


def test_training_on_a_folder_at_the_command_line(tmp_path, capsys, monkeypatch):
    """`corl train milp --instances FOLDER` names no recipe; an empty folder and programs without branching are one line each."""
    from corl.cli.main import main

    def run(*words):
        options = ["--workers", "0", "--steps", "60", "--option", "judge=false"]
        code = main(["train", "milp", "--instances", str(tmp_path), *options, *words])
        return code, capsys.readouterr()

    monkeypatch.chdir(tmp_path)
    code, told = run()
    assert code == 2 and "no .mps or .lp file there" in told.err and told.err.count("\n") == 1
    Milp().write(multiple_knapsack(items=4, knapsacks=1, seed=1), tmp_path / "easy.mps")
    code, told = run()
    assert code == 2 and "before it had to branch" in told.err and told.err.count("\n") == 1
    Milp().write(multiple_knapsack(items=30, knapsacks=4, seed=1), tmp_path / "k.mps.gz")
    code, told = run("--progress", "--option", "samples=8", "--option", "each=4", "--option", "share=1", "--option", "updates=20")
    assert code == 0 and "milp-branching.safetensors" in told.out and "nodes" in told.err
    result = corl.solve(tmp_path / "k.mps.gz", solver="learned-branching", policy="milp-branching.safetensors", iterations=5)
    assert result.solver == "learned-branching"


@pytest.mark.long
def test_many_solves_keep_the_memory():
    """200 solves with the shipped policy's rule in one process: it grows by less than 100 MB after the first 20."""
    import resource  # not on Windows

    instance = multiple_knapsack(items=12, knapsacks=3, seed=1)
    sizes = []
    for k in range(200):
        found = corl.solve(instance, solver="learned-branching", policy="milp-auctions", time_limit=600)
        assert found.status == "optimal"
        if k in (19, 199):
            gc.collect()
            sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    assert sizes[1] - sizes[0] < 100
