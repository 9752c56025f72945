"""Crafted checkpoints: sealed with the right digest, and asking for what their weights are not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Literal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import corl
from corl import registry
from corl.errors import InputError, UsageError
from corl.networks import checkpoints
from corl.networks.architectures import network_class
from corl.networks.configurations import _fits
from corl.networks.tokens import token_sizes
from corl.version import DISTRIBUTION

PLANE = {"problem": "tsp", "features": "plane", "inputs": 3, "width": 8, "layers": 1, "heads": 2, "feedforward": 8}
SMALL: dict[str, dict[str, Any]] = {
    "attention": PLANE, "muzero": PLANE | {"bins": 8}, "jobshop-cp": {"width": 4, "hidden": 4}, "jobshop-queue": {"width": 4},
    "jobshop-floor": {"width": 4},
    "memory-priority": {"width": 4},
    "gated-graph": {"problem": "tsp", "features": "candidate-edges", "nodes": 3, "edges": 2, "width": 8, "layers": 2},
    "slim": {"problem": "jobshop"}, "milp-branching": {}, "milp-gcnn": {"width": 4},
    "milp-revibranch": {"width": 4, "ancestors": 2},
}  # fmt: skip


@pytest.fixture(params=sorted(SMALL))
def path(request, tmp_path):
    """A checkpoint of each architecture."""
    made = network_class(request.param)(**SMALL[request.param])
    checkpoints.save(tmp_path / "net.safetensors", made)
    return tmp_path / "net.safetensors"


@pytest.fixture
def attention(tmp_path):
    checkpoints.save(tmp_path / "net.safetensors", network_class("attention")(**PLANE))
    return tmp_path / "net.safetensors"


def crafted(path, config=(), weights=()):
    """Write the file again with other entries, and its digest right."""
    header, tensors = checkpoints.read_header(path), load_file(path)
    header["config"] |= dict(config)
    tensors |= dict(weights)
    header["digest"] = checkpoints._digest(header, tensors)
    save_file(tensors, path, {"corl": json.dumps(header)})


def refusal(path, *words):
    """The line with which the file is refused."""
    with pytest.raises(InputError) as caught:
        checkpoints.load(path)
    line = str(caught.value)
    assert line.startswith(str(path)) and "\n" not in line
    assert all(word in line for word in words), line
    return line


def test_every_architecture_is_tried():
    """A new one brings a small configuration."""
    assert {entry.name for entry in entry_points(group="corl.networks") if entry.dist.name == DISTRIBUTION} == set(SMALL)


def test_each_entry_of_a_wrong_type(path):
    """Of every architecture every entry: null, a text for a number, a number for a text, lists and objects."""
    original, config = path.read_bytes(), checkpoints.read_header(path)["config"]
    for name, value in config.items():
        for wrong in (None, 7, "7", 0.5, True, {}, [], [1], ["x", "y"], [None] * 2, [{}] * 2, {"a": 1}):
            same = type(wrong) is type(value) and not isinstance(wrong, list)
            if same or (wrong == [] and isinstance(value, list) and name in ("lower", "upper")):
                continue
            if wrong == [1] and name in ("lower", "upper"):  # a range of another length matches no program
                continue
            crafted(path, {name: wrong})
            refusal(path, name)
            path.write_bytes(original)
    checkpoints.load(path)


def test_each_number_too_large(path):
    """Every integer, alone and in lists: what no tensor shows is bounded all the same."""
    original, config = path.read_bytes(), checkpoints.read_header(path)["config"]
    for name, value in config.items():
        for many in (2**10, 10**5, 10**9, -(10**9), 10**25, 1e308):
            if type(value) is int:
                crafted(path, {name: many})
            elif name == "hidden":
                crafted(path, {name: [many, *value[1:]]})
            else:
                continue
            refusal(path)
            path.write_bytes(original)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e300, 1j])
def test_weights_that_are_no_numbers(path, bad):
    """NaN, infinities, what overflows where it is used, complex numbers: the tensor is named."""
    name, tensor = next((name, tensor) for name, tensor in load_file(path).items() if tensor.is_floating_point())
    tensor = tensor.to(torch.complex64 if isinstance(bad, complex) else torch.float64)
    tensor.view(-1)[-1] = bad
    crafted(path, weights={name: tensor})
    refusal(path, name, "not finite real numbers")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"layers": 1000}, "many more tensors than the file"),
        ({"layers": 2}, "Missing key(s)"),
        ({"extra": 10**9}, "extra is 1000000000; accepted: int up to 1000"),
        ({"inputs": 900}, "size mismatch for embed.weight"),
        ({"problem": "chess"}, "chess"),
        ({"features": "sphere"}, "tsp has no features 'sphere'; there are: plane"),
        ({"features": ["plane"]}, "features is ['plane']; accepted: str"),
        ({"environment": "sea"}, "sea"),
        ({"value": 1}, "value is 1; accepted: bool"),
        ({"colour": 1}, "unexpected keyword argument 'colour'"),
    ],
)
def test_what_is_said(attention, config, words):
    """A line says which entry, and what is accepted."""
    crafted(attention, config)
    refusal(attention, words)


@pytest.mark.parametrize("change", [{"extra": 500}, {"extra": 1}, {"inputs": 4}, {"pairs": 3}, {"pairs": 0}])
@pytest.mark.parametrize("solver", ["policy", "tree-search", "muzero"])
def test_sizes_that_the_problem_does_not_show(tmp_path, solver, change):
    """What fits its weights and no environment is refused where it meets one, by name. Pairs may be left out."""
    cities, path = np.random.default_rng(0).random((6, 2)), tmp_path / "net.safetensors"
    architecture, problem = "muzero" if solver == "muzero" else "attention", registry.problem("tsp")
    sizes = token_sizes(problem, "plane", "", problem.adapt(cities))
    checkpoints.save(path, network_class(architecture)(**(SMALL[architecture] | sizes | change)))

    def solved():
        return corl.solve(cities, problem="tsp", solver=solver, policy=str(path), iterations=20)

    if change == {"pairs": 0}:
        assert solved().objective
        return
    with pytest.raises(UsageError) as caught:
        solved()
    (name, value), line = *change.items(), str(caught.value)
    assert line.startswith(f"{path}: the network has {name} {value}; accepted: {sizes[name]}") and "\n" not in line


def test_large_tensors_do_not_pay_for_larger_ones(attention):
    """A vector of a million numbers allows a width of a million, whose matrices are never made."""
    crafted(attention, {"width": 10**6, "feedforward": 10**6}, {"embed.bias": torch.zeros(10**6)})
    refusal(attention, "size mismatch for")


def test_spans_that_overflow(tmp_path):
    """What a constructor computes is finite as well: the bins of MuZero's heads."""
    path = tmp_path / "net.safetensors"
    checkpoints.save(path, network_class("muzero")(**SMALL["muzero"]))
    crafted(path, {"values": [-1e308, 1e308]})
    refusal(path)


@pytest.mark.parametrize(
    ("hint", "taken", "refused"),
    [
        (int, (0, -10), (11, -11, True, 1.0, "1", None, [1])),
        (float, (0, 0.5, 11), (True, "1", float("inf"), 10**400)),
        (bool, (True,), (1, "true")),
        (str, ("",), (1, None, ["a"])),
        (int | None, (None, 1), ("1", 1.5)),
        (Literal["a", 1], ("a", 1), ("b", True, None)),
        (tuple[int, int], ([1, 2],), ([1], [1, 2, 3], [1, "2"], {"0": 1}, "ab")),
        (tuple[float, ...], ([], [1, 2.5]), (["a"], 1)),
        (Sequence[float], ([], [1, 2.5]), (["a"], "a", {})),
        (list, ([], ["a", 1]), ("a", {})),
        (Mapping[str, int], ({}, {"a": 1}), ({"a": "b"}, [])),
        (dict, ({}, {"a": "b"}), ([], "a")),
        (Any, (1, "a" * 20, None, [], {}, 11.0, [[1]]), (11, [0] * 11, [[{"a": -11}]], {"a": 1e999})),
        (torch.device, ("cpu", 1), (11,)),
    ],
)
def test_types(hint, taken, refused):
    """JSON values of the types that constructors are annotated with."""
    assert all(_fits(hint, value, 10) for value in taken)
    assert not any(_fits(hint, value, 10) for value in refused)
