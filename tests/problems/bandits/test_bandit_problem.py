"""corl.problems.bandits: instances, files, simulation and policies."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import corl
from corl import registry
from corl.cli.main import main
from corl.errors import Infeasible, InputError, UsageError
from corl.problems.bandits.constraints import Budget
from corl.problems.bandits.evaluation import episode_keys, simulate
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.transitions import advance, thresholds
from corl.solvers.bandits.policies.tables import RandomPolicy, SamplingPolicy, TablePolicy

DATA = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "bandits"
PROBLEM = registry.problem("bandits")
SMALL = {name: {"arms": 8, "pulls": 3, "episodes": 4, "horizon": 5} for name in PROBLEM.generators}
SMALL["interventions"] |= {"arms": 8, "count": 6}


def small(kind: str, seed: int = 0) -> BanditInstance:
    return PROBLEM.generators[kind](**SMALL[kind], seed=seed)


def myopic(instance: BanditInstance) -> TablePolicy:
    return TablePolicy(instance, instance.rewards[None])


def same(a: BanditInstance, b: BanditInstance) -> bool:
    arrays = ("transitions", "rewards", "initial", "states", "levels")
    plain = ("name", "horizon", "discount", "seed", "comment")
    return (
        all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays)
        and all(getattr(a, name) == getattr(b, name) for name in plain)
        and a.constraint.kind == b.constraint.kind
        and a.constraint.to_json() == b.constraint.to_json()
    )


def test_arms_of_different_sizes(tmp_path):
    """Arms with fewer states keep their own; the padding is never entered."""
    document = {
        "format": "corl-bandits-1",
        "arms": [
            {"transitions": [[[1.0]], [[1.0]]], "rewards": [[0.0], [2.0]]},
            {"transitions": [[[0.5, 0.5], [0, 1]], [[1, 0], [0.25, 0.75]]], "rewards": [[0, 1], [3, 4]]},
        ],
        "constraint": {"kind": "budget", "budget": 1},
        "initial": [[0, 1], [0, 0]],
    }
    path = tmp_path / "b.json"
    path.write_text(json.dumps(document))
    instance = PROBLEM.read(path)
    assert instance.states.tolist() == [1, 2]
    assert PROBLEM.evaluate(instance, myopic(instance)) > 2.0
    PROBLEM.write(instance, tmp_path / "again.json")
    assert same(PROBLEM.read(tmp_path / "again.json"), instance)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["arms"][0]["transitions"][0][0].__setitem__(0, 0.7), "arm 0, level 0, state 0: the row sums to 1.2"),
        (lambda d: d["arms"][1]["transitions"][1].__setitem__(0, [1.5, -0.5]), "is no probability"),
        (lambda d: d["arms"][0].pop("rewards"), "arms[0].rewards: missing; accepted: a list"),
        (lambda d: d["arms"][0]["transitions"][0].__setitem__(0, [1.0]), "arms[0].transitions[0][0]: a list of 1"),
        (lambda d: d["constraint"].__setitem__("kind", "magic"), "constraint.kind: 'magic' is not accepted; accepted: budget"),
        (lambda d: d["constraint"].__setitem__("budget", 9), "constraint.budget: 9; accepted: 0 to 2"),
        (lambda d: d["initial"].append([0]), "initial[1]: a list of 1 is not accepted; accepted: a list of 2"),
        (lambda d: d["initial"].append([0, 2]), "begins with arm 1 in state 2; accepted: 0 to 1"),
        (lambda d: d.__setitem__("horizon", 0), "horizon"),
        (lambda d: d.__setitem__("discount", 0), "discount"),
        (lambda d: d["arms"][0]["rewards"][1].__setitem__(0, 1e308), "arms[0].rewards[1][0]: 1e+308 is not accepted"),
        (lambda d: d.__setitem__("format", "corl-bandits-9"), "format: 'corl-bandits-9' is not accepted"),
    ],
)  # fmt: skip
def test_bad_files_are_one_line(change, words, tmp_path):
    """A fault of a file is an InputError that names the file, the field and what is accepted."""
    half = [[0.5, 0.5], [0.5, 0.5]]
    document = {
        "format": "corl-bandits-1", "initial": [[0, 0]], "constraint": {"kind": "budget", "budget": 1},
        "arms": [{"transitions": [half, [list(row) for row in half]], "rewards": [[0, 0], [1, 1]]} for _ in range(2)],
    }  # fmt: skip
    document = json.loads(json.dumps(document))
    change(document)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError) as error:
        PROBLEM.read(path)
    assert str(error.value).startswith(f"{path}:") and words in str(error.value) and "\n" not in str(error.value)


def _fields(value, path=()):
    """The paths to all fields and entries of a JSON document; of a list the first entry alone."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, entry in entries:
        yield from _fields(entry, (*path, key))


def _published(kind: str) -> dict:
    """A document in the layout of the published generators, two arms."""
    ours = {
        "constrained": {"arm_costs": [1, 1], "worker_capacity": [1]},
        "scheduling": {"n_timeslots": 2, "arm_avail": [[0], [1]], "worker_avail": [[0, 1]], "budget": 1},
        "routing": {"edges": [[0, 1]], "source": 0, "max_path_length": 2, "budget": 1},
    }
    arms = {"p_up": [[0.5, 0.5], [0.5, 0.5]], "state_reward": [[0, 1], [0, 1]], "init_states": ["01"]}
    return {"format": "cormab-0", "kind": kind, "horizon": 2, "seed": 1, **arms, **ours[kind]}


JUNK = [None, True, 2.5, -1, 10**400, "x", [], [[]], {}, [{}], {"kind": []}]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:12])
@pytest.mark.parametrize("kind", [*PROBLEM.generators, "constrained", "published scheduling", "published routing"])
def test_every_field_takes_every_type(kind, junk, tmp_path):
    """Whatever JSON stands in a field, reading gives an instance or an InputError of one line."""
    path = tmp_path / "bandit.json"
    if kind in SMALL:
        PROBLEM.write(small(kind), path)
        document = json.loads(path.read_text())
    else:
        document = _published(kind.removeprefix("published "))
        path.write_text(json.dumps(document))
    assert PROBLEM.read(path).arms > 0
    for *above, last in filter(None, _fields(document)):
        changed = json.loads(json.dumps(document))
        inner = changed
        for key in above:
            inner = inner[key]
        inner[last] = junk
        path.write_text(json.dumps(changed))
        words = f"{path}: "
        try:
            assert PROBLEM.read(path).arms > 0
        except InputError as error:
            words = str(error)
        assert words.startswith(f"{path}:") and "\n" not in words and len(words) < 300 + len(str(path)), last


def test_simulation_is_the_chain():
    """Over many episodes the states after one step have the frequencies that the transitions say."""
    instance = small("capacity")
    episodes = 20_000
    states = np.tile(np.arange(instance.arms, dtype=np.int32) % 4, (episodes, 1))
    levels = np.tile((np.arange(instance.arms) % 2).astype(np.int8), (episodes, 1))
    before, earned = states.copy(), np.empty(episodes)
    keys = np.random.default_rng(0).integers(0, 2**63, episodes).astype(np.uint64)
    advance(thresholds(instance), instance.rewards, states, levels, keys, 0, earned)
    for arm in range(instance.arms):
        expected = instance.transitions[arm, levels[0, arm], before[0, arm]]
        assert np.bincount(states[:, arm], minlength=4) / episodes == pytest.approx(expected, abs=0.015)
    assert earned[0] == pytest.approx(sum(instance.rewards[j, levels[0, j], before[0, j]] for j in range(instance.arms)))


@pytest.mark.parametrize("kind", list(PROBLEM.generators))
def test_episodes_do_not_depend_on_each_other(kind):
    """An episode earns the same alone as beside others, and twice: all its luck comes from its own key."""
    instance = small(kind)
    policies = [myopic(instance), RandomPolicy(instance, 1), SamplingPolicy(instance, instance.rewards, 5, 2)]
    for policy in policies:
        together = simulate(instance, policy.actions).rewards
        assert np.array_equal(together, simulate(instance, policy.actions).rewards)
        keys, bounds = episode_keys(instance), thresholds(instance)
        states, total, earned = instance.initial[2:3].copy(), 0.0, np.empty(1)
        for time, weight in enumerate(instance.weights):
            actions = policy.actions(states.copy(), time, keys[2:3])
            advance(bounds, instance.rewards, states, instance.constraint.levels_of(actions), keys[2:3], time, earned)
            total += weight * earned[0]
        assert total == together[2]


@pytest.mark.parametrize("kind", list(PROBLEM.generators))
def test_generators_at_any_size(kind):
    """One arm, few arms, every arm pulled: each is an instance that can be solved."""
    for arms, pulls in ((1, 1), (3, 1), (8, 2), (6, 6)):
        instance = PROBLEM.generators[kind](arms=arms, pulls=pulls, horizon=2, episodes=2)
        assert np.isfinite(PROBLEM.evaluate(instance, myopic(instance)))


def test_discount_and_horizon_weigh_rewards():
    """With one arm that always earns 1, the objective is 1 whatever the discount; rewards later count less."""
    chances, rewards = np.ones((1, 2, 1, 1)), np.ones((1, 2, 1))
    for discount in (1.0, 0.5):
        instance = BanditInstance("x", chances, rewards, Budget(np.ones(1, int), 1), np.zeros((1, 1), int), 7, discount)
        assert PROBLEM.evaluate(instance, myopic(instance)) == pytest.approx(1.0)
        assert instance.weights[1] == pytest.approx(discount * instance.weights[0])


@pytest.mark.parametrize("kind", ["routing", "interventions"])
def test_json_of_a_policy_earns_the_same(kind, tmp_path):
    """A policy comes back from its JSON and earns the same to the bit; the JSON says what, and the interval around it."""
    instance = small(kind)
    for policy in (myopic(instance), RandomPolicy(instance, 3), SamplingPolicy(instance, instance.rewards, 4)):
        value = json.loads(json.dumps(PROBLEM.to_json(instance, policy)))
        back = PROBLEM.from_json(instance, value)
        again = simulate(instance, pickle.loads(pickle.dumps(policy)).actions).mean
        assert PROBLEM.evaluate(instance, back) == value["mean_reward"] == again
        assert value["interval"][0] <= value["mean_reward"] <= value["interval"][1] and len(value["episode_seeds"]) == 4


def test_act_gives_feasible_actions_and_refuses_other_states():
    """`act` answers for any state of the arms, and says what a state is."""
    instance = small("scheduling")
    policy = myopic(instance)
    instance.constraint.checked(policy.act([0] * 8))
    for wrong in ([0] * 7, [9] * 8, [0.5] * 8):
        with pytest.raises(UsageError, match="state"):
            policy.act(wrong)


def test_a_forbidden_action_is_infeasible():
    """The judge names the episode, the time and what is broken; a thing that is no policy is refused."""
    instance = small("budget")
    with pytest.raises(Infeasible, match=r"episode 0, time 0: the pulls cost 8, more than the budget of 3"):
        simulate(instance, lambda states, time, keys: np.ones((4, 8), np.int8))
    with pytest.raises(Infeasible, match="is no policy"):
        PROBLEM.evaluate(instance, np.zeros(3))
    with pytest.raises(Infeasible, match="other arms"):
        PROBLEM.evaluate(instance, myopic(PROBLEM.generators["budget"](arms=4, pulls=2)))


@pytest.mark.parametrize("file", ["constrained_J20_B5_s0", "scheduling_J20_B5_s0", "routing_J20_B5_s0"])
def test_published_instances(file):
    """The published layout is read; looking one step ahead earns about what is known of it."""
    path = DATA / f"{file}.json"
    if not path.exists():
        pytest.skip("shared data is not here")
    instance = PROBLEM.read(path)
    known = {"constrained": 10.44, "scheduling": 8.91, "routing": 9.10}[file.partition("_")[0]]
    assert PROBLEM.evaluate(instance, myopic(instance)) == pytest.approx(known, rel=0.05)


def test_picture(tmp_path):
    """A policy and an instance are drawn."""
    import matplotlib.pyplot as plt

    instance = small("routing")
    for solution in (None, myopic(instance)):
        figure, axes = plt.subplots()
        PROBLEM.draw(instance, solution, axes)
        assert axes.images
        plt.close(figure)


def test_solve_and_check(tmp_path):
    """The one call takes an instance file and gives a policy; `corl check` reproduces what it earned from the JSON."""
    path, solution = tmp_path / "b.json", tmp_path / "s.json"
    PROBLEM.write(small("capacity"), path)
    result = corl.solve(path, solver="myopic", time_limit=5)
    result.write(solution)
    assert result.status == "feasible" and result.solution.act([0] * 8).shape == (8,)
    value = json.loads(solution.read_text())
    assert PROBLEM.evaluate(PROBLEM.read(path), PROBLEM.from_json(PROBLEM.read(path), value["solution"])) == result.objective


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("budget", lambda d: d["arms"][0]["transitions"][0][0].__setitem__(0, 0.7), "the row sums to"),
        ("budget", lambda d: d["arms"][0]["transitions"][0][0].__setitem__(0, -0.5), "is no probability"),
        ("budget", lambda d: d["constraint"].__setitem__("budget", 8), "accepted: 0 to 7"),
        ("scheduling", lambda d: d["constraint"].__setitem__("budget", 8), "accepted: 0 to 7, the arms"),
        ("routing", lambda d: d["constraint"].__setitem__("edges", [[0, 1], [2, 3]]), "the graph is not connected"),
        ("capacity", lambda d: d["constraint"].__setitem__("kind", "magic"), "'magic' is not accepted; accepted: budget"),
    ],
)  # fmt: skip
def test_bad_input_ends_with_3(kind, change, words, tmp_path, capsys):
    """`corl solve` answers a faulty file with one line that names it, and exit code 3."""
    path = tmp_path / "bad.json"
    PROBLEM.write(PROBLEM.generators[kind](arms=7, pulls=3, episodes=3, horizon=4), path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    assert main(["solve", str(path), "--solver", "null"]) == 3
    told = capsys.readouterr().err.strip()
    assert words in told and str(path) in told and len(told.splitlines()) == 1
