"""Self-play: episodes laid end to end, worth what the problem says, and the same with any number of workers."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.learning.episodes import random_choice, record
from corl.learning.selfplay import Job, SelfPlay
from corl.learning.session import Training
from corl.learning.source import Source
from corl.learning.validation import Validation, greedy
from corl.networks.tokens import token_sizes
from corl.policy import RulePolicy


def eyes(problem, instances):
    """A policy that sees the problem's first features."""
    from corl.networks.attention import AttentionPolicy

    return AttentionPolicy(**token_sizes(problem, "", "", instances[0]), width=1, heads=1, layers=1)


def played(knapsack, count=6):
    problem = knapsack.Knapsack()
    instances = [knapsack.uniform(size=5 + k, seed=k) for k in range(count)]
    environment, rows = problem.environment(instances, count), np.arange(count)
    base = environment.reset(rows, rows)
    episodes = record(eyes(problem, instances), environment, rows, base, random_choice(np.random.default_rng(0)))
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
        assert moves["returns"] == pytest.approx([instance.values[taken[t:]].sum() for t in range(length)], rel=1e-12)
        assert moves["policy"].sum(axis=1) == pytest.approx(np.ones(length)) and not moves["policy"][moves["actions"] < 0].any()
        begin += length
    assert begin == len(episodes.moves["slot"])


def test_finished_rows_give_no_moves(knapsack):
    """Episodes that are over before they begin have length 0 and the objective of their base."""
    problem = knapsack.Knapsack()
    full = knapsack.Sack("full", np.ones(3), np.ones(3), 0.5)
    environment = problem.environment([full], 2)
    base = environment.reset([0, 1], 0)
    choose = random_choice(np.random.default_rng(0))
    episodes = record(eyes(problem, [full]), environment, np.arange(2), base, choose)
    assert episodes.lengths.tolist() == [0, 0] and episodes.objective.tolist() == [0.0, 0.0] and episodes.moves == {}


class Dearest(RulePolicy):
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
    """A Validation that keeps gives back the weights that did best on its instances, and so does one restored from its state."""
    import torch

    from corl.networks.attention import AttentionPolicy

    problem = knapsack.Knapsack()
    source = Source(problem, "uniform", [6], 3)
    validate, seen, first = Validation(source, 8, keep=True), [], None
    sizes = token_sizes(problem, "items", "", source.instances(0, 1)[0])
    for seed in range(4):
        torch.manual_seed(seed)
        network = AttentionPolicy(**sizes, width=8, layers=1, heads=2, feedforward=8)
        found = greedy(problem, validate.instances, network.eval())
        first = found if first is None else first
        seen.append(float((found / first).mean()))
        assert validate(network)["best"] == pytest.approx(-max(seen))
    again = Validation(source, 8, keep=True)
    again.load_state_dict(validate.state_dict())
    again.restore(network)
    assert float((greedy(problem, validate.instances, network.eval()) / first).mean()) == pytest.approx(max(seen))


def test_sources(knapsack):
    """Instances follow from the seed and their number; an unknown generator or features are named."""
    problem = knapsack.Knapsack()
    source = Source(problem, "", [5], 7)
    first, again = source.instances(0, 4), source.instances(2, 1)
    assert len({sack.values[0] for sack in first}) == 4 and (again[0].values == first[2].values).all()
    with pytest.raises(UsageError, match="no generator 'cubic'; there are: uniform"):
        Source(problem, "cubic", [5], 7).instances(0, 1)
    assert token_sizes(source.problem, "", "", first[0]) == {
        "problem": "toy-knapsack", "features": "items", "environment": "", "inputs": 5, "pairs": 0, "extra": 1,
    }  # fmt: skip
    with pytest.raises(UsageError, match="no features 'cubic'; accepted: items"):
        token_sizes(source.problem, "cubic", "", first[0])


def test_sizes_come_in_turns(knapsack):
    """Each call has instances of one size, the next call of the next; those that are watched are of all, and other ones."""
    source = Source(knapsack.Knapsack(), "", [5, 7, 9], 1)
    calls = [source.instances(4 * i, 4) for i in range(4)]
    assert [{len(sack.values) for sack in call} for call in calls] == [{5}, {7}, {9}, {5}]
    assert (source.instances(12, 4)[0].values == calls[3][0].values).all() and (calls[0][0].values != calls[3][0].values).any()
    watched = source.validation_instances(7)
    assert sorted(len(sack.values) for sack in watched) == [5, 5, 7, 7, 9, 9, 9]


def test_folders(tmp_path):
    """Files are trained on in an order of the seed's, all alike often; a tenth, by the names, is watched and never trained on."""
    from corl import registry
    from corl.problems.tsp.generators import uniform

    def first_x(instance):
        return instance.points[0, 0]

    problem = registry.problem("tsp")
    for k in range(40):
        problem.write(uniform(size=5, seed=k), tmp_path / f"{k}.tsp")
    source = Source(problem, folder=str(tmp_path), seed=2)
    watched = {first_x(instance) for instance in source.validation_instances(100)}
    trained = {first_x(instance) for i in range(30) for instance in source.instances(4 * i, 4)}
    assert 0 < len(watched) < 10 and len(trained) > 25 and not watched & trained
    assert [first_x(one) for one in source.instances(4, 4)] == [first_x(one) for one in source.instances(4, 4)]
    with pytest.raises(UsageError, match=r"instances: no folder .*nowhere; accepted: a folder"):
        Source(problem, folder=str(tmp_path / "nowhere")).instances(0, 1)


@pytest.mark.long
def test_any_number_of_workers_plays_the_same(knapsack, knapsack_folder, monkeypatch):
    """Two worker processes make the moves that this process makes."""
    import torch

    from corl.learning.algorithms.alphazero import AlphaZero, _player
    from corl.networks.attention import AttentionPolicy

    monkeypatch.setenv("PYTHONPATH", str(knapsack_folder))
    recipe, source = AlphaZero(size=6, simulations=4, considered=4), Source(knapsack.Knapsack(), "", [6], 3)
    network = AttentionPolicy("toy-knapsack", "items", inputs=5, extra=1, width=8, layers=1, heads=2, feedforward=8)
    torch.nn.init.constant_(network.layers[0].rezero, 0.5)
    found = []
    for workers in (1, 2):
        training = Training(knapsack.Knapsack(), seed=3, device="cpu", steps=1, workers=workers)
        with SelfPlay(training, _player, recipe, source, type(network), network.config) as games:
            found.append(games.generation(network, 2, 100))
    assert [len(part.lengths) for part in found[0]] == [64, 36]
    for one, two in zip(*found):
        for name, array in (one.moves | one.observed).items():
            assert (array == (two.moves | two.observed)[name]).all(), name


def test_a_generation_is_shared_by_teacher_and_search(knapsack):
    """Of 100 episodes with a share of 0.7, the first 70 are asked of the teacher, in parts of one kind, and the others explore;
    with a share of 0 or 1 nothing does."""
    import torch

    training = Training(knapsack.Knapsack(), seed=3, device="cpu", steps=1, workers=1)
    network = torch.nn.Linear(1, 1)
    with SelfPlay(training, lambda: lambda job: (job.first, job.count, job.taught, job.explores)) as games:
        shared = games.generation(network, 1, 100, 0.7)
        whole, none = games.generation(network, 0, 100, 1.0), games.generation(network, 0, 100)
    assert shared == [(100, 64, True, False), (164, 6, True, False), (170, 30, False, True)]
    assert whole == [(0, 64, True, False), (64, 36, True, False)]
    assert none == [(0, 64, False, False), (64, 36, False, False)]


def test_jobs_travel():
    """A job pickles, as workers need it."""
    import pickle

    job = pickle.loads(pickle.dumps(Job({"w": np.arange(3)}, 5, 2)))
    assert (job.first, job.count, job.weights["w"].tolist()) == (5, 2, [0, 1, 2])
