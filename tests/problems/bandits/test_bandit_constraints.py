"""corl.problems.bandits.constraints: oracles are exact, judges agree with brute force, relaxations hold every action."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from corl.errors import Infeasible, InputError
from corl.files.json_instances import Record
from corl.problems.bandits.constraints import KINDS, Budget, Capacity, Constraint, Interventions, Routing, Scheduling
from corl.problems.bandits.constraints.programs import program_oracle


def make(kind: str, random: np.random.Generator) -> Constraint:
    """A small random constraint of six arms (or five interventions)."""
    n = 6
    if kind == "budget":
        costs = np.ones(n, np.int64) if random.random() < 0.3 else random.integers(1, 5, n)
        return Budget(costs, int(random.integers(0, costs.sum() + 1)))
    if kind == "capacity":
        return Capacity(random.integers(1, 7, n), random.integers(0, 8, random.integers(1, 4)))
    if kind == "scheduling":
        slots = int(random.integers(1, 5))
        workers = random.random((random.integers(1, 4), slots)) < 0.5
        return Scheduling(random.random((n, slots)) < 0.5, workers, int(random.integers(0, n + 1)))
    if kind == "routing":
        edges = [(i, int(random.integers(0, i))) for i in range(1, n)] + [(0, 3)] * int(random.integers(0, 2)) + [(2, 5)]
        return Routing(n, np.array(edges), int(random.integers(0, n)), int(random.integers(0, 9)), int(random.integers(0, n + 1)))
    touching = tuple(tuple(sorted(random.choice(5, random.integers(0, 4), replace=False).tolist())) for _ in range(n))
    return Interventions(5, touching, int(random.integers(0, 6)))


def feasible(constraint: Constraint, action: np.ndarray) -> bool:
    try:
        constraint.check(action)
        return True
    except Infeasible:
        return False


def allowed_by_definition(constraint: Constraint, action: np.ndarray) -> bool:
    """Feasibility by trying everything, as each kind is defined."""
    pulled = np.flatnonzero(action).tolist()
    if isinstance(constraint, Capacity):
        workers, costs = len(constraint.capacities), constraint.costs[pulled]
        shares = (np.array(who, int) for who in product(range(workers), repeat=len(pulled)))
        return any((np.bincount(who, costs, workers) <= constraint.capacities).all() for who in shares)
    if isinstance(constraint, Scheduling):
        shifts = [tuple(shift) for shift in np.argwhere(constraint.worker_slots)]

        def serve(left: list[int], free: frozenset) -> bool:
            if not left:
                return True
            mine = [shift for shift in free if constraint.arm_slots[left[0], shift[1]]]
            return any(serve(left[1:], free - {a, b}) for a in mine for b in mine if a < b)

        return len(pulled) <= constraint.budget and serve(pulled, frozenset(shifts))
    if isinstance(constraint, Routing):
        reached = {(constraint.source, frozenset([constraint.source]))}
        seen = {frozenset([constraint.source])}
        for _ in range(constraint.length):
            reached = {(b, places | {b}) for a, places in reached for b in constraint.graph[a]}
            seen |= {places for node, places in reached if node == constraint.source}
        return len(pulled) <= constraint.budget and any(set(pulled) <= places for places in seen)
    costs = constraint.costs if isinstance(constraint, Budget) else np.ones(constraint.action_size)
    return bool((costs * action).sum() <= constraint.budget)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_judge_and_oracle_against_everything(kind, seed):
    """The judge and `fits` allow what the definition allows; the oracle's action is feasible and no other is worth more."""
    random = np.random.default_rng(seed)
    constraint = make(kind, random)
    size = constraint.action_size
    actions = np.array(list(product((0, 1), repeat=size)), np.int8)
    allowed = np.array([feasible(constraint, action) for action in actions])
    chosen = random.choice(len(actions), 12, replace=False)
    assert [allowed_by_definition(constraint, actions[i]) for i in chosen] == allowed[chosen].tolist()
    assert np.array_equal(constraint.fits(actions), allowed)
    levels = constraint.levels_of(actions)
    worth = np.round(random.normal(size=(3, levels.shape[1], int(levels.max()) + 1 if kind == "interventions" else 2)), 2)
    found = constraint.oracle(worth)
    for row, action in zip(worth, found):
        totals = row[np.arange(levels.shape[1])[None, :], levels].sum(axis=1)
        assert feasible(constraint, action)
        got = row[np.arange(levels.shape[1]), constraint.levels_of(action[None])[0]].sum()
        assert got == pytest.approx(totals[allowed].max(), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_relaxation_holds_every_action(kind, seed):
    """Each feasible action's levels are the chances of a point of the relaxation, so its program bounds the oracle."""
    random = np.random.default_rng(seed)
    constraint = make(kind, random)
    relaxation = constraint.relaxation()
    for action in constraint.random(random, 3):
        levels = constraint.levels_of(action[None])[0]
        width = relaxation.chance.shape[0] // len(levels)
        chances = (levels[:, None] == np.arange(1, width + 1)).astype(float).ravel()
        size = relaxation.inequalities.shape[1]
        point = linprog(np.zeros(size), relaxation.inequalities, relaxation.limit, relaxation.chance, chances, bounds=(0, None))
        assert point.status == 0, point.message


@pytest.mark.parametrize("kind", KINDS)
def test_random_actions(kind):
    """Random actions are feasible and, for pulls, cannot be extended; the same generator gives the same ones."""
    for seed in range(8):
        constraint = make(kind, np.random.default_rng(seed))
        actions = constraint.random(np.random.default_rng(1), 4)
        assert np.array_equal(actions, constraint.random(np.random.default_rng(1), 4))
        for action in actions:
            assert feasible(constraint, action)
            for arm in np.flatnonzero(action == 0):
                more = action.copy()
                more[arm] = 1
                assert not feasible(constraint, more)


@pytest.mark.parametrize("kind", ["capacity", "routing"])
def test_integer_programs_agree(kind):
    """What stands in for a list that is too long finds actions of the same worth."""
    random = np.random.default_rng(3)
    for _ in range(6):
        constraint = make(kind, random)
        gains = random.random((2, constraint.arms))
        worth = np.stack([np.zeros_like(gains), gains], axis=2)
        listed, solved = constraint.oracle(worth), program_oracle(constraint, constraint._program())(worth)
        assert (gains * listed).sum(axis=1) == pytest.approx((gains * solved).sum(axis=1), abs=1e-7)
        assert all(feasible(constraint, action) for action in solved)


@pytest.mark.parametrize("kind", KINDS)
def test_json_round_trip(kind):
    """A constraint comes back from its JSON."""
    random = np.random.default_rng(5)
    for _ in range(5):
        constraint = make(kind, random)
        arms = 6
        assert (
            KINDS[kind].from_json(Record(constraint.to_json(), "constraint", KINDS[kind].form.keys), arms).to_json()
            == constraint.to_json()
        )


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("budget", {"budget": 7}, "accepted: 0 to 6"),
        ("budget", {"budget": 2, "costs": [1, 2]}, "costs: a list of 2 is not accepted; accepted: a list of 6"),
        ("capacity", {"costs": [0] * 6, "capacities": [1]}, "costs[0]: 0 is not accepted; accepted: an integer from 1"),
        ("scheduling", {"slots": 3, "arm_slots": [[3]] * 6, "worker_slots": [[0]], "budget": 1}, "0 to 2"),
        ("scheduling", {"slots": 0, "arm_slots": [], "worker_slots": [], "budget": 1}, "from 1 to"),
        ("routing", {"edges": [[0, 1], [2, 3]], "source": 0, "length": 4, "budget": 2}, "not connected: no way from 0 to arm 2"),
        ("routing", {"edges": [[0, 9]], "source": 0, "length": 4, "budget": 2}, "0 to 5"),
        ("interventions", {"count": 3, "touching": [[0, 3]] + [[]] * 5, "budget": 1}, "arm 0"),
        ("interventions", {"count": 3, "touching": [[]] * 6, "budget": 4}, "accepted: 0 to 3"),
    ],
)  # fmt: skip
def test_bad_numbers_are_named(kind, values, words):
    """What does not fit is an InputError that names the field and what is accepted."""
    with pytest.raises(InputError, match="constraint") as error:
        KINDS[kind].from_json(Record(values, "constraint", KINDS[kind].form.keys), 6)
    assert words in str(error.value)


def test_capacity_relaxes_to_whole_arms():
    """One worker of capacity 5 and arms of cost 3: one arm in expectation, where shares of the worker would allow 5/3."""
    relaxation = Capacity(np.array([3, 3]), np.array([5])).relaxation()
    most = -relaxation.chance.toarray().sum(axis=0)
    found = linprog(most, relaxation.inequalities, relaxation.limit, bounds=(0, None))
    assert found.fun == pytest.approx(-1.0)


def test_routing_on_more_than_64_places():
    """On a path from its end a walk of ten steps reaches five places, wherever in the words of bits they lie."""
    n, source = 70, 69
    constraint = Routing(n, np.array([(i, i + 1) for i in range(n - 1)]), source, 10, 3)
    assert constraint.visits is not None
    assert [np.flatnonzero(visit).tolist() for visit in constraint.visits] == [[64, 65, 66, 67, 68, 69]]
    worth = np.zeros((1, n, 2))
    worth[0, :, 1] = np.arange(n)[::-1]
    assert np.flatnonzero(constraint.make_oracle()(worth)[0]).tolist() == [64, 65, 66]


def test_routing_with_many_sets_of_visits_has_a_relaxation_of_flows(monkeypatch):
    """Beyond the columns that a program can bear the actions are still listed, and the flows still hold every one of them."""
    import corl.problems.bandits.constraints.routing as module

    constraint = make("routing", np.random.default_rng(5))
    listed, columns = constraint.visits, constraint.relaxation().chance.shape[1]
    assert listed is not None
    monkeypatch.setattr(module, "_MAX_COLUMNS", 0)
    assert constraint.relaxation().chance.shape[1] == 6 + 4 * len(constraint.edges) != columns
    assert constraint.visits is listed
