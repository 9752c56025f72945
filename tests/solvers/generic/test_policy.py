"""Solver `policy`: greedy at once, then rounds of a decoder within the budget, for every problem with an environment."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import corl
from corl.decoding import Beam, CountedEvaluator, decode
from corl.errors import UsageError
from corl.policy import RulePolicy
from corl.problems.orienteering.generators import distance
from corl.problems.orienteering.problem import Orienteering
from corl.problems.tsp.generators import asymmetric, uniform
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.generic.inference import Session
from corl.solvers.generic.policy import Policy

DECODERS = ["greedy", "sample", "beam", "stochastic-beam", "without-replacement"]
TSP = Tsp()


def solved(instance, policy, iterations, seed=0, **options):
    """The run of a solve, without `prepare`."""
    run = Run(TSP, instance, iterations=iterations, seed=seed)
    run.start()
    Policy(policy=policy.file, **options).solve(instance, run)
    run.finish()
    return run


def nearest_neighbour(instance):
    """The length of the tour from city 0 that always goes on to the nearest city."""
    tour = [0]
    while len(tour) < instance.n:
        left = [city for city in range(instance.n) if city not in tour]
        tour.append(min(left, key=lambda city: np.linalg.norm(instance.points[city] - instance.points[tour[-1]])))
    return TSP.evaluate(instance, np.array(tour))


@pytest.mark.parametrize("decoder", DECODERS)
def test_greedy_first_then_better(nearness, decoder):
    """With every decoder the first report is the greedy solution, the last one is better, and no state too many is shown."""
    instance = uniform(size=30, seed=3)
    run = solved(instance, nearness, 3000, decoder=decoder)
    assert run.trace[0][1] == pytest.approx(nearest_neighbour(instance))
    assert run.objective < run.trace[0][1]
    assert nearness.shown <= 3000 and nearness.calls < nearness.shown
    assert nearness.shown > (28 * 29 if decoder == "greedy" else 2400)


@pytest.mark.parametrize("decoder", DECODERS)
def test_seeds_decide(nearness, decoder):
    """The same seed and iterations give the same bits; where there is noise, another seed gives another course."""
    instance = uniform(size=25, seed=1)
    first, again, other = (solved(instance, nearness, 800, seed, decoder=decoder) for seed in (1, 1, 2**70))
    course = [[value for _, value, _ in run.trace] for run in (first, again, other)]
    assert course[0] == course[1] and np.array_equal(first.solution, again.solution)
    assert (course[0] == course[2]) == (decoder in ("greedy", "beam"))


@pytest.mark.parametrize("iterations", [1, 7, 22])
def test_a_budget_below_greedy(nearness, iterations):
    """Where not even the greedy solution can be afforded, the rest is taken as listed: here by nearness, as greedily."""
    instance = uniform(size=25, seed=1)
    run = solved(instance, nearness, iterations)
    assert run.limit == "iterations" and nearness.shown == iterations
    assert run.objective == pytest.approx(nearest_neighbour(instance))


def test_a_stop_from_outside(nearness):
    """A run that is stopped in the middle of a round ends at the next network call with what it has."""
    instance = uniform(size=25, seed=1)
    run = Run(TSP, instance, iterations=10**6)
    evaluate = nearness.evaluate
    nearness.evaluate = lambda seen: (run.interrupt() if nearness.calls == 40 else None, evaluate(seen))[1]
    Policy(policy=nearness.file).solve(instance, run)
    assert nearness.calls == 41 and run.limit == "interrupted" and run.solution is not None


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_tiny_instances_are_finished(nearness, size):
    """Where everything has been looked at the run ends by itself; to three cities there is nothing to choose."""
    run = solved(uniform(size=size), nearness, 10**5, decoder="without-replacement")
    assert run.limit == "finished" and run.solution is not None and nearness.shown <= 10


def test_one_round_is_the_decoder(nearness):
    """With rounds=1 and a width the result is that of the decoder itself, over copies and starts."""
    instance = uniform(size=20, seed=2)
    run = solved(instance, nearness, 10**6, decoder="beam", width=6, rounds=1, augment=3, multi_start=4)
    pool = TSP.environment(TSP.symmetries(instance)[:3], 12 * 6)
    found = decode(Beam(6), CountedEvaluator(pool, nearness), [0, 1, 2] * 4, keys=np.repeat(np.arange(4), 3))
    assert run.limit == "finished" and run.objective == pytest.approx(-max(found.total))


class Expecting(RulePolicy):
    """Of orienteering: any action is as likely as another; the value is what the best plan that is known collects."""

    problem, environment, has_value = "orienteering", "insertion", True

    def evaluate(self, observation):
        there = observation["action"] >= 0
        return np.where(there, 0.0, -np.inf), observation["best"]


def test_a_beam_by_estimate():
    """With `nat` a round is Beam with that option, which finds more than one by probability; without a value it is refused."""
    instance, problem = distance(size=40, seed=1), Orienteering()

    def solved(nat, policy):
        run = Run(problem, instance, iterations=10**6)
        Policy(policy=policy, width=6, rounds=1, nat=nat).solve(instance, run)
        return run.objective

    pool = problem.environment([instance], 12, name="insertion")
    decoded = max(decode(Beam(6, 0.01), CountedEvaluator(pool, Expecting()), [0]).total)
    assert solved(0.01, Expecting()) == pytest.approx(decoded) and decoded > 1.05 * solved(0.0, Expecting())
    without = Expecting()
    without.has_value = False
    with pytest.raises(UsageError, match="a beam with nat needs a policy with a value"):
        solved(0.01, without)


def test_greedy_from_all_starts(nearness):
    """decoder="greedy" ends after all starts of all copies; `multi_start` and `augment` say how many."""
    instance = uniform(size=12, seed=2)
    everything = solved(instance, nearness, 10**6, decoder="greedy", augment=8)
    assert everything.limit == "finished" and nearness.shown == 10 + 8 * 12 * 10
    nearness.shown = 0
    assert solved(instance, nearness, 10**6, decoder="greedy", multi_start=3).objective >= everything.objective
    assert nearness.shown == 10 + 3 * 10


def test_greedy_from_as_many_starts_as_fit(nearness):
    """Episodes are played together, but never so many that none would end within the budget."""
    instance = uniform(size=40, seed=5)
    run = solved(instance, nearness, 38 * 10, decoder="greedy")
    assert nearness.shown == 38 * 10 and nearness.calls == 2 * 38
    assert run.objective < run.trace[0][1]


def test_widths_fit_the_iterations(nearness):
    """width=0 makes a round as wide as the iterations allow: 10 times the greedy episode's states are a beam of 9."""
    asked: list[int] = []
    evaluate, instance = nearness.evaluate, uniform(size=30, seed=3)
    nearness.evaluate = lambda seen: (asked.append(len(seen["mask"])), evaluate(seen))[1]
    solved(instance, nearness, 280, decoder="beam")
    assert max(asked) == 9
    asked.clear()
    solved(instance, nearness, 280, decoder="beam", width=40)
    assert max(asked) == 9


@pytest.mark.parametrize("plays", [False, True])
def test_a_time_limit_counts_for_rounds(plays):
    """Of 100 ms, 90 are planned with: at 1 ms a state three beams of 30 states. Samples of a policy that plays by itself are
    cut off where time is over, so they are as many as there is room for; beams are not."""
    instance = uniform(size=32, seed=1)
    session = Session(instance, Run(TSP, instance, time_limit=0.1), None, 1, 1)
    session.run = SimpleNamespace(iterations=None, time_limit=0.1, remaining=0.1)
    session.steps, session.plays, session.most_rows, session._seconds = 30, plays, 500, 1e-3
    assert session.fits(30) == 3
    assert next(Policy(decoder="beam", width=8)._widths(session)) == 3
    assert next(Policy(decoder="sample", width=64)._widths(session)) == (64 if plays else 3)


def test_what_a_beam_cannot_use_is_sampled(nearness):
    """Beams of 8 and 16 leave room for ten more episodes, too little for a beam of 32: ten samples are drawn."""
    instance = uniform(size=30, seed=3)
    run = solved(instance, nearness, 28 * (1 + 8 + 16 + 10), decoder="beam", width=8)
    assert 28 * 34 < nearness.shown <= 28 * 35 and run.limit == "iterations"
    nearness.shown = 0
    solved(instance, nearness, 28 * 35, decoder="beam", width=8, rounds=2)
    assert nearness.shown <= 28 * 25


def test_through_solve(nearness):
    """corl.solve prepares, solves and verifies; torch's threads are as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        result = corl.solve(uniform(size=15), solver="policy", policy=nearness.file, iterations=500, decoder="beam")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert result.verified and result.status == "feasible" and result.solver == "policy"


def test_a_problem_of_somebody_else(knapsack, tmp_path):
    """On a problem that maximises, with a checkpoint of random weights, the solver finds the optimum of six items."""
    import torch

    from corl.networks.attention import AttentionPolicy
    from corl.networks.checkpoints import save

    torch.manual_seed(0)
    network = AttentionPolicy(knapsack.NAME, "items", inputs=5, extra=1, width=8, layers=1, heads=2, feedforward=8)
    save(tmp_path / "toy.safetensors", network)
    sack = knapsack.uniform(size=6, seed=4)
    for decoder in ("beam", "without-replacement"):
        result = corl.solve(sack, solver="policy", iterations=5000, policy=str(tmp_path / "toy.safetensors"), decoder=decoder)
        assert result.limit == "finished" and result.objective == pytest.approx(knapsack.best(sack))
    with pytest.raises(corl.UsageError, match=f"toy.safetensors is for {knapsack.NAME}, not for tsp"):
        corl.solve(uniform(size=9), solver="policy", policy=str(tmp_path / "toy.safetensors"))
    with pytest.raises(corl.UsageError, match="of architecture attention; accepted: muzero"):
        corl.solve(sack, solver="muzero", policy=str(tmp_path / "toy.safetensors"))


@pytest.mark.parametrize("solver", ["policy", "tree-search", "muzero"])
def test_where_no_weights_are_shipped(knapsack, monkeypatch, solver):
    """The error is one line that names the training command, with the recipe of that policy where there is one."""
    from corl.networks import checkpoints

    monkeypatch.setattr(checkpoints, "shipped", dict)
    sack = knapsack.uniform()
    with pytest.raises(corl.UsageError, match=f"corl train {knapsack.NAME} --recipe .* and give it as policy=FILE") as error:
        corl.solve(sack, solver=solver)
    assert "\n" not in str(error.value)
    with pytest.raises(corl.UsageError, match="neither a checkpoint file nor a shipped policy: 'none-such'"):
        corl.solve(sack, solver=solver, policy="none-such")


def test_kinds_have_their_own_policy(monkeypatch):
    """An asymmetric instance wants atsp-bq, and the error names its recipe."""
    from corl.networks import checkpoints
    from corl.solvers.generic import inference

    monkeypatch.setattr(checkpoints, "shipped", dict)
    monkeypatch.setattr(inference, "recipe_names", lambda problem: ["atsp-bq", "bq"])
    with pytest.raises(corl.UsageError, match="corl train tsp --recipe atsp-bq --output"):
        corl.solve(asymmetric(size=9), solver="policy")
    with pytest.raises(corl.UsageError, match="corl train tsp --recipe bq --output"):
        corl.solve(uniform(size=9), solver="policy")


def test_problems_without_environment(plugin):
    """A problem without an environment has none of these solvers, and says why when asked for one."""
    from corl import registry

    assert not {"policy", "tree-search", "muzero"} & set(registry.solvers("partition"))
    with pytest.raises(corl.UsageError, match="cannot solve this instance because partition has no environment"):
        corl.solve(plugin / "numbers.txt", solver="policy")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": -1}, "width is -1; accepted: an integer from 0"),
        ({"augment": 0}, "augment is 0; accepted: an integer from 1"),
        ({"temperature": 0.0}, "temperature is 0.0; accepted: a number above 0"),
        ({"decoder": "best"}, "option decoder is 'best'; accepted: greedy, sample"),
        ({"rounds": -2}, "rounds is -2"),
    ],
)
def test_options_are_checked(options, message):
    """Each option out of range is named with what is accepted."""
    with pytest.raises(corl.UsageError, match=message):
        corl.solve(uniform(size=9), solver="policy", **options)
