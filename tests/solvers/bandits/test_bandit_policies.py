"""corl.solvers.bandits.policies: what can be asked of a policy, and what is saved of it."""

from __future__ import annotations

import copy
import json
import pickle
from importlib.metadata import entry_points

import numpy as np
import pytest

import corl
from corl import registry
from corl.errors import CorlError, InputError, UsageError
from corl.problems.bandits.evaluation import simulate
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import BanditPolicy, kinds, policy_from_json
from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
from corl.solvers.bandits.policies.resolving import ResolvingPolicy
from corl.solvers.bandits.policies.rollout import RolloutPolicy
from corl.solvers.bandits.policies.tables import IterativePolicy, TablePolicy

PROBLEM = registry.problem("bandits")
COUPLED = ["budget", "capacity", "scheduling", "routing", "interventions"]


def small(kind: str, seed: int = 0) -> BanditInstance:
    """Seven arms, four steps, three episodes."""
    options = {"arms": 7, "pulls": 3, "episodes": 3, "horizon": 4} | ({"count": 5} if kind == "interventions" else {})
    return PROBLEM.generators[kind](**options, seed=seed)


def some_policies(instance: BanditInstance) -> list[BanditPolicy]:
    """One of each kind whose actions are found step by step."""
    fluid = solve_fluid(instance)
    return [
        IterativePolicy(instance, instance.rewards[None]),
        ResolvingPolicy(instance, fluid.value, 2),
        RolloutPolicy(instance, fluid.level_values, fluid.value, 3, 3, 2, 5),
    ]


@pytest.mark.parametrize("kind", COUPLED)
def test_policies_come_back_from_json(kind):
    """Each policy is feasible, earns the same from its JSON and from a pickle, and `act` says what it does in an episode."""
    instance = small(kind)
    for policy in some_policies(instance):
        value = json.loads(json.dumps(PROBLEM.to_json(instance, policy)))
        back = PROBLEM.from_json(instance, value)
        assert type(back) is type(policy) and copy.deepcopy(policy) is policy
        assert PROBLEM.evaluate(instance, back) == value["mean_reward"]
        assert simulate(instance, pickle.loads(pickle.dumps(policy)).actions).mean == value["mean_reward"]
        state = instance.initial[1]
        assert np.array_equal(back.act(state, 1), policy.actions(instance.initial, 1, np.zeros(3, np.uint64))[1])


def test_every_kind_is_declared():
    """The class of each kind is found by the kind's name; those that were made here are among them."""
    declared = entry_points(group="corl.policies")
    assert {entry.name: f"bandits.{entry.load().kind}" for entry in declared} == {name: name for name in declared.names}
    assert {policy.kind for policy in some_policies(small("budget"))} < set(kinds())


@pytest.mark.parametrize("kind", COUPLED)
def test_a_pick_adds_most_of_all_that_fit(kind):
    """The iterative policy's action cannot be bettered by one more pick."""
    instance = small(kind, 2)
    policy = IterativePolicy(instance, instance.rewards[None])
    for state in instance.initial:
        action, arms = policy.act(state), np.arange(instance.arms)
        for extra in np.flatnonzero(action == 0):
            more = action.copy()
            more[extra] = 1
            if instance.constraint.fits(more[None])[0]:
                levels = instance.constraint.levels_of(np.array([action, more]))
                earned = instance.rewards[arms, levels, state].sum(axis=1)
                assert earned[1] <= earned[0]


def test_solving_anew_to_the_end_is_the_first_program_in_the_first_step():
    """From an episode's own beginning, with all steps in the program, prices are those of that beginning's relaxation."""
    instance = small("scheduling")
    one = BanditInstance("one", instance.transitions, instance.rewards, instance.constraint, instance.initial[:1], 4)
    fluid = solve_fluid(one)
    policy = ResolvingPolicy(one, fluid.value, 4)
    assert np.array_equal(policy.act(one.initial[0]), TablePolicy(one, fluid.level_values).act(one.initial[0]))
    late = solve_fluid(one, start=2, after=np.ones((7, 4)))
    nothing = solve_fluid(one, start=2)
    assert late.bound == pytest.approx(nothing.bound + 7.0)  # what comes after is worth 1 for every arm
    assert len(late.level_values) == 2 and late.value.shape == (3, 7, 4)


def test_rollouts_never_see_the_episode():
    """A search gives one action for a state and a time, whatever the episode's key and whatever is asked beside it."""
    instance = small("routing", 1)
    policy = some_policies(instance)[2]
    outcome = simulate(instance, policy.actions).rewards
    fresh = pickle.loads(pickle.dumps(policy))
    alone = [fresh.actions(instance.initial[e : e + 1], 0, np.array([e], np.uint64))[0] for e in (2, 0, 1)]
    together = policy.actions(instance.initial, 0, np.array([7, 8, 9], np.uint64))
    assert np.array_equal(np.array(alone)[[1, 2, 0]], together)
    assert np.array_equal(outcome, simulate(instance, fresh.actions).rewards)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v.__setitem__("kind", "magic"), "accepted: an object with kind iterative, learned"),
        (lambda v: v.pop("value"), "policy.value: accepted: finite numbers"),
        (lambda v: v.__setitem__("value", [[1.0]]), "value: accepted: finite numbers of shape [5, 7, 4]"),
        (lambda v: v.__setitem__("steps", 0), "policy.steps: accepted: an integer from 1"),
        (lambda v: v.__setitem__("colour", 1), "a resolving policy has no 'colour'"),
    ],
)  # fmt: skip
def test_bad_policies_are_one_line(change, words):
    """What is no policy is one error that names the field and what is accepted."""
    instance = small("budget")
    value = json.loads(json.dumps(PROBLEM.to_json(instance, some_policies(instance)[1])))
    change(value["policy"])
    with pytest.raises(CorlError) as error:
        PROBLEM.from_json(instance, value)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_result_policy(tmp_path):
    """`result.policy.act(state)` is an action, of a result read from its JSON too; other problems have no policies."""
    instance = small("capacity")
    result = corl.solve(instance, solver="fluid", time_limit=20)
    result.write(tmp_path / "r.json")
    back = corl.Result.from_json((tmp_path / "r.json").read_text(), instance)
    assert np.array_equal(back.policy.act([0] * 7), result.policy.act([0] * 7))
    with pytest.raises(UsageError, match="no policy"):
        _ = corl.Result.from_json((tmp_path / "r.json").read_text()).policy
    with pytest.raises(UsageError, match="time is -1"):
        result.policy.act([0] * 7, -1)


@pytest.mark.chance
@pytest.mark.parametrize("name", ["rollout", "fluid"])
def test_dear_policies_leave_the_cheap_one_where_time_is_short(name):
    """Where the episodes cannot be played in time, the table's policy is what is returned."""
    instance = PROBLEM.generators["budget"](arms=7, pulls=2, episodes=400, horizon=30)
    options = {"resolve": 30} if name == "fluid" else {"breadth": 20, "samples": 20, "depth": 30}
    result = corl.solve(instance, solver=name, time_limit=1, **options)
    assert result.status in ("feasible", "no_solution")  # no_solution: a machine that has no time at all
    if result.status == "feasible":
        assert isinstance(result.policy, TablePolicy)


@pytest.mark.parametrize(("field", "most"), [("samples", 1000), ("breadth", 1000), ("depth", 1000)])
def test_policies_that_never_end_are_refused(field, most):
    """What a solution file says of rollouts is bounded: the judge plays it."""
    instance = small("budget")
    values = some_policies(instance)[2].to_json() | {"kind": "rollout"}
    assert policy_from_json(instance, values | {field: 7}).to_json()[field] == 7
    with pytest.raises(InputError, match=f"{field}: accepted: an integer from 1 to {most}"):
        policy_from_json(instance, values | {field: most + 1})
