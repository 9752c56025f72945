"""Policies for requests that arrive during the day: features, prizes and the epochs of hindsight plans."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.vrp.generators_requests import requests
from corl.problems.vrp.online.days import customers_of, requests_of
from corl.problems.vrp.online.epochs import Requests, departure, drivable, epochs
from corl.problems.vrp.online.hindsight import dispatch_epochs
from corl.problems.vrp.online.situation import must_go, situation
from corl.solvers.vrp.online.consensus import Consensus
from corl.solvers.vrp.online.dispatching import Greedy, Threshold, waiting_epochs
from corl.solvers.vrp.online.features import Column, features
from corl.solvers.vrp.online.learned import LearnedPrizes
from corl.solvers.vrp.online.network import corrected_prizes, load_weights
from corl.solvers.vrp.online.planning import plan, routes_that_must_leave
from corl.solvers.vrp.online.sampled_prizes import SampledPrizes

DAY = requests(size=20, per_epoch=8, seed=2)
CUSTOMERS = customers_of(DAY)[1]
EPOCHS = epochs(CUSTOMERS.earliest[1:])
NODES, KNOWN, REQUESTS = requests_of(DAY)


def at(epoch: int, requests=REQUESTS):
    """The situation in which requests wait that can still be served in this epoch."""
    late = must_go(CUSTOMERS, requests, epoch - 1, EPOCHS.last)
    return situation(CUSTOMERS, requests.take(~late), epoch, EPOCHS.last)


def test_waiting_epochs_count_until_a_request_must_go():
    """None for requests that must go; otherwise one more than in the next epoch."""
    now, later = at(EPOCHS.first + 1), None
    count = waiting_epochs(now)
    assert np.array_equal(count == 0, now.must)
    later = situation(CUSTOMERS, now.requests.take(~now.must), now.epoch + 1, now.last)
    assert np.array_equal(waiting_epochs(later), count[~now.must] - 1)


@pytest.mark.parametrize("customers", [1, 2, 20])
def test_features_and_prizes_are_finite(customers):
    """With one customer and with many; prizes are positive, and those of requests that must go infinite."""
    day = requests(size=customers, per_epoch=6, seed=1)
    past, (_, known, drawn) = customers_of(day)[1], requests_of(day)
    now = situation(past, drawn.take(known == known.min()), int(known.min()), epochs(past.earliest[1:]).last)
    prize = LearnedPrizes(scenarios=2, iterations=20).prizes(now, 1e3, 0)
    assert np.isfinite(features(now)).all()
    assert np.array_equal(np.isinf(prize), now.must) and (prize[~now.must] >= 0).all()


def test_features_do_not_depend_on_the_order_of_requests():
    """The rows of a permutation are the permuted rows."""
    now = at(EPOCHS.first + 1)
    order = np.random.default_rng(0).permutation(len(now.must))
    other = situation(CUSTOMERS, now.requests.take(order), now.epoch, now.last)
    np.testing.assert_allclose(features(other), features(now)[order])
    assert len(features(now)[0]) == len(Column)


def test_every_part_of_the_network_matters():
    """Without one of its layers the prizes change."""
    now, weights = at(EPOCHS.first + 1), dict(load_weights())
    sampled = np.where(now.must, np.inf, 100.0)
    whole = corrected_prizes(weights, now, sampled)[~now.must]
    for name in [name for name in weights if name.startswith("weight")]:
        assert not np.allclose(corrected_prizes(weights | {name: 0.0 * weights[name]}, now, sampled)[~now.must], whole), name


def test_without_its_last_layer_the_network_corrects_nothing():
    """The prizes are then those of `sampled-prizes`."""
    now, weights = at(EPOCHS.first + 1), dict(load_weights())
    last = {name: 0.0 * weights[name] for name in ("weight2", "bias2")}
    sampled = np.where(now.must, np.inf, np.arange(1.0, 1.0 + len(now.must)))
    np.testing.assert_allclose(corrected_prizes(weights | last, now, sampled), sampled)


@pytest.mark.parametrize("policy", [Greedy(drop=True), Threshold(), Consensus(), SampledPrizes(), LearnedPrizes()])
def test_nothing_is_planned_when_nothing_must_go(policy):
    """No route leaves, and no time is spent."""
    early = Requests(np.array([1]), np.ones(1), np.array([40_000.0]), np.array([42_000.0]), np.zeros(1))
    now = situation(CUSTOMERS, early, EPOCHS.first, EPOCHS.last)
    assert not now.must.any() and policy.routes(now, 0.0, 0) == []


def test_hindsight_routes_leave_as_late_as_they_must():
    """They can be driven in the chosen epoch, when their requests are known, and an hour later they are late."""
    routes = [np.array([i]) for i in range(len(KNOWN))]
    for route, epoch in zip(routes, dispatch_epochs(CUSTOMERS, REQUESTS, KNOWN, routes, EPOCHS.last)):
        each = REQUESTS.take(route)
        arguments = (each, CUSTOMERS.matrix, float(CUSTOMERS.latest[0]))
        assert epoch >= KNOWN[route].max() and drivable(*arguments, departure(epoch))
        assert epoch == EPOCHS.last or must_go(CUSTOMERS, each, epoch, EPOCHS.last).all()


def test_plans_serve_what_must_go():
    """A prize-collecting plan serves every request that must go; routes without one are dropped."""
    now = at(EPOCHS.first + 1)
    routes = plan(now, 1e3, 0, 30, prize=np.where(now.must, np.inf, 1.0))
    assert set(np.flatnonzero(now.must)) <= set(np.concatenate(routes).tolist())
    assert all(now.must[route].any() for route in routes_that_must_leave(now, routes))


def test_with_iterations_the_clock_changes_nothing(monkeypatch):
    """All scenarios are planned, although the seconds are over after the first; without iterations one is."""
    from corl.solvers.vrp.online import consensus, sampled_prizes

    now, searched = at(EPOCHS.first + 1), []
    assert now.must.any() and not now.must.all()
    for module in (consensus, sampled_prizes):
        monkeypatch.setattr(module, "search", lambda *args: (searched.append(args), (None, np.inf))[1])
    for policy, count in ((Consensus, 6), (SampledPrizes, 3)):
        for iterations, expected in ((20, count), (0, count // 3)):
            searched.clear()
            policy(scenarios=3, iterations=iterations).routes(now, 1e-9, 0)
            assert len(searched) == expected


def test_weights_that_do_not_fit_are_refused(tmp_path):
    """A file that is missing, no safetensors file, or of another network: one line."""
    from safetensors.numpy import save_file

    (tmp_path / "text").write_text("weights")
    save_file({"mean": np.zeros(3, np.float32)}, tmp_path / "other.safetensors")
    for name in ("missing", "text", "other.safetensors"):
        with pytest.raises(UsageError, match=name):
            load_weights(str(tmp_path / name))
