"""Networks on bandits: the solvers play every episode with the policy that they report, and the checker does so again."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch

import corl
from corl import registry
from corl.deadline import OutOfTime, time_limited
from corl.errors import InputError, UsageError
from corl.learning.source import Source
from corl.learning.training import train
from corl.networks.attention import AttentionPolicy
from corl.networks.checkpoints import load_cached, save
from corl.networks.muzero import MuZeroNetwork
from corl.networks.tokens import token_sizes
from corl.solvers.bandits.policies.learned import LearnedPolicy
from corl.solvers.generic import policy_solutions

KINDS = ("budget", "interventions", "routing")
OPTIONS = {"policy": {}, "tree-search": {"simulations": 3}, "muzero": {"simulations": 3}}


def instance_of(kind: str, seed: int = 0):
    more = {"count": 4} if kind == "interventions" else {}
    return registry.problem("bandits").generators[kind](arms=6, pulls=2, horizon=3, episodes=4, seed=seed, **more)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A function: the file of an untrained network of an architecture."""
    folder, problem = tmp_path_factory.mktemp("networks"), registry.problem("bandits")

    def made(architecture: str, value: bool = True) -> str:
        torch.manual_seed(0)
        sizes = token_sizes(problem, "", "", instance_of("budget")) | {"width": 8, "layers": 1, "heads": 2}
        kind = MuZeroNetwork(**sizes) if architecture == "muzero" else AttentionPolicy(**sizes, value=value)
        path = folder / f"{architecture}-{value}.safetensors"
        save(path, kind)
        return str(path)

    return made


@pytest.mark.parametrize(
    ("solver", "kind"),
    [
        pytest.param(solver, kind, marks=() if list(OPTIONS).index(solver) == KINDS.index(kind) else pytest.mark.long)
        for solver in OPTIONS
        for kind in KINDS
    ],
)
def test_what_is_reported_is_played_again_to_the_bit(solver, kind, network):
    """The objective is that of a policy which the checkpoint's name and digest give anew; iterations end nothing."""
    problem, instance = registry.problem("bandits"), instance_of(kind)
    path = network("muzero" if solver == "muzero" else "attention")
    result = corl.solve(instance, problem="bandits", solver=solver, policy=path, iterations=1, **OPTIONS[solver])
    value = json.loads(json.dumps(problem.to_json(instance, result.solution)))
    assert value["policy"]["imagined"] == (solver == "muzero") and bool(value["policy"]["search"]) == (solver != "policy")
    assert result.verified and value["mean_reward"] == result.objective
    again = problem.from_json(instance, value)
    again.__dict__.pop("_outcome", None)
    assert problem.evaluate(instance, again) == result.objective


@pytest.mark.parametrize("value", [False, True])
@pytest.mark.parametrize("search", ["", "gumbel", "puct"])
def test_an_action_is_a_function_of_state_and_time(search, value, network):
    """Whatever the keys of the episodes, from which their luck comes; a policy without a value searches with rollouts."""
    instance, path = instance_of("capacity"), network("attention", value)
    policy = LearnedPolicy(instance, path, load_cached(path)[1]["digest"], search, 4 if search else 0)
    states = np.tile(np.array([[0, 1, 2, 3, 0, 1], [3, 0, 1, 1, 2, 0]], np.int32), (3, 1))
    actions = policy.actions(states, 1, np.arange(6).astype(np.uint64))
    assert (actions == policy.actions(states, 1, np.arange(6).astype(np.uint64) + 77)).all()
    assert (actions[:2] == actions[2:4]).all() and (actions[:2] == actions[4:]).all()
    assert instance.constraint.fits(actions).all()


def test_a_search_that_takes_too_long_gives_way(network, monkeypatch):
    """To the network's likeliest picks; and in the middle of a pick's search, not only between picks."""
    instance, options = instance_of("budget"), {"policy": network("attention"), "simulations": 50}
    result = corl.solve(instance, problem="bandits", solver="tree-search", time_limit=600, **options)
    assert result.solution.search == "gumbel"
    monkeypatch.setattr(policy_solutions, "_SEARCH_SHARE", 0.0)
    result = corl.solve(instance, problem="bandits", solver="tree-search", time_limit=600, **options)
    assert result.solution.search == "" and result.verified
    policy = LearnedPolicy(instance, options["policy"], load_cached(options["policy"])[1]["digest"], "gumbel", 50)
    looks = itertools.count()
    with pytest.raises(OutOfTime), time_limited(lambda: 20.0 - next(looks)):  # a pick takes 51 network calls
        policy.actions(instance.initial, 0, np.zeros(4, np.uint64))


def test_bad_checkpoints_are_refused(network, tmp_path):
    """In a solution and in an option: one that is not there, of another problem, other weights under the name, or no model."""
    problem, instance, path = registry.problem("bandits"), instance_of("budget"), network("attention")
    good = LearnedPolicy(instance, path, load_cached(path)[1]["digest"]).to_json() | {"kind": "learned"}
    faults = {
        "neither a checkpoint file nor a shipped policy": {"checkpoint": str(tmp_path / "none")},
        "accepted: a shipped policy's name or a file": {"checkpoint": 7},
        "is another network now": {"digest": "0" * 64},
        "accepted: '', 'gumbel', 'puct'": {"search": "beam"},
        "accepted: an integer from 1 to 16384": {"search": "puct"},
        "accepted: true or false": {"imagined": 1},
        "accepted: a number from 0": {"value_scale": -1.0},
        "holds no such policy for bandits": {"imagined": True},
    }
    for said, fault in faults.items():
        with pytest.raises(InputError, match=said):
            problem.from_json(instance, {"policy": good | fault})
    with pytest.raises(UsageError, match="no policy network is shipped for such instances of bandits; train one with"):
        corl.solve(instance, problem="bandits", solver="policy")
    with pytest.raises(UsageError, match="accepted: muzero"):
        corl.solve(instance, problem="bandits", solver="muzero", policy=path)


@pytest.mark.parametrize("solver", list(OPTIONS))
def test_a_policy_itself_is_refused(solver, network):
    """A solution names its policy by checkpoint and digest, and a line says so; on other problems the solvers take objects."""
    given = load_cached(network("muzero" if solver == "muzero" else "attention"))[0]
    with pytest.raises(UsageError) as caught:
        corl.solve(instance_of("budget"), problem="bandits", solver=solver, policy=given)
    assert str(caught.value) == (
        f"option policy is of type {type(given).__name__}; accepted: the name or the file of a checkpoint, not a policy itself: "
        "the judge of bandits loads it again"
    )


def test_options_of_rounds_are_refused(network):
    """In a line that says what is accepted; those of the search are taken."""
    given = {"problem": "bandits", "policy": network("attention")}
    with pytest.raises(
        UsageError, match=r"^option decoder means nothing for bandits, whose solutions are policies; accepted: beam$"
    ):
        corl.solve(instance_of("budget"), solver="policy", decoder="sample", **given)
    with pytest.raises(UsageError, match=r"^option rounds means nothing for bandits"):
        corl.solve(instance_of("budget"), solver="tree-search", rounds=2, **given)


@pytest.mark.chance
def test_imitation_of_the_fluid_policy():
    """After thirty steps the likeliest picks of a network earn four fifths of what those do that it learned from."""
    options = {
        "generator": "budget", "size": 12, "teacher": "fluid", "batch": 4, "states": 16, "width": 16, "layers": 1, "heads": 2,
        "rate": 0.01, "watch": 8, "every": 29,
    }  # fmt: skip
    seen: list[float] = []
    done = train(
        "bandits", "imitation", steps=30, workers=0, device="cpu", **options,
        on_progress=lambda training: seen.append(training.metrics["loss"]),
    )  # fmt: skip
    source = Source(registry.problem("bandits"), "budget", (12,))
    taught = [
        corl.solve(instance, problem="bandits", solver="fluid", iterations=1).objective
        for instance in source.validation_instances(8)
    ]
    assert seen[-1] < 0.6 * seen[0]
    assert done.metrics["greedy"] > 0.8 * np.mean(taught)
