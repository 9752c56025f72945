"""Ecole's interface: transitions, action sets that index observations, rewards, functions of one's own, seeds."""

from __future__ import annotations

import numpy as np
import pytest

import corl
from corl.milp import (
    Branching,
    EcoleBranching,
    Feature,
    IsDone,
    LpIterations,
    NNodes,
    NodeBipartite,
    Pseudocosts,
    StrongBranchingScores,
)
from corl.solvers.milp.scip.candidates import positions
from corl.solvers.milp.scip.lp_reading import Column

PROGRAM = corl.generate("milp", "auctions", items=40, bids=200, seed=1)
GASSE = {"separating/maxrounds": 0, "presolving/maxrestarts": 0}


def play(env, program=PROGRAM, most=10**9):
    """Choose the candidates with the best observed scores; return the last transition, the rewards and the actions."""
    observation, action_set, reward, done, info = env.reset(program)
    rewards, actions = [reward], []
    while not done and len(actions) < most:
        actions.append(int(action_set[observation[action_set].argmax()]))
        observation, action_set, reward, done, info = env.step(actions[-1])
        rewards.append(reward)
    return (observation, action_set, reward, done, info), rewards, actions


def test_an_episode():
    """Rewards sum to the nodes; the optimum is proven; at the end there is nothing to observe and nothing to choose."""
    env = EcoleBranching(Pseudocosts(), NNodes(), scip_params=GASSE)
    (observation, action_set, _, done, info), rewards, actions = play(env)
    assert done and observation is None and action_set is None and info == {} and len(actions) > 5
    assert sum(rewards) == env.episodes.measures.nodes and len(rewards) == len(actions) + 1
    assert env.episodes.status == "optimal"
    assert env.episodes.objective == pytest.approx(corl.solve(PROGRAM, solver="scip", time_limit=60).objective)
    env.close()


def test_the_action_set_indexes_all_observations():
    """Scores are numbers exactly there; the fraction in the graph's line is that of the candidate; scores are SCIP's own."""
    functions = {"graph": NodeBipartite(), "strong": StrongBranchingScores(), "pseudocosts": Pseudocosts()}
    env = EcoleBranching(functions, scip_params=GASSE)
    seen, action_set, *_ = env.reset(PROGRAM)
    for _ in range(3):
        node, columns = env.episodes.node, len(seen["graph"].variable_features)
        for name in ("strong", "pseudocosts"):
            assert seen[name].shape == (columns,) and np.flatnonzero(~np.isnan(seen[name])).tolist() == sorted(
                action_set.tolist()
            )
        x = np.array([variable.getLPSol() for variable in node.variables])
        assert (x != np.round(x)).all() and len(x) == len(action_set)
        assert seen["graph"].variable_features[action_set, Column.SOL_FRAC] == pytest.approx(x - np.floor(x), abs=1e-6)
        assert seen["strong"][action_set] == pytest.approx(env.episodes.strong_branching(), rel=1e-6)
        indices, values = seen["graph"].edge_features
        assert indices.shape == (2, len(values)) and indices[1].max() < columns
        assert indices[0].max() < len(seen["graph"].row_features)
        gains = node.features[:, Feature.GAINS]
        best = seen["pseudocosts"][action_set].argmax()
        assert gains[best] == pytest.approx(gains.max(), abs=1e-6)
        seen, action_set, *_ = env.step(action_set[0])
    env.close()


def test_the_same_tree_as_with_branching():
    """The same choices and seed make the tree of `corl.milp.Branching`."""
    env, other = EcoleBranching(Pseudocosts(), LpIterations(), scip_params=GASSE), Branching(reward="lp_iterations")
    env.seed(3)
    _, rewards, actions = play(env)
    total = other.reset(PROGRAM, seed=int(np.random.default_rng(3).integers(2**31)))
    for action in actions:
        total += other.act(np.flatnonzero(positions(other.node.candidates) == action)[0])
    assert other.done and total == -sum(rewards)
    other.close()
    env.close()


def test_seeds():
    """A seed gives the same series of trees; two episodes of a series differ."""
    env, series = EcoleBranching(Pseudocosts(), LpIterations(), scip_params=GASSE), []
    for _ in range(2):
        env.seed(5)
        series.append([play(env)[1] for _ in range(2)])
    assert series[0] == series[1] and series[0][0] != series[0][1]
    env.close()


def test_functions_of_ones_own():
    """They see the solve and pyscipopt's Model; tuples and dicts give tuples and dicts; before_reset comes once an episode."""

    class Depth:
        def __init__(self):
            self.begun = 0

        def before_reset(self, solve):
            self.begun += 1

        def extract(self, solve, done):
            return None if done else (solve.as_pyscipopt().getDepth(), solve.node.model.getNNodes())

    depth = Depth()
    env = EcoleBranching((depth, Pseudocosts()), -NNodes(), {"depth": depth}, GASSE)
    (first, scores), action_set, reward, done, info = env.reset(PROGRAM)
    assert (first, info, done) == ((0, 1), {"depth": (0, 1)}, False) and reward < 0 and scores[action_set].min() >= 0
    (second, _), *_ = env.step(action_set[-1])
    assert second[0] == 1 and depth.begun == 2
    env.close()


def test_arithmetic_of_rewards():
    """Combined functions have the combined values of the same transitions."""
    both = {
        "plain": (NNodes(), LpIterations(), IsDone()),
        "combined": 4.0 * LpIterations() ** 2 - 3 * IsDone() / 2 + (1 - NNodes()),
        "applied": (NNodes() + LpIterations()).apply(np.log1p),
    }
    env = EcoleBranching(Pseudocosts(), both, scip_params=GASSE)
    _, rewards, _ = play(env)
    for reward in rewards:
        nodes, iterations, done = reward["plain"]
        assert reward["combined"] == pytest.approx(4.0 * iterations**2 - 1.5 * done + 1.0 - nodes)
        assert reward["applied"] == pytest.approx(np.log1p(nodes + iterations))
    assert [reward["plain"][2] for reward in rewards] == [0.0] * (len(rewards) - 1) + [1.0]
    env.close()


def test_refusals_and_programs_without_a_choice():
    """Actions that are not in the set, and steps after the end."""
    env = EcoleBranching(scip_params=GASSE)
    _, action_set, *_ = env.reset(PROGRAM)
    with pytest.raises(corl.UsageError, match="an element of the action set"):
        env.step(action_set.max() + 1)
    observation, action_set, reward, done, _ = env.reset(corl.generate("milp", "auctions", items=5, bids=5, seed=0))
    assert (observation, action_set, reward, done) == (None, None, 1.0, True)
    with pytest.raises(corl.UsageError, match="call reset"):
        env.step(0)
    env.close()
