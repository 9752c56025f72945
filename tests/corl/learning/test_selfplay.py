"""Self-play: episodes laid end to end, worth what the problem says, and the same with any number of workers."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.learning.selfplay import Job, SelfPlay, Source, play, random_choice, token_sizes
from corl.learning.training import Training
from corl.learning.watch import Watch, greedy


def played(knapsack, count=6):
    problem = knapsack.Knapsack()
    instances = [knapsack.uniform(size=5 + k, seed=k) for k in range(count)]
    environment, rows = problem.environment(instances, count), np.arange(count)
    base = environment.reset(rows, rows)
    episodes = play(environment, rows, base, problem.features["items"], random_choice(np.random.default_rng(0)))
    return problem, instances, environment, episodes


def test_episodes_are_worth_what_the_problem_says(knapsack):
    """base + rewards is the objective of each row's solution; `come` is what is left of it; the slots are the items taken."""
    problem, instances, environment, episodes = played(knapsack)
    begin = 0
    for row, (instance, length) in enumerate(zip(instances, episodes.lengths)):
        moves = {name: array[begin : begin + length] for name, array in episodes.moves.items()}
        solution = environment.solution(row)
        assert episodes.objective[row] == pytest.approx(problem.evaluate(instance, solution), rel=1e-12)
        taken = moves["actions"][np.arange(length), moves["slot"]]
        assert sorted(taken) == solution.tolist()
        assert moves["come"] == pytest.approx([instance.values[taken[t:]].sum() for t in range(length)], rel=1e-12)
        assert moves["policy"].sum(axis=1) == pytest.approx(np.ones(length)) and not moves["policy"][moves["actions"] < 0].any()
        begin += length
    assert begin == len(episodes.moves["slot"])


def test_finished_rows_give_no_moves(knapsack):
    """Episodes that are over before they begin have length 0 and the objective of their base."""
    problem = knapsack.Knapsack()
    full = knapsack.Sack("full", np.ones(3), np.ones(3), 0.5)
    environment = problem.environment([full], 2)
    base = environment.reset([0, 1], 0)
    episodes = play(environment, np.arange(2), base, problem.features["items"], random_choice(np.random.default_rng(0)))
    assert episodes.lengths.tolist() == [0, 0] and episodes.objective.tolist() == [0.0, 0.0] and episodes.moves == {}


class Dearest:
    """A policy that takes the most valuable item that fits."""

    def evaluate(self, observation):
        values = np.where(observation["items"] >= 0, observation["values"], -np.inf)
        return values, np.zeros(len(values))


def test_greedy_takes_the_likeliest(knapsack):
    """`greedy` follows the policy's argmax to the end, in the user's sense."""
    problem = knapsack.Knapsack()
    sack = knapsack.Sack("s", np.array([1.0, 3.0, 2.0]), np.array([1.0, 4.0, 3.0]), 5.0)
    assert greedy(problem, [sack], Dearest()).tolist() == [4.0]


def test_the_best_weights_are_kept(knapsack):
    """A Watch that keeps gives back the weights that did best on what it watches, and so does one restored from its state."""
    import torch

    from corl.networks.attention import AttentionPolicy

    problem = knapsack.Knapsack()
    source = Source(problem, "uniform", {"size": 6}, 3)
    training = Training(problem, steps=1)
    watch, seen, first = Watch(training, source, 8, keep=True), [], None
    sizes = token_sizes(problem, "items", source.instances(0, 1)[0])
    for seed in range(4):
        torch.manual_seed(seed)
        network = AttentionPolicy(**sizes, width=8, layers=1, heads=2, feedforward=8)
        found = greedy(problem, watch.instances, network.eval())
        first = found if first is None else first
        seen.append(float((found / first).mean()))
        assert watch(None, network)["best"] == pytest.approx(-max(seen))
    again = Watch(training, source, 8, keep=True)
    again.load_state_dict(watch.state_dict())
    again.restore(network)
    assert float((greedy(problem, watch.instances, network.eval()) / first).mean()) == pytest.approx(max(seen))


def test_sources(knapsack):
    """Instances follow from the seed and their number; an unknown generator or features are named."""
    source = Source(knapsack.Knapsack(), "", {"size": 5}, 7)
    first, again = source.instances(0, 4), source.instances(2, 1)
    assert len({sack.values[0] for sack in first}) == 4 and (again[0].values == first[2].values).all()
    with pytest.raises(UsageError, match="no generator 'cubic'; accepted: uniform"):
        source._replace(generator="cubic").instances(0, 1)
    assert token_sizes(source.problem, "", first[0]) == {
        "problem": "toy-knapsack", "features": "items", "inputs": 5, "pairs": 0, "extra": 1,
    }  # fmt: skip
    with pytest.raises(UsageError, match="no features 'cubic'; accepted: items"):
        token_sizes(source.problem, "cubic", first[0])


@pytest.mark.slow
def test_any_number_of_workers_plays_the_same(knapsack, knapsack_folder, monkeypatch):
    """Two worker processes make the moves that this process makes."""
    import torch

    from corl.networks.attention import AttentionPolicy
    from corl.solvers.training.alphazero import AlphaZero, _player

    monkeypatch.setenv("PYTHONPATH", str(knapsack_folder))
    recipe = AlphaZero(size=6, simulations=4, considered=4)
    network = AttentionPolicy("toy-knapsack", "items", inputs=5, extra=1, width=8, layers=1, heads=2, feedforward=8)
    torch.nn.init.constant_(network.layers[0].rezero, 0.5)
    found = []
    for workers in (1, 2):
        training = Training(knapsack.Knapsack(), seed=3, device="cpu", steps=1, workers=workers)
        with SelfPlay(training, _player, recipe, "toy-knapsack", 3, "attention", network.config) as games:
            found.append(games.generation(network, 2, 100))
    assert (found[0].lengths == found[1].lengths).all() and len(found[0].lengths) == 100
    for name, array in found[0].moves.items():
        assert (array == found[1].moves[name]).all(), name


def test_jobs_travel():
    """A job pickles, as workers need it."""
    import pickle

    job = pickle.loads(pickle.dumps(Job({"w": np.arange(3)}, 5, 2)))
    assert (job.first, job.count, job.weights["w"].tolist()) == (5, 2, [0, 1, 2])
