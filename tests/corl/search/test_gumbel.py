"""Gumbel search: mctx's trees, sequential halving, the noise and the policy target."""

from __future__ import annotations

import json

import compare_mctx
import numpy as np
import pytest
import table_tsp
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.search.gumbel import Gumbel, considered_visits
from corl.search.models import SimulatorModel, rows_needed
from corl.search.puct import Puct

ENTRIES = json.loads(compare_mctx.GOLDEN.read_text())
NAMES = [f"{entry['search']}-{entry['cities']}-{entry['simulations']}" for entry in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_visits_are_those_of_mctx(entry):
    """Both searches, without noise: the visit counts at the root are mctx's, in each of four trees (golden.json)."""
    found = compare_mctx.ours(entry)
    assert compare_mctx.by_city(found, entry["cities"]).tolist() == entry["visits"]


@pytest.mark.long
@pytest.mark.parametrize("number", [3, 11])
def test_golden_trees_are_what_mctx_does_now(number):
    """Where mctx is installed, the golden files are reproduced."""
    pytest.importorskip("mctx")
    assert compare_mctx.theirs(table_tsp.CONFIGURATIONS[number]).tolist() == ENTRIES[number]["visits"]


def test_golden_trees_are_those_of_the_script():
    """The golden file has the configurations of the script that makes it, enough of each search."""
    assert [{k: v for k, v in entry.items() if k != "visits"} for entry in ENTRIES] == table_tsp.CONFIGURATIONS
    assert sum(entry["search"] == "gumbel" for entry in ENTRIES) >= 8 and sum(entry["search"] == "puct" for entry in ENTRIES) >= 4


def test_sequential_halving_by_hand():
    """Four actions and 16 simulations: two phases of eight, two visits each to four actions, then four each to two."""
    assert considered_visits(4, 16).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert considered_visits(1, 3).tolist() == [0, 1, 2]
    assert considered_visits(5, 3).tolist() == [0, 0, 0]


@given(considered=st.integers(1, 40), simulations=st.integers(1, 300))
def test_sequential_halving_asks_for_visits_there_are(considered, simulations):
    """Whichever of the actions with the asked number of visits is taken, there always is one."""
    visits = np.zeros(considered, int)
    for asked in considered_visits(considered, simulations):
        (able,) = np.nonzero(visits == asked)
        assert len(able)
        visits[able[-1]] += 1
    assert visits.sum() == simulations


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    simulations=st.integers(1, 60),
    considered=st.integers(1, 12),
    noise=st.sampled_from([0.0, 1.0]),
)
def test_the_target_improves_on_the_prior(seed, simulations, considered, noise):
    """The policy target is a distribution over the listed actions with at least the prior's expected q (theorem of section 4)."""
    places, network = table_tsp.points(seed, 8), table_tsp.tables(seed, 8)
    pool = table_tsp.environment(places, rows_needed(4, 60))
    search = Gumbel(simulations, considered, noise=noise)
    found = search.search(SimulatorModel(pool, table_tsp.TablePolicy(network).on(pool), first=4), np.arange(4), seed)
    for tree in range(4):
        logits = network.logits[0, found.actions[tree]].astype(float)
        prior = np.exp(logits) / np.exp(logits).sum()
        assert found.policy[tree].sum() == pytest.approx(1.0) and (found.policy[tree] >= 0.0).all()
        assert found.policy[tree] @ found.values[tree] >= prior @ found.values[tree] - 1e-9
        assert found.visits[tree].sum() == simulations
        assert np.count_nonzero(found.visits[tree]) <= considered
        assert found.visits[tree, found.actions[tree] == found.action[tree]] == found.visits[tree].max()


def test_considering_one_action_draws_it_from_the_prior():
    """The Gumbel-max trick: with considered=1 the action is a draw from softmax(logits); 1000 trees of different keys."""
    network, places = table_tsp.tables(3, 6), np.repeat(table_tsp.points(3, 6)[:1], 1000, axis=0)
    pool = table_tsp.environment(places, rows_needed(1000, 1))
    model = SimulatorModel(pool, table_tsp.TablePolicy(network).on(pool), first=1000)
    found = Gumbel(1, considered=1).search(model, np.arange(1000), 0)
    prior = np.exp(network.logits[0, 1:].astype(float))
    prior /= prior.sum()
    drawn = np.bincount(found.action, minlength=6)[1:]
    deviation = (drawn - 1000 * prior) / np.sqrt(1000 * prior * (1.0 - prior))
    assert np.abs(deviation).max() < 4.0


@pytest.mark.parametrize(
    "options",
    [{"simulations": 0}, {"considered": 0}, {"noise": -1.0}, {"noise": float("nan")}, {"visit_offset": float("inf")},
     {"width": -1}, {"leaves": 0}, {"value_scale": -0.1}],
)  # fmt: skip
def test_options_out_of_range_are_refused(options):
    """The message names the option and what is accepted."""
    with pytest.raises(UsageError, match=f"{next(iter(options))} is .*accepted"):
        Gumbel(**options)


@pytest.mark.parametrize(
    "options",
    [{"exploration": -1.0}, {"base": 0.0}, {"noise": 1.5}, {"concentration": 0.0}, {"temperature": -1.0}, {"leaves": 0}],
)
def test_options_of_puct_out_of_range_are_refused(options):
    """The message names the option and what is accepted."""
    with pytest.raises(UsageError, match=f"{next(iter(options))} is .*accepted"):
        Puct(**options)
