"""SharedAttention: one trunk, an adapter a task; each task's policy is an AttentionPolicy like any other."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import corl
from corl import registry
from corl.decoding import Beam, CountedEvaluator, decode
from corl.errors import UsageError
from corl.networks import checkpoints
from corl.networks.attention import AttentionPolicy
from corl.networks.policy import Shape
from corl.networks.shared import SharedAttention

TASKS = [
    ("tsp", "uniform", "plane", ""),
    ("tsp", "asymmetric", "matrix", ""),
    ("orienteering", "distance", "insertion", "insertion"),
]


def lone():
    """A network of random weights for each task, and an instance."""
    torch.manual_seed(5)
    found = []
    for name, kind, features, environment in TASKS:
        instance = corl.generate(name, kind, size=9, seed=1)
        network = AttentionPolicy.sized(registry.problem(name), instance, Shape(features, environment, 8, 2, 2))
        for layer in network.layers:
            torch.nn.init.normal_(layer.rezero)  # otherwise the layers do nothing yet
        found.append((network.eval(), instance))
    return found


@pytest.fixture
def path(tmp_path):
    checkpoints.save(tmp_path / "shared.safetensors", SharedAttention.joined([network for network, _ in lone()]))
    return tmp_path / "shared.safetensors"


def seen(policy, instance):
    """Logits and values of the state that an instance begins with."""
    environment = registry.problem(policy.problem).environment([instance], 1, name=policy.environment)
    return policy.on(environment).evaluate(np.array([0]))


def test_each_task_answers_as_a_network_of_its_own(path):
    """To the bit: a lone network with the task's adapters and the shared layers; and the file holds these once."""
    shared, parts = corl.load_policy(path), lone()
    trunk = parts[0][0].layers
    for network, instance in parts:
        policy = shared.of(network.problem, instance)
        assert policy.config == network.config and not policy.training
        other = seen(policy, instance)[0]
        network.layers.load_state_dict(trunk.state_dict())
        for mine, expected in zip(seen(policy, instance), seen(network, instance)):
            np.testing.assert_array_equal(mine, expected)
        policy.layers[0].rezero.data.zero_()  # that of all tasks
        assert not np.array_equal(seen(policy, instance)[0], other)
        shared = corl.load_policy(path)
    names = load_file(path)
    assert sum(name.startswith("layers.") for name in names) == len(trunk.state_dict())
    assert not any(".layers." in name for name in names)


def test_copies_and_devices_keep_sharing(path):
    """A copy's policies share its own layers; modes reach all; numbers of another type as well."""
    shared = corl.load_policy(path)
    twin = copy.deepcopy(shared).double().train()
    assert all(policy.layers is twin.layers and policy.training for policy in twin.policies) and twin.layers is not shared.layers
    assert all(weights.dtype == torch.float64 for policy in twin.policies for weights in policy.parameters())
    assert len(list(twin.parameters())) == len(twin.state_dict()) == len(load_file(path))
    with pytest.raises(UsageError, match="asked through"):
        shared(None)


def test_the_policy_of_a_problem_or_an_instance(path):
    """A name tells the problem, an instance the kind; what the network does not play is answered by what it does."""
    (_, plane), (_, matrix), (_, visits) = lone()
    assert corl.load_policy(path, instance=plane).features == "plane"
    assert corl.load_policy(path, "tsp", matrix).features == "matrix"
    assert corl.load_policy(path, "orienteering").environment == "insertion"
    assert corl.load_policy(path, instance=visits).file == str(path)
    assert corl.load_policy("tsp-bq", "tsp").problem == "tsp"
    with pytest.raises(UsageError, match="plays tsp with the features plane, matrix; accepted: an instance"):
        corl.load_policy(path, "tsp")
    with pytest.raises(UsageError, match=r"shared.safetensors plays orienteering, tsp, not vrp"):
        corl.load_policy(path, "vrp")
    with pytest.raises(UsageError, match=r"tsp-bq.safetensors is for tsp, not for vrp"):
        corl.load_policy("tsp-bq", "vrp")
    with pytest.raises(UsageError, match="plays orienteering, tsp, not vrp"):
        corl.solve(corl.generate("vrp", "uniform", size=5), solver="policy", policy=str(path), iterations=50)


@pytest.mark.parametrize("solver", ["policy", "tree-search"])
def test_solvers_take_it(solver, path):
    """The file, for each problem; to the bit what the task's own policy finds."""
    shared = corl.load_policy(path)
    for _, instance in lone():
        problem = registry.problem_of(instance).name
        runs = [
            corl.solve(instance, problem=problem, solver=solver, policy=policy, iterations=120)
            for policy in (str(path), shared.of(problem, instance))
        ]
        assert runs[0].objective is not None and len({run.objective for run in runs}) == 1


def test_decoders_take_a_task(path):
    """A beam over it is that over any policy."""
    instance = lone()[0][1]
    policy = corl.load_policy(path, instance=instance)
    environment = registry.problem("tsp").environment([instance], 8)
    assert len(decode(Beam(4), CountedEvaluator(environment, policy), [0]).solutions) >= 1


def test_tasks_that_do_not_go_together():
    """None, other sizes, and the same twice are refused."""
    config = lone()[0][0].config
    wider = config | {"width": 16}
    for tasks, words in (([], "at least one"), ([config, config], "two are"), ([config, wider], "width is 8 and 16")):
        with pytest.raises(UsageError, match=words):
            SharedAttention(tasks)
