"""SCIP stepped: rewards add up to what SCIP counts, seeds repeat, scores are SCIP's own, and nothing is left behind."""

from __future__ import annotations

import math
import subprocess
import sys
import threading

import numpy as np
import pytest

import corl
from corl.milp import Branching, BranchingGym, Feature
from corl.solvers.milp.stepping.measures import REWARDS, Integrals, gap_to

INSTANCE = corl.generate("milp", "auctions", items=40, bids=200, seed=1)


def play(env, instance=INSTANCE, seed=0, most=10**9, **options):
    """Pseudocost branching; (sum of rewards, number of choices)."""
    total, choices = env.reset(instance, seed=seed, **options), 0
    while not env.done and choices < most:
        total += env.act(env.observe()[:, Feature.GAINS].argmax())
        choices += 1
    return total, choices


def test_rewards_add_up_to_the_nodes():
    """The whole tree is a proof of the same optimum that corl.solve finds."""
    env = Branching()
    total, choices = play(env)
    assert choices > 5 and total == -env.measures.nodes <= -choices and env.status == "optimal"
    best = corl.solve(INSTANCE, solver="scip", time_limit=30)
    assert best.status == "optimal" and env.objective == pytest.approx(best.objective) == pytest.approx(env.bound)
    assert best._problem().evaluate(INSTANCE, np.round(env.solution)) == pytest.approx(best.objective)
    env.close()


def test_conditions_are_kept(tmp_path):
    """A row whose indicator is off does not bind; the solution has the instance's variables only."""
    file = tmp_path / "indicator.lp"
    rows = "c: x + y + z <= 10\n i: b = 1 -> x + y <= 4\n o: b <= 0"
    limits = "x <= 8\n y <= 8\n z <= 3\nGenerals\n x y z\nBinaries\n b"
    file.write_text(f"Maximize\n obj: 3 x + 2 y + z\nSubject To\n {rows}\nBounds\n {limits}\nEnd\n")
    env = Branching()
    env.reset(file)
    assert env.status == "optimal" and env.objective == 28
    assert env.solution.tolist() == [8, 2, 0, 0]
    env.close()


@pytest.mark.parametrize("reward", [pytest.param(name, marks=pytest.mark.long if k else ()) for k, name in enumerate(REWARDS)])
def test_every_reward_adds_up_to_its_measure(reward):
    """Minus the measure at the end, also where the choices are taken at random."""
    env = Branching(reward=reward)
    total, random = env.reset(INSTANCE, reference=corl.solve(INSTANCE, time_limit=30).objective), np.random.default_rng(0)
    while not env.done:
        total += env.act(random.integers(len(env.node.candidates)))
    measured = getattr(env.measures, reward)
    assert measured > 0 and total == pytest.approx(-measured, rel=0.01, abs=1e-3)


def test_a_reward_of_ones_own():
    """A function of the measures before and after."""
    env = Branching(reward=lambda before, after: before.nodes - after.nodes)
    assert play(env)[0] == -env.measures.nodes


def test_seeds_repeat():
    """The same choices of the same program with a seed are the same tree; another seed is another."""
    env, trees = Branching(reward="lp_iterations"), []
    for seed in (3, 3, 4):
        trees.append((*play(env, seed=seed), env.measures.nodes))
    assert trees[0] == trees[1] != trees[2]


@pytest.mark.long
def test_strong_branching_is_scip_s_own():
    """At the root the best score is the variable that SCIP's vanilla full strong branching takes, of several programs."""
    import pyscipopt
    from pyscipopt.scip import PY_SCIP_EVENTTYPE

    from corl.solvers.milp.scip.model import fill
    from corl.solvers.milp.scip.recorder import GASSE

    class First(pyscipopt.Eventhdlr):
        name = ""

        def eventinit(self):
            self.model.catchEvent(PY_SCIP_EVENTTYPE.NODEBRANCHED, self)

        def eventexec(self, event):
            children = self.model.getChildren()
            self.name = self.name or children[0].getParentBranchings()[0][0].name
            self.model.interruptSolve()

    compared = 0
    for seed in range(4):
        program = corl.generate("milp", "auctions", items=40, bids=200, seed=seed)
        model, first = pyscipopt.Model(), First()
        model.hideOutput()
        fill(model, program)
        for name, value in {**GASSE, "branching/vanillafullstrong/priority": 536870911, "timing/clocktype": 2}.items():
            model.setParam(name, value)
        model.setParam("branching/vanillafullstrong/idempotent", True)
        model.includeEventhdlr(first, "first", "")
        model.optimize()
        env = Branching()
        env.reset(program)
        if not env.done:
            assert env.node.variables[env.strong_branching().argmax()].name == first.name
            compared += 1
        env.close()
    assert compared >= 2


def test_strong_branching_leaves_statistics_alone():
    """Asked twice it says the same, and nothing that a candidate's features show has changed; deeper in the tree too."""
    from corl.solvers.milp.scip.candidates import features

    env = Branching()
    env.reset(INSTANCE)
    for _ in range(5):
        before = features(env.node.pointer, env.node.candidates, 0)
        scores = env.strong_branching()
        assert scores.shape == (len(env.node.candidates),) and (scores > 0).all()
        assert env.strong_branching() == pytest.approx(scores, rel=1e-6)
        assert np.array_equal(features(env.node.pointer, env.node.candidates, 0), before)
        env.act(scores.argmax())
    env.close()


def test_the_lp_as_a_graph():
    """Arrays and HeteroData of one node agree; candidates are the columns with fractional values."""
    torch = pytest.importorskip("torch")
    env = Branching(features="hetero")
    env.reset(INSTANCE)
    data = env.observe()
    graph, candidates = Branching.observe.__globals__["FEATURES"]["bipartite"](env.node)
    assert data["column"].x.shape == graph.columns.shape and data["row"].x.shape == graph.rows.shape
    assert torch.equal(data["row", "column"].edge_index, torch.from_numpy(np.stack([graph.edge_row, graph.edge_column])))
    assert data["column"].candidates.tolist() == candidates.tolist() and len(set(candidates)) == len(env.node.candidates)
    assert data.validate()
    env.close()


def test_limits_and_what_is_left():
    """A limit of nodes ends the episode; one that is left half way, or dropped, leaves no thread behind."""
    env, before = Branching(nodes=10), threading.active_count()
    play(env)
    assert env.status in ("totalnodelimit", "nodelimit") and env.done and env.measures.nodes <= 11
    for _ in range(3):
        play(env, most=2)
    with Branching() as other:
        play(other, most=3)
    del env
    assert threading.active_count() == before


def test_a_program_without_a_choice():
    """SCIP solves it in presolving; nothing is left to do, and the total is there all the same."""
    env = Branching()
    total = env.reset(corl.generate("milp", "auctions", items=5, bids=5, seed=0))
    assert env.done and total == -env.measures.nodes and env.objective is not None


def test_refusals():
    """Unknown words, slots that are not there, what needs a reference, and calls before or after an episode."""
    with pytest.raises(corl.UsageError, match="did you mean 'hetero'"):
        Branching(features="heter")
    with pytest.raises(corl.UsageError, match="no reward is called 'node'"):
        Branching(reward="node")
    env = Branching(reward="primal_integral")
    with pytest.raises(corl.UsageError, match="reference"):
        env.reset(INSTANCE)
    with pytest.raises(corl.UsageError, match="no episode has begun"):
        env.measures  # noqa: B018
    env = Branching()
    with pytest.raises(corl.UsageError, match="call reset"):
        env.observe()
    env.reset(INSTANCE)
    with pytest.raises(corl.UsageError, match=r"it takes 0 to \d+"):
        env.act(10**6)
    play(env, most=1)
    env.close()


def test_an_error_while_seeing_is_the_callers():
    """What `features` raises reaches the caller as itself, and the episode can go on."""

    def fail(node):
        raise ValueError("mine")

    env = Branching(features=fail)
    env.reset(INSTANCE)
    with pytest.raises(ValueError, match="mine"):
        env.observe()
    assert env.act(0) <= 0
    env.close()


def test_integrals_by_hand():
    """Reference 10: no incumbent for 2 s, then 20 (gap 1/2) for 2 s, then 10; the bound 5 (1/2) from second 1."""
    found = Integrals(None, None, 10.0)
    found.update(1.0, math.inf, 5.0)
    found.update(2.0, 20.0, 5.0)
    found.update(4.0, 10.0, 5.0)
    assert found.until(7.0) == pytest.approx((2.0 + 1.0, 1.0 + 3.0))
    assert gap_to(10.0, -1.0) == gap_to(10.0, 1e20) == gap_to(10.0, math.inf) == 1.0 and gap_to(0.0, 0.0) == 0.0


@pytest.mark.long
def test_gymnasium():
    """Its own checker; an episode's rewards and base add up to the nodes."""
    pytest.importorskip("gymnasium")
    from gymnasium.utils.env_checker import check_env

    env = BranchingGym([INSTANCE], width=16, nodes=30)
    check_env(env, skip_render_check=True)
    seen, info = env.reset(seed=1)
    total, over = info["base"], False
    while not over:
        assert seen["mask"].sum() >= 1
        seen, reward, ended, cut, info = env.step(0)
        total, over = total + reward, ended or cut
    assert total == -info["nodes"]
    env.close()


@pytest.mark.long
def test_two_processes_side_by_side(tmp_path):
    """Each its own SCIP; both find the same tree."""
    code = (
        "import corl\nenv = corl.milp.Branching()\n"
        "total = env.reset(corl.generate('milp', 'auctions', items=40, bids=200, seed=1))\n"
        "while not env.done:\n    total += env.act(env.observe()[:, corl.milp.Feature.GAINS].argmax())\nprint(total)"
    )
    running = [subprocess.Popen([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=120)[0] for process in running]
    assert told[0] == told[1] == f"{play(Branching())[0]}\n"


@pytest.mark.long
def test_memory_is_flat_over_a_thousand_episodes():
    """Less than 100 MB more after a thousand trees, half of them left before their end, than after fifty."""
    import resource

    program, env = corl.generate("milp", "auctions", items=20, bids=100, seed=2), Branching()
    for episode in range(1000):
        play(env, program, seed=episode, most=2 if episode % 2 else 10**9)
        if episode == 50:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
