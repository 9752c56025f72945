"""Learned reliability: its inputs, its lessons, priors as SCIP's pseudocosts, and whole solves."""

from __future__ import annotations

import numpy as np
import pyscipopt
import pytest
import torch

import corl
from corl.errors import UsageError
from corl.learning import imitation
from corl.learning.training import train
from corl.problems.milp.generators import multiple_knapsack, set_cover
from corl.problems.milp.problem import Milp
from corl.problems.milp_branching.candidates import Feature
from corl.run import Run
from corl.solvers.milp.branching.network import scorer_of
from corl.solvers.milp.reliability.features import WIDTH, Input, inputs
from corl.solvers.milp.reliability.network import GainNetwork
from corl.solvers.milp.reliability.priors import Known, Prior, trust
from corl.solvers.milp.reliability.recipe import GainsRecipe, shares
from corl.solvers.milp.reliability.rule import Priors
from corl.solvers.milp.scip import functions as scip_functions
from corl.solvers.milp.scip.candidates import candidates, features
from corl.solvers.milp.scip.model import Callbacks, fill
from corl.solvers.milp.scip.rule import Rule

INSTANCE = multiple_knapsack(items=30, knapsacks=4, seed=1)
COVER = set_cover(rows=100, columns=200, density=0.08, seed=2)


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """Trained for a few steps on one family."""
    output = tmp_path_factory.mktemp("gains") / "own.safetensors"
    options = {"family": "multiple-knapsack", "samples": 8, "share": 1.0, "each": 4, "updates": 20}
    training = train("milp", "gains", steps=60, seed=1, device="cpu", workers=0, output=output, **options)
    assert training.limit == "finished" and training.metrics["nodes"] >= 8 and np.isfinite(training.metrics["loss"])
    return output


def _model(instance, nodes):
    model = pyscipopt.Model()
    model.hideOutput()
    fill(model, instance)
    model.setParam("limits/nodes", nodes)
    return model


def test_inputs_of_a_node():
    """At an LP optimum what hurts one direction of a fractional variable hurts the other as much; distances add up to 1."""
    seen = []

    class Look(pyscipopt.Branchrule):
        def branchexeclp(self, allowaddcons):
            pointer = scip_functions.pointer_of(self.model)
            variables = candidates(pointer)
            seen.append((inputs(pointer, variables, features(pointer, variables, 0)), self.model.getLPBranchCands()[2]))
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}

    model = _model(INSTANCE, 6)
    model.setParam("separating/maxroundsroot", 0)
    model.includeBranchrule(Look(), "look", "", 536870911, -1, 1.0)
    model.optimize()
    model.freeProb()
    assert seen
    for lines, fractions in seen:
        down, up = lines[0::2], lines[1::2]
        assert lines.shape == (2 * len(fractions), WIDTH) and np.isfinite(lines).all()
        assert np.exp(down[:, Input.DISTANCE]) == pytest.approx(fractions, abs=1e-5)
        assert np.exp(down[:, Input.DISTANCE]) + np.exp(up[:, Input.DISTANCE]) == pytest.approx(1.0, abs=1e-5)
        assert np.exp(down[:, Input.HURT]) == pytest.approx(np.exp(up[:, Input.HURT]), rel=1e-3, abs=1e-4)
        assert down[:, Input.COST] == pytest.approx(-up[:, Input.COST])
        assert down[:, len(Input) :] == pytest.approx(up[:, len(Input) :])


def test_lessons():
    """Gains of steps, in sum 1, without children that had no solution; of a real tree, as many as nodes labelled at most."""
    gains, steps = np.array([[1.0, np.inf], [0.0, 3.0]]), np.array([[0.5, 0.5], [0.25, 0.75]])
    assert shares(gains, steps) == pytest.approx([2 / 6, 0.0, 0.0, 4 / 6])
    assert shares(np.zeros((1, 2)), np.ones((1, 2))) is None
    run = Run(Milp().of(INSTANCE), INSTANCE, seed=3)
    run.start()
    episode = GainsRecipe(share=1.0, each=6, width=5).labelled(INSTANCE, run, GainNetwork())
    assert 1 <= int(episode.lengths.sum()) <= 6
    for mask, found in zip(episode.seen["mask"], episode.moves["policy"]):
        assert 2 <= mask.sum() <= 10 and float(found.sum()) == pytest.approx(1.0, abs=1e-5)
        assert (found >= 0.0).all() and not found[~mask].any()


def test_the_loss_is_least_at_the_gains():
    """Learning one lesson brings the predictions near its gains, up to a common factor."""
    torch.manual_seed(1)
    network, found = GainNetwork(), torch.tensor([[0.5, 0.3, 0.1, 0.1, 0.0, 0.0]])
    seen = [{"lines": torch.randn(1, 6, WIDTH).numpy(), "mask": np.arange(6)[None] < 5}]
    batch = imitation.Batch(network.collate([], seen, np.zeros(1)), found, torch.zeros(1))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(300):
        optimiser.zero_grad()
        imitation.loss(network, batch)[0].backward()
        optimiser.step()
    assert torch.softmax(network(batch.states)[0], 1).detach().numpy() == pytest.approx(found.numpy(), abs=0.05)


def test_a_prior_is_as_many_observations():
    """After it a pseudocost is (n x mean + weight x prediction) / (n + weight), once a variable; means keep SCIP's scale."""
    placed, weight, counts = [], 3.0, [Feature.COUNT_DOWN, Feature.COUNT_UP]

    class Look(Priors):
        def place(self, pointer):
            variables = candidates(pointer)
            before, flags = features(pointer, variables, 0), self.placed.copy()
            count = super().place(pointer)
            after = features(pointer, variables, 0)
            index = [scip_functions.call("SCIPvarGetProbindex", variable) for variable in variables.tolist()]
            fresh = ~flags[index] if len(flags) else np.ones(len(index), np.bool_)
            grown = np.expm1(after[:, counts]) - np.expm1(before[:, counts])
            placed.append((count, fresh.sum(), np.abs(grown - weight * (fresh & (count > 0))[:, None]).max()))
            return count

    model = _model(INSTANCE, 30)
    callbacks = Callbacks(model)
    rule = Rule(model, callbacks, Look(scorer_of(GainNetwork()), weight))
    model.includeBranchrule(rule, "look", "", 536870911, -1, 1.0)
    model.optimize()
    model.freeProb()
    assert callbacks.error is None
    assert len(placed) >= 3 and sum(count for count, _, _ in placed) >= 3
    assert all(count in (0, fresh) and error < 1e-6 for count, fresh, error in placed)


def test_trust_is_the_share_that_predictions_explain():
    """1 for observations that are predictions, scaled; about 0, and nothing for certain, for others; none before enough pairs."""
    random = np.random.default_rng(1)

    def found(x, y, least=8.0):
        known = np.zeros(len(Known))
        x, y = x - x.mean(), y - y.mean()
        known[[Known.PAIRS, Known.PREDICTED, Known.OBSERVED, Known.BOTH]] = len(x) - 1, x @ x, y @ y, x @ y
        return trust(known, least)

    x, noise = random.normal(size=(2, 400))
    assert found(x, 0.5 * x) == pytest.approx((1.0, 0.5)) and found(x, 3.0 * x) == pytest.approx((1.0, 1.0))
    assert found(x, x + noise)[0] == pytest.approx(0.5, abs=0.1) and found(x, noise)[0] < 0.02
    assert found(x, -x) == (0.0, 0.0) and found(x[:8], x[:8]) == (0.0, 0.0) and found(x[:9], x[:9])[0] > 0.99


def test_predictions_that_explain_nothing_are_not_used():
    """A network that says the same of all: with pairs to compare it places nothing, with none it does."""
    network, placed, pairs = GainNetwork(), [], []
    with torch.no_grad():
        network.last.weight.zero_()
    for least in (8.0, 0.0):
        model = _model(INSTANCE, 40)
        callbacks = Callbacks(model)
        priors = Priors(scorer_of(network), 8.0, Prior.NETWORK, least)
        model.includeBranchrule(Rule(model, callbacks, priors), "look", "", 536870911, -1, 1.0)
        model.optimize()
        model.freeProb()
        assert callbacks.error is None
        placed.append(int(priors.placed.sum()))
        pairs.append(priors.known[Known.PAIRS])
    assert placed[0] == 0 < placed[1] and pairs[0] > 8.0 and pairs[1] == 0.0


@pytest.mark.long
def test_solves(policy):
    """What is proven is what SCIP proves, wherever predictions come from; a seed gives the same bits."""
    expected = corl.solve(COVER, solver="scip", time_limit=600)
    for options in ({"prior": "network"}, {"prior": "mean"}, {"prior": "dual", "pairs": 8, "root": False}):
        found = corl.solve(COVER, solver="learned-reliability", policy=str(policy), time_limit=600, **options)
        assert (found.status, found.objective) == ("optimal", expected.objective)
    one, two = (corl.solve(INSTANCE, solver="learned-reliability", policy=str(policy), iterations=12, seed=5) for _ in range(2))
    assert (one.objective, one.bound) == (two.objective, two.bound)


def test_nothing_is_done_at_the_root(policy, monkeypatch):
    """A program that SCIP solves without branching never comes to the rule."""
    monkeypatch.setattr(Priors, "__call__", lambda *given: pytest.fail("the rule was asked"))
    easy = set_cover(rows=60, columns=120, density=0.08, seed=2)
    assert corl.solve(easy, solver="learned-reliability", policy=str(policy), time_limit=600).status == "optimal"


def test_bad_options(policy):
    """Said in one line."""
    for options in ({"weight": 0.0}, {"prior": "none"}, {"policy": "milp-auctions"}, {"policy": "no such"}):
        with pytest.raises(UsageError):
            corl.solve(INSTANCE, solver="learned-reliability", **options)
    for options in ({"family": "none"}, {"samples": 3}, {"share": 0.0}):
        with pytest.raises(UsageError):
            train("milp", "gains", steps=3, device="cpu", **options)
