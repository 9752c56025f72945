"""Heatmap + MCTS: always a tour, never a lie about its length, the same for the same seed, whatever the heat."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.tsp.evaluation import objective
from corl.problems.tsp.instance import COORDINATE_TYPES, TspInstance
from corl.problems.tsp.metric import metric_of
from corl.problems.tsp.problem import Tsp
from corl.rng import random_state
from corl.run import Run
from corl.solvers.tsp.heatmap.actions import ActionParameters, learn, simulate
from corl.solvers.tsp.heatmap.episodes import episodes
from corl.solvers.tsp.heatmap.heatmap import NEAREST, heatmap_of, sorted_heatmap, valid_weights
from corl.solvers.tsp.heatmap.kicks import begin, kicks
from corl.solvers.tsp.heatmap.presets import PAPER, TUNED, settings_of
from corl.solvers.tsp.heatmap.solver import HeatmapMcts
from corl.solvers.tsp.heatmap.state import new_mcts
from corl.solvers.tsp.neighbours.candidates import neighbours
from corl.solvers.tsp.tours.array_tour import forget, set_order

PRESETS = ("tuned", "paper")


def _instance(kind, n, seed):
    rng = np.random.default_rng(seed)
    if kind == "EXPLICIT":
        half = np.triu(rng.integers(-5, 40, (n, n)).astype(float), 1)
        return TspInstance("m", kind, matrix=half + half.T)
    return TspInstance("p", kind, points=rng.integers(0, 12, (n, COORDINATE_TYPES[kind])) * 3.7)  # some cities coincide


def _solve(instance, iterations, seed=0, **options):
    run = Run(Tsp(), instance, iterations=iterations, seed=seed)
    HeatmapMcts(**options).solve(instance, run)
    return run


def _rules(n, **given):
    numbers = ActionParameters(
        alpha=1.0, beta=10.0, candidates=5, depth=12, tries=6, criterion=False, stretch=8, most_moved=n, tolerance=1e-9
    )
    return numbers._replace(**given)


def _mcts(instance, heat=None, depth=12, seed=5):
    near, lengths = neighbours(instance, metric_of(instance), 6)
    made = sorted_heatmap(near, lengths, np.full(near.shape, 0.2) if heat is None else heat(near.shape))
    mcts = new_mcts(made.near, made.lengths, 100.0 * made.weights, depth, random_state(seed))
    order = np.random.default_rng(seed).permutation(instance.n).astype(np.int32)
    set_order(mcts.tour, order)
    mcts.length[0] = objective(instance, order)
    return mcts


def _is_tour(mcts):
    cities = np.arange(len(mcts.tour.order))
    return (np.sort(mcts.tour.order) == cities).all() and (mcts.tour.order[mcts.tour.position] == cities).all()


@pytest.mark.parametrize("criterion", [False, True])
@pytest.mark.parametrize("forward", [True, False])
def test_an_action_gains_what_it_says_or_changes_nothing(criterion, forward):
    """The gain is the judge's difference of lengths; without gain the array is what it was."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(1).random((60, 2)))
    mcts, metric, rules, gained = _mcts(instance), metric_of(instance), _rules(60, criterion=criterion), 0
    for city in [*range(60)] * 8:
        before, length = mcts.tour.order.copy(), objective(instance, mcts.tour.order)
        gain = simulate(metric, mcts, rules, city, forward)
        assert objective(instance, mcts.tour.order) == pytest.approx(length - gain, rel=1e-12)
        assert _is_tour(mcts) and (gain > 0.0 or (mcts.tour.order == before).all())
        gained += gain > 0.0
        forget(mcts.tour)
    assert gained > 20


def test_the_edges_of_an_improvement_gain_weight():
    """After a gain, exactly the listed new edges have risen, by the paper's formula, and row sums agree."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(1).random((60, 2)))
    mcts, metric, rules = _mcts(instance), metric_of(instance), _rules(60)
    for city in range(60):
        old, length, weight = _edges(mcts.tour.order), mcts.length[0], mcts.weight.copy()
        gain = simulate(metric, mcts, rules, city, True)
        if gain == 0.0:
            continue
        mcts.length[0] -= gain
        learn(mcts, rules, gain)
        step, risen = 10.0 * np.expm1(gain / length), mcts.weight - weight
        new = _edges(mcts.tour.order) - old
        for i, c in zip(*np.nonzero(risen)):
            assert risen[i, c] == pytest.approx(step * np.round(risen[i, c] / step), rel=1e-6)
        listed = {(i, j) for i in range(60) for j in mcts.near[i] if (min(i, j), max(i, j)) in new}
        assert listed <= {(i, mcts.near[i, c]) for i, c in zip(*np.nonzero(risen))}
        assert np.allclose(mcts.total, mcts.weight.sum(1))


def _edges(order):
    return {(min(a, b), max(a, b)) for a, b in zip(order.tolist(), np.roll(order, -1).tolist())}


@pytest.mark.parametrize("kind", [*COORDINATE_TYPES, "EXPLICIT"])
@pytest.mark.parametrize("n", [10, 60, 250])
def test_length_is_tracked_after_every_chunk(kind, n):
    """After any chunk of either search the array is a tour, positions are its inverse, and the length kept is the tour's."""
    instance = _instance(kind, n, n)
    metric = metric_of(instance)
    tuned, paper = _mcts(instance), _mcts(instance)
    begin(tuned)
    for units in (1, 1, 2, 3, 40, 150):
        kicks(metric, tuned, _rules(n, criterion=True, most_moved=20), units)
        episodes(metric, paper, _rules(n, tries=30), units)
        for mcts in (tuned, paper):
            assert _is_tour(mcts)
            if np.isfinite(mcts.length[0]):  # infinite while a tour is constructed
                assert mcts.length[0] == pytest.approx(objective(instance, mcts.tour.order), rel=1e-9, abs=1e-6)
        if np.isfinite(paper.length[1]):
            assert paper.length[1] == pytest.approx(objective(instance, paper.best), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("preset", PRESETS)
def test_any_heatmap_is_feasible(preset):
    """NaN, infinite, negative, zero and absurd weights: a tour, and never a crash or an endless loop."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(2).random((50, 2)))
    rng, metric = np.random.default_rng(0), metric_of(instance)
    kinds = [np.zeros, lambda s: np.full(s, np.nan), lambda s: np.full(s, np.inf), lambda s: -np.ones(s)]
    kinds += [lambda s: 10.0 ** rng.uniform(-300, 300, s), lambda s: np.eye(*s)]
    kinds += [lambda s: rng.choice([0.0, np.nan, np.inf, 1.0], s)]
    for heat in kinds:
        mcts = _mcts(instance, heat)
        if preset == "tuned":
            begin(mcts)
            kicks(metric, mcts, _rules(50, criterion=True), 60)
        else:
            episodes(metric, mcts, _rules(50), 300)
        assert _is_tour(mcts) and np.isfinite(mcts.weight).all()


def test_cleaned_heat():
    """Every row is finite, not negative and has something positive."""
    rows = np.array([[np.nan, 1.0], [-1.0, np.inf], [0.0, 0.0], [np.nan, -2.0]])
    clean = valid_weights(rows)
    assert np.isfinite(clean).all() and (clean >= 0.0).all() and (clean.sum(1) > 0.0).all()
    assert clean[0].tolist() == [0.0, 1.0] and clean[2].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", ["EXACT_2D", "EXPLICIT"])
def test_chunks_do_not_matter(kind, preset, monkeypatch):
    """The same iterations end in the same tour, whatever the size of the chunks; another seed ends elsewhere."""
    instance = _instance(kind, 120, 3)
    results = []
    for most in (1, 7, 10**6):
        budget = Run.budget
        monkeypatch.setattr(Run, "budget", lambda self, b=budget, m=most: b(self, m))
        results.append(_solve(instance, 250, seed=4, preset=preset).solution)
        monkeypatch.undo()
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()
    assert (results[0] != _solve(instance, 250, seed=5, preset=preset).solution).any()


@given(st.sampled_from(PRESETS), st.sampled_from([*COORDINATE_TYPES, "EXPLICIT"]), st.integers(1, 14), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_tiny_instances(preset, kind, n, seed):
    """From one city on: a tour, the optimal one up to 9 cities; duplicates and negative distances included."""
    run = _solve(_instance(kind, n, seed), 60, preset=preset)
    assert run.objective is not None and (n > 9 or run.optimal)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("n", [10, 30, 200])
def test_equal_and_collinear_cities(n, preset):
    """All cities in one place, or on one line."""
    assert _solve(TspInstance("e", "EUC_2D", points=np.ones((n, 2))), 50, preset=preset).objective == 0
    line = np.stack((np.random.default_rng(0).permutation(n), np.zeros(n)), 1)
    assert _solve(TspInstance("l", "EUC_2D", points=line), 4000, preset=preset).objective <= 2.1 * (n - 1)


def test_a_run_that_is_over_at_once_has_a_tour():
    """One unit of work is enough for a tour, of 3000 cities too."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(0).random((3000, 2)))
    for preset in PRESETS:
        assert _solve(instance, 1, preset=preset).objective > 0


@pytest.mark.parametrize("heatmap", ["nearest", "gnn"])
def test_no_time_for_lists(heatmap):
    """Where the limit is shorter than what lists or the network take, there is a tour all the same."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(0).random((3000, 2)))
    run = Run(Tsp(), instance, time_limit=0.02)
    run.start()
    HeatmapMcts(heatmap=heatmap).solve(instance, run)
    assert run.objective < 120.0  # along a space-filling curve at the worst; a random tour is 1560


def test_what_it_refuses():
    """Asymmetric instances, and the network's heatmap where there are no coordinates in the plane, each by name."""
    random = np.random.default_rng(0).random
    asymmetric = TspInstance("a", "EXPLICIT", matrix=random((12, 12)), symmetric=False)
    assert "symmetric" in HeatmapMcts().accepts(asymmetric)
    for instance in (_instance("EXPLICIT", 12, 0), _instance("EXACT_3D", 12, 0), _instance("GEO", 12, 0)):
        assert "plane" in HeatmapMcts(heatmap="gnn").accepts(instance) and not HeatmapMcts().accepts(instance)


@pytest.mark.parametrize("heatmap", ["nearest", "softmax", "none"])
@pytest.mark.parametrize("preset", PRESETS)
def test_both_presets_improve_on_a_greedy_tour(preset, heatmap):
    """200 uniform cities: after a few thousand units of work within 4 % of a tour of eax (the greedy tour: 16 %)."""
    from corl.solvers.tsp.construction.kernels import greedy_edge
    from corl.solvers.tsp.eax.solver import Eax

    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(7).random((200, 2)))
    reference = Run(Tsp(), instance, iterations=600)
    Eax().solve(instance, reference)
    greedy = objective(instance, greedy_edge(metric_of(instance), *neighbours(instance, metric_of(instance), 10)))
    found = _solve(instance, 600 if preset == "tuned" else 6000, preset=preset, heatmap=heatmap).objective
    assert found < 1.04 * reference.objective < greedy


def test_starts_from_the_users_tour():
    """A warm start is kept by the tuned search: what is reported is never worse."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(7).random((100, 2)))
    good = _solve(instance, 300).solution
    run = Run(Tsp(), instance, iterations=3, warm_start=good)
    run.start()
    HeatmapMcts().solve(instance, run)
    assert run.objective <= objective(instance, good)


def test_presets_cover_every_size_and_heatmap():
    """Each preset has numbers for any size, the published ones are those of the paper, and options override them."""
    published = [(0.0, 10.0, 5, 5, 200), (1.0, 10.0, 5, 5, 200), (0.0, 10.0, 10, 20, 200)]
    assert [numbers[:5] for _, numbers in PAPER] == published
    for heatmap in TUNED:
        for n in (10, 500, 1000, 10**6):
            for preset in PRESETS:
                HeatmapMcts(preset=preset, heatmap=heatmap, **settings_of(preset, heatmap, n)._asdict())
    assert HeatmapMcts(depth=3)._settings(500).depth == 3


def test_heatmaps_are_what_they_say():
    """nearest: P(k) in order of distance, summing to about 1; softmax: falling, sharper when colder; none: all alike."""
    instance = TspInstance("u", "EXACT_2D", points=np.random.default_rng(7).random((100, 2)))
    metric = metric_of(instance)
    nearest = heatmap_of(instance, metric, "nearest", 5, 0.3)
    assert np.allclose(nearest.weights, NEAREST[:10]) and (np.diff(nearest.lengths, axis=1) >= 0.0).all()
    assert 0.98 < sum(NEAREST) <= 1.0 and (np.diff(NEAREST) <= 0.0).all()
    warm, cold = (heatmap_of(instance, metric, "softmax", 5, t).weights for t in (1.0, 0.1))
    assert np.allclose(warm.sum(1), 1.0) and (np.diff(warm, axis=1) <= 0.0).all() and cold[:, 0].mean() > warm[:, 0].mean()
    assert np.ptp(heatmap_of(instance, metric, "none", 5, 0.3).weights) == 0.0


@pytest.mark.parametrize(
    "options",
    [{"alpha": -1}, {"beta": float("nan")}, {"tries": 0}, {"candidates": 1}, {"depth": 0}, {"stretch": 0}, {"temperature": 0.0}],
)
def test_options_are_checked(options):
    """Out of range: a UsageError that says what is accepted."""
    with pytest.raises(UsageError, match="accepted"):
        HeatmapMcts(**options)
