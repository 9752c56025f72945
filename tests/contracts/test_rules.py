"""Rules that problems declare for their features: networks can begin as them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from corl import registry
from corl.errors import UsageError
from corl.networks.attention import AttentionPolicy
from corl.networks.checkpoints import load_policy
from corl.networks.policy import Shape

TIMES = 20.0
RULES = [(name, features) for name in registry.problems() for features in registry.problem(name).rules]


@pytest.mark.parametrize(("name", "features"), RULES)
def test_a_network_begins_as_the_rule(name, features):
    """In every state of the rule's episodes the logits are its sums so many times, the likeliest action is the rule's, and the
    value is what the rule expects; once a layer has learned something they differ."""
    problem = registry.problem(name)
    rule, environments = problem.rules[features], [each for each in problem.environments if each == features] or [""]
    make = next(iter(problem.generators.values()))
    given = [make(size=size, seed=seed) for seed, size in enumerate((9, 15, 24))]
    torch.manual_seed(3)
    shape = Shape(features, environments[0], 16, 2, 2, rule=TIMES)
    network = AttentionPolicy.sized(problem, given[0], shape).eval()
    environment = problem.environment(given, len(given), name=environments[0])
    rows, states = np.arange(len(given)), 0
    environment.reset(rows, rows)
    while rows.size:
        actions = environment.actions(rows)
        rows, actions = rows[actions[:, 0] >= 0], actions[actions[:, 0] >= 0]
        if not rows.size:
            break
        tokens = problem.features[features](environment.observe(rows))
        sums = sum(weight * tokens.x[:, : environment.width, at].astype(float) for at, weight in rule.weights.items())
        sums = np.where(actions >= 0, sums, -np.inf)
        logits, values = network.on(environment).evaluate(rows)
        np.testing.assert_allclose(logits, TIMES * sums, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(values, rule.value * tokens.scale, rtol=1e-6)
        chosen = logits.argmax(axis=1)
        np.testing.assert_allclose(np.take_along_axis(sums, chosen[:, None], 1)[:, 0], sums.max(axis=1), atol=1e-6)
        environment.step(rows, rows, np.take_along_axis(actions, chosen[:, None], 1)[:, 0])
        states += len(rows)
    assert states > 5
    environment.reset(rows := np.arange(len(given)), rows)
    before = network.on(environment).evaluate(rows)[0]
    with torch.no_grad():
        network.score.weight.normal_()
    after = network.on(environment).evaluate(rows)[0]
    assert np.abs(after[before > -np.inf] - before[before > -np.inf]).max() > 0.1


def test_rules_are_there():
    """Three problems declare one."""
    assert {("knapsack", "core"), ("orienteering", "insertion"), ("vrp", "savings")} <= set(RULES)


@pytest.mark.parametrize(
    ("problem", "options", "words"),
    [
        ("tsp", {}, "tsp has none for the features"),
        ("orienteering", {"features": "nodes"}, "accepted: insertion"),
        ("jobshop", {"network": "slim"}, "a network of slim begins as none"),
        ("knapsack", {"start": "knapsack-bq"}, "rule is for a new network"),
    ],
)
def test_a_rule_that_there_is_not(problem, options, words, tmp_path):
    """Where the features have no rule, or the architecture has no use for one, that is told."""
    from corl.learning.training import train

    with pytest.raises(UsageError, match=words):
        train(problem, "policy-gradient", rule=5.0, size=8, steps=1, workers=0, output=tmp_path / "x.safetensors", **options)


def test_what_begins_as_a_rule_learns(tmp_path):
    """After two steps of policy gradient the weights of the features are others, and a layer adds something."""
    from corl.learning.training import train

    options = {"features": "insertion", "environment": "insertion", "generator": "distance", "size": 12, "width": 8, "batch": 4}
    path = tmp_path / "x.safetensors"
    network = train("orienteering", "policy-gradient", rule=5.0, steps=2, workers=0, watch=0, output=path, **options).network
    weights = registry.problem("orienteering").rules["insertion"].weights
    assert abs(float(network.skip.weight[0, 0]) - weights[0]) > 1e-4 and network.score.weight.abs().max() > 1e-4
    again = load_policy(path)
    assert again.config["skip"] == 5.0 and torch.equal(again.skip.weight, network.skip.weight)
