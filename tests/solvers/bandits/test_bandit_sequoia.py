"""corl.solvers.bandits.sequoia: a network's best action is exact however it is found; learning is right and repeatable."""

from __future__ import annotations

import json

import numpy as np
import pytest

import corl
from corl import registry
from corl.errors import UsageError
from corl.problems.bandits.constraints.listing import every_action
from corl.problems.bandits.evaluation import episode_keys
from corl.problems.bandits.instance import BanditInstance
from corl.run import Run
from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
from corl.solvers.bandits.policies.network import NetworkPolicy
from corl.solvers.bandits.policies.qnetwork import QNetwork
from corl.solvers.bandits.policies.tables import IterativePolicy, TablePolicy
from corl.solvers.bandits.sequoia.learning import Learner, LearningSettings
from corl.solvers.bandits.sequoia.regression import Regression, fresh_network
from corl.solvers.bandits.sequoia.replay import Replay
from corl.solvers.bandits.sequoia.solver import IterativeDqn, Sequoia

PROBLEM = registry.problem("bandits")
COUPLED = ["budget", "capacity", "scheduling", "routing", "interventions"]


def small(kind: str, seed: int = 0) -> BanditInstance:
    """Six arms, four steps, three episodes."""
    options = {"arms": 6, "pulls": 2, "episodes": 3, "horizon": 4} | ({"count": 5} if kind == "interventions" else {})
    return PROBLEM.generators[kind](**options, seed=seed)


def a_network(instance: BanditInstance, seed: int, times: bool = False) -> QNetwork:
    """Random weights, biases too."""
    random = np.random.default_rng(seed)
    network = fresh_network(random, instance.rewards.size + times * instance.horizon, instance.arms, False)
    for bias in (network.b1, network.b2, network.b3):
        bias += random.normal(0.0, 0.3, bias.shape)
    return network


@pytest.mark.parametrize("kind", COUPLED)
def test_listing_is_every_feasible_action(kind):
    """All actions that the judge accepts are listed, each once; too many are refused."""
    constraint = small(kind, 1).constraint
    size = constraint.action_size
    everything = ((np.arange(1 << size)[:, None] >> np.arange(size)) & 1).astype(np.int8)
    wanted = {action.tobytes() for action in everything[constraint.fits(everything)]}
    found = every_action(constraint)
    assert {action.tobytes() for action in found} == wanted and len(found) == len(wanted)
    assert every_action(constraint, most=len(wanted) - 1) is None


@pytest.mark.parametrize("kind", COUPLED)
@pytest.mark.parametrize("based", [False, True])
def test_program_and_listing_agree(kind, based):
    """The mixed-integer program and the look at every action find the same value to 1e-6, and it is that of their actions."""
    instance = small(kind, 3)
    level_values = 3.0 * solve_fluid(instance).level_values if based else None
    network = a_network(instance, 5, based)
    listed, solved = NetworkPolicy(instance, network, level_values), NetworkPolicy(instance, network, level_values, "highs")
    for k, state in enumerate(np.random.default_rng(0).integers(0, 4, (1, 6)).astype(np.int32)):
        value, action = listed.best(state, k)
        assert value == pytest.approx(listed.value(state, every_action(instance.constraint), k).max(), abs=1e-9)
        assert listed.value(state, action[None], k)[0] == pytest.approx(value, abs=1e-9)
        other, chosen = solved.best(state, k)
        assert other == pytest.approx(value, abs=1e-6)
        assert solved.value(state, instance.constraint.checked(chosen)[None], k)[0] == pytest.approx(value, abs=1e-6)


def test_scip_agrees():
    """So does SCIP."""
    instance = small("capacity", 4)
    network, state = a_network(instance, 1), np.array([0, 1, 2, 3, 0, 1], np.int32)
    values = [NetworkPolicy(instance, network, None, choice).best(state)[0] for choice in ("list", "scip")]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_pick_by_pick_is_never_better():
    """The iterative choice is feasible and worth at most the exact one."""
    instance = small("scheduling", 2)
    network = a_network(instance, 2)
    for state in np.random.default_rng(1).integers(0, 4, (10, 6)).astype(np.int32):
        value, action = NetworkPolicy(instance, network, None, "iterative").best(state)
        instance.constraint.checked(action)
        assert value <= NetworkPolicy(instance, network).best(state)[0] + 1e-9


def test_gradient_is_that_of_torch():
    """A step of regression moves every weight as torch's AdamW does on the same weighted Huber loss."""
    import torch

    random = np.random.default_rng(0)
    network = fresh_network(random, 12, 3, False)
    before = [torch.tensor(array, requires_grad=True) for array in network]
    rows, targets, weights = random.integers(0, 12, (8, 3)), random.normal(0, 2, 8), random.random(8)
    optimiser = torch.optim.AdamW(before, lr=0.01)
    regression = Regression(network)
    for _ in range(3):
        w1, b1, w2, b2, w3, b3 = before
        output = torch.relu(torch.relu(w1[torch.tensor(rows)].sum(1) + b1) @ w2 + b2) @ w3 + b3
        loss = torch.nn.functional.huber_loss(output, torch.tensor(targets), reduction="none")
        optimiser.zero_grad()
        (loss * torch.tensor(weights)).mean().backward()
        optimiser.step()
        errors = regression.step(rows, targets, weights, 0.01)
        assert errors == pytest.approx(output.detach().numpy() - targets, abs=1e-9)
    for ours, theirs in zip(network, before):
        assert ours == pytest.approx(theirs.detach().numpy(), abs=1e-7)


def test_replay_prefers_what_surprised():
    """A transition with a large error is drawn far more often, and counts for less."""
    replay = Replay(2)
    for k in range(50):
        replay.add(np.array([k, 0]), np.zeros(2, np.int8), np.zeros(2, np.int32), k)
    replay.update(np.arange(50), np.where(np.arange(50) == 7, 10.0, 0.01))
    batch = replay.draw(np.random.default_rng(0), 400)
    assert (batch.times == 7).mean() > 0.3
    assert batch.weights[batch.times == 7].max() < batch.weights[batch.times != 7].min() and batch.weights.max() == 1.0


@pytest.mark.chance
def test_pretraining_learns_one_step():
    """After pretraining, the network's one-step rewards are near the true ones on states and actions it has not seen."""
    instance = PROBLEM.generators["budget"](arms=4, pulls=2, horizon=4, episodes=2)
    learner = Learner(instance, LearningSettings(0, 25, 1, 1e-3, 20, 0.0), 0, "list", None)
    learner.pretrain()
    random, errors, spread = np.random.default_rng(9), [], []
    for state in random.integers(0, 4, (30, 4)).astype(np.int32):
        actions = instance.constraint.random(random, 3)
        true = (instance.rewards[np.arange(4), actions, state].sum(axis=1) - learner.offset) / learner.scale
        errors.append(learner.policy.value(state, actions) - true)
        spread.append(true)
    assert np.var(errors) < 0.1 * np.var(spread)


@pytest.mark.parametrize(
    ("name", "options"),
    [("sequoia", {}), ("sequoia", {"mode": "release"}), ("sequoia", {"base": "fluid"}), ("iterative-dqn", {})],
)  # fmt: skip
def test_learned_policies_are_repeatable(name, options):
    """With `iterations` a seed gives the same policy to the bit; it is feasible, and comes back from its JSON."""
    instance = small("scheduling", 1)
    results = [corl.solve(instance, solver=name, iterations=2, epochs=2, seed=3, **options) for _ in range(2)]
    assert results[0].objective == results[1].objective
    texts = [json.dumps(PROBLEM.to_json(instance, result.policy)) for result in results]
    assert texts[0] == texts[1]
    assert PROBLEM.evaluate(instance, PROBLEM.from_json(instance, json.loads(texts[0]))) == results[0].objective


def test_a_residual_begins_as_the_table():
    """Over fluid worths, before any episode the network adds nothing: its actions are the fluid policy's."""
    instance = small("routing", 2)
    level_values = solve_fluid(instance).level_values
    learner = Learner(instance, LearningSettings(0, 1, 1, 1e-3, 20, 0.0), 0, "list", level_values)
    keys = np.zeros(3, np.uint64)
    for time in range(4):
        ours, table = (
            policy.actions(instance.initial, time, keys) for policy in (learner.policy, TablePolicy(instance, level_values))
        )
        arms = np.arange(instance.arms)
        totals = [level_values[time][arms, actions, instance.initial].sum(axis=1) for actions in (ours, table)]
        assert totals[0] == pytest.approx(totals[1], abs=1e-9)


class Counted(Run):
    """A run whose clock counts how often it is asked, so that a time limit ends it at the same place on every machine."""

    asked = 0

    @property
    def elapsed(self) -> float:
        self.asked += 1
        return float(self.asked)


@pytest.mark.parametrize(
    ("solver", "kind"), [(Sequoia(actions="highs", epochs=10**5), TablePolicy), (IterativeDqn(epochs=10**5), IterativePolicy)]
)
def test_short_limits_leave_the_first_policy(solver, kind):
    """Where there is no time to learn, the myopic policy is returned, and nothing where it cannot be judged in time."""
    instance, kinds = small("budget"), []
    for limit in (1.0, 500.0):
        run = Counted(PROBLEM, instance, time_limit=limit)
        solver.solve(instance, run)
        kinds.append(type(run.solution))
        assert run.asked < 2 * limit + 50
    assert kinds == [type(None), kind]


@pytest.mark.parametrize("learned", [True, False])
def test_the_learners_own_episodes_choose(monkeypatch, learned):
    """What is reported is what leads in the trials, however it does in the episodes that judge it."""
    instance = small("capacity", 1)
    monkeypatch.setattr(Learner, "trial", lambda self, policy: np.full(20, float(isinstance(policy, NetworkPolicy) == learned)))
    result = corl.solve(instance, solver="sequoia", iterations=1, epochs=1)
    assert isinstance(result.policy, NetworkPolicy if learned else TablePolicy)
    if learned:  # a network of a single epoch is worse than the myopic policy here, and is reported all the same
        assert result.objective < corl.solve(instance, solver="myopic").objective


def test_trials_are_other_episodes():
    """The luck of the episodes that choose is not that of any that judge; every policy has the same."""
    instance, seen = small("capacity", 1), []
    learner = Learner(instance, LearningSettings(0, 1, 1, 1e-3, 20, 0.0), 0, "list", None)

    class Spy(TablePolicy):
        def actions(self, states, time, keys):
            seen.append(set(keys.tolist()))
            return super().actions(states, time, keys)

    for _ in range(2):
        learner.trial(Spy(instance, instance.rewards[None]))
    assert len(seen[0]) == 20 and all(keys == seen[0] for keys in seen)
    assert not seen[0] & set(episode_keys(instance).tolist())


def test_options_are_checked():
    """Unknown modes, bases and ways to choose are refused in one line."""
    for options in ({"mode": "x"}, {"base": "x"}, {"actions": "x"}, {"episodes": -1}, {"epochs": 0}):
        with pytest.raises(UsageError, match="accepted"):
            corl.solve(small("budget"), solver="sequoia", iterations=1, **options)
