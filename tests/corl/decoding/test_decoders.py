"""What every decoder keeps to: legal solutions, honest counts, the same results in any batch; and what each one promises."""

from __future__ import annotations

import numpy as np
import pytest

from corl.decoding import Beam, CountedEvaluator, Greedy, Sampling, WithoutReplacement, decode
from corl.errors import UsageError
from corl.policy import RulePolicy
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.problem import Tsp

TSP = Tsp()
DECODERS = [
    Greedy(), Sampling(5, 0.7), Beam(5), WithoutReplacement(5, temperature=0.7), WithoutReplacement(3, 4),
]  # fmt: skip


def nearest_neighbour(instance, start=0):
    """The tour that always goes on to the nearest city."""
    tour = [start]
    while len(tour) < instance.n:
        left = [city for city in range(instance.n) if city not in tour]
        tour.append(min(left, key=lambda city: np.linalg.norm(instance.points[city] - instance.points[tour[-1]])))
    return tour


@pytest.mark.parametrize("decoder", DECODERS, ids=str)
def test_solutions_are_what_they_claim(instances, evaluator, decoder):
    """Of every decoder, on mixed sizes down to one city: solutions are feasible, worth their total, made by their actions, and
    as probable as claimed; the policy is shown what is counted."""
    given = instances(9, 4, 1, 2, 7)
    tool = evaluator(given, 40, 4)
    found = decode(decoder, tool, range(5), seed=3)
    assert found.complete and set(found.entry) == set(range(5))
    temperature = getattr(decoder, "temperature", 1.0)
    for entry, total, log_probability, actions, solution in zip(
        found.entry, found.total, found.log_probability, found.actions, found.solutions
    ):
        assert TSP.evaluate(given[entry], solution) == pytest.approx(-total, rel=1e-12, abs=1e-12)
        tool.environment.reset([0], [entry])
        probability = 0.0
        for action in actions:
            offered = tool.environment.actions([0])
            scores = tool.log_probabilities(np.array([0]), offered, temperature)
            probability += scores[0, offered[0].tolist().index(action)]
            tool.environment.step([0], [0], [action])
        assert tool.environment.solution(0).tolist() == solution.tolist()
        assert probability == pytest.approx(log_probability, abs=1e-9)


@pytest.mark.parametrize("decoder", DECODERS, ids=str)
def test_batches_do_not_matter(instances, evaluator, decoder):
    """Mixed sizes decoded together, in any pool that is large enough, and one by one, give the same solutions to the bit."""
    given = instances(9, 5, 12, 8)
    together = decode(decoder, evaluator(given, 64, 5), range(4), keys=[0, 3, 5, 1], seed=1)
    tight = decode(decoder, evaluator(given, 11, 5, most=2), range(4), keys=[0, 3, 5, 1], seed=1)
    for entry, key in enumerate([0, 3, 5, 1]):
        alone = decode(decoder, evaluator(given, 30, 5), [entry], keys=[key], seed=1)
        for found in (together, tight):
            mine = [i for i in range(len(found.entry)) if found.entry[i] == entry]
            assert [found.total[i] for i in mine] == alone.total
            assert [found.solutions[i].tolist() for i in mine] == [tour.tolist() for tour in alone.solutions]


def test_greedy_is_nearest_neighbour(instances, evaluator):
    """Under logits that fall with distance, greedy decoding is the nearest neighbour tour, from every start city."""
    (instance,) = instances(10)
    found = decode(Greedy(), evaluator([instance], 4, 3), [0] * 10, keys=range(10))
    assert [tour.tolist() for tour in found.solutions] == [nearest_neighbour(instance, start) for start in range(10)]


def test_calls_are_counted(instances, evaluator):
    """Greedy decoding asks once a step for all live rows; the last, forced step is free; `most` cuts a batch, not the count."""
    given = instances(9, 4)
    tool = evaluator(given, 2)
    decode(Greedy(), tool, [0, 1])
    assert (tool.rows, tool.batches) == (7 + 2, 7)
    tool = evaluator(given, 2, most=1)
    decode(Greedy(), tool, [0, 1])
    assert (tool.rows, tool.batches) == (9, 9)


def test_full_beam_is_optimal(instances, evaluator, shortest):
    """A beam that holds every partial tour finds the shortest one, says that nothing is left, and one city less does not."""
    given = instances(6, 5)
    found = decode(Beam(120), evaluator(given, 240), [0, 1])
    assert found.exhausted and len(found.entry) == 120 + 24
    best = [-found.total[i] for i in found.best(2)]
    assert best == pytest.approx([shortest(instance) for instance in given], rel=1e-12)
    assert not decode(Beam(119), evaluator(given, 240), [0, 1]).exhausted


def test_beam_of_one_is_greedy(instances, evaluator):
    """Beam(1) is greedy decoding."""
    given = instances(12, 9, 15)
    one, greedy = (decode(decoder, evaluator(given, 3, 5), range(3)) for decoder in (Beam(1), Greedy()))
    by_entry = np.argsort(one.entry)
    assert [one.solutions[i].tolist() for i in by_entry] == [tour.tolist() for tour in greedy.solutions]


def test_beam_keeps_the_most_probable(instances, evaluator):
    """On a tree of two levels the beam holds exactly the most probable prefixes: brute force over all of them agrees."""
    (instance,) = instances(5, seed=4)
    everything = decode(Beam(24), evaluator([instance], 24), [0])
    prefixes: dict[tuple, float] = {}
    for actions, log_probability in zip(everything.actions, everything.log_probability):
        prefix = tuple(actions[:2].tolist())
        prefixes[prefix] = prefixes.get(prefix, 0.0) + np.exp(log_probability)
    likeliest = sorted(prefixes, key=prefixes.get, reverse=True)[:3]
    found = decode(Beam(3), evaluator([instance], 3), [0])
    assert {tuple(actions[:2].tolist()) for actions in found.actions} <= set(likeliest)


class Knowing(RulePolicy):
    """Knows what the rest of a tour is worth, and nothing of the actions; the pool's last rows are its scratch."""

    has_value = True

    def on(self, environment):
        """See RulePolicy."""
        self.environment = environment
        return self

    def evaluate(self, view):
        """Logits that are alike, and exact values."""
        return np.zeros(view.actions.shape, np.float32), np.array([self.rest(row, 1) for row in view.rows])

    def rest(self, row, depth):
        """The most that can still be collected."""
        actions = self.environment.actions([row])[0]
        there = actions[actions >= 0]
        scratch = self.environment.rows - depth
        return max((self.environment.step([row], [scratch], [a])[0] + self.rest(scratch, depth + 1) for a in there), default=0.0)


def test_beam_by_estimate(instances, evaluator, shortest):
    """With exact values a beam that holds all children of one state finds the shortest tour whatever the probabilities; without
    them it does not; `nat` needs a policy that has values."""
    given = instances(6, 5, 6, 6)
    optima = [shortest(instance) for instance in given]

    def lengths(beam):
        found = decode(beam, CountedEvaluator(TspEnvironment(given, 40), Knowing()), range(4))
        return [-found.total[i] for i in found.best(4)]

    assert lengths(Beam(5, nat=0.1)) == pytest.approx(optima, rel=1e-12)
    assert max(np.array(lengths(Beam(5))) / optima) > 1.01
    with pytest.raises(UsageError, match="needs a policy with a value"):
        decode(Beam(5, nat=0.1), evaluator(given, 40), range(4))


def test_samples_follow_the_policy(instances, evaluator):
    """Frequencies of 20,000 samples agree with the policy's probabilities (chi-squared over 24 tours)."""
    (instance,) = instances(5)
    everything = decode(Beam(24), evaluator([instance], 24), [0])
    expected = {tuple(a.tolist()): np.exp(p) for a, p in zip(everything.actions, everything.log_probability)}
    assert sum(expected.values()) == pytest.approx(1.0)
    found = decode(Sampling(20_000), evaluator([instance], 5000), [0], seed=1)
    counts = dict.fromkeys(expected, 0)
    for actions in found.actions:
        counts[tuple(actions.tolist())] += 1
    statistic = sum((counts[key] - 20_000 * p) ** 2 / (20_000 * p) for key, p in expected.items())
    assert statistic < 49.7  # 99.9 % quantile of chi-squared with 23 degrees of freedom


def test_temperature_sharpens(instances, evaluator):
    """At a low temperature samples are the greedy tour, at a high one they differ."""
    (instance,) = instances(10)
    cold, hot = (decode(Sampling(8, t), evaluator([instance], 8), [0]) for t in (1e-3, 10.0))
    assert {tuple(tour) for tour in cold.solutions} == {tuple(nearest_neighbour(instance))}
    assert len({tuple(tour) for tour in hot.solutions}) > 4


def test_seeds_and_repeats_draw_anew(instances, evaluator):
    """Another seed, and the same instance a second time in a batch, draw other samples; the same seed the same ones."""
    (instance,) = instances(12)
    first, again, other = (decode(Sampling(4), evaluator([instance], 8), [0, 0], seed=seed) for seed in (1, 1, 2))
    assert first.total == again.total and first.total != other.total
    assert first.total[:4] != first.total[4:]


def test_a_spent_budget_keeps_what_was_found(instances, evaluator):
    """Where `ask` says no, decoding ends at once, and the solutions so far are returned as incomplete."""
    asked: list[int] = []
    tool = evaluator(instances(12), 4, ask=lambda rows: asked.append(rows) or len(asked) <= 25)
    found = decode(Sampling(12), tool, [0])
    assert not found.complete and len(found.entry) == 8 and tool.rows == sum(asked[:25]) and tool.batches == 25


def test_solutions_are_told_at_once(instances, evaluator):
    """`on_solution` hears of every solution with its entry and total."""
    from corl.decoding import Decoded

    heard: list[tuple[int, float]] = []
    found = Decoded(on_solution=lambda entry, total, solution: heard.append((entry, total)))
    decode(Sampling(3), evaluator(instances(7, 8), 2), [0, 1], found=found)
    assert heard == list(zip(found.entry, found.total)) and len(heard) == 6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sampling(0), "samples is 0; accepted: an integer from 1"),
        (lambda: Sampling(1, 0.0), "temperature is 0.0; accepted: a number above 0"),
        (lambda: Beam(0), "width is 0; accepted: an integer from 1"),
        (lambda: WithoutReplacement(2, 0), "rounds is 0; accepted: an integer from 1"),
    ],
)
def test_options_are_checked(make, message):
    """Each option out of range is named with what is accepted."""
    with pytest.raises(UsageError, match=message):
        make()


def test_pools_too_small_and_odd_keys(instances, evaluator):
    """One entry must fit into the pool; keys come one an entry; the policy must answer for the environment's slots."""
    given = instances(6)
    with pytest.raises(UsageError, match="a beam of width 9 needs a pool of 9 rows; this one has 8"):
        decode(Beam(9), evaluator(given, 8), [0])
    with pytest.raises(UsageError, match="as many keys as instances, not 1 and 2"):
        decode(Greedy(), evaluator(given, 8), [0, 0], keys=[1])
    tool = evaluator(given, 8)
    tool.policy.evaluate = lambda seen: (np.zeros((1, 2)), np.zeros(1))
    with pytest.raises(UsageError, match=r"logits of shape \(1, 2\), not \(1, 5\)"):
        decode(Greedy(), tool, [0])
    with pytest.raises(UsageError, match="most is 0"):
        CountedEvaluator(tool.environment, tool.policy, most=0)
