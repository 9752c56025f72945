"""Checkpoints: the same bits again, one clear line for every other file, and no pickle anywhere."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import corl
from corl.errors import InputError, UsageError
from corl.networks import checkpoints
from corl.networks.attention import AttentionPolicy


@pytest.fixture
def network():
    torch.manual_seed(3)
    return AttentionPolicy("tsp", "plane", inputs=5, pairs=2, width=8, layers=1, heads=2, feedforward=8)


@pytest.fixture
def path(network, tmp_path):
    checkpoints.save(tmp_path / "net.safetensors", network, {"steps": 7, "metrics": {"loss": float("nan")}})
    return tmp_path / "net.safetensors"


def rewrite(path, change):
    """Write the file again with its header changed by `change(header)`, and with weights that it may change too."""
    header, weights = checkpoints.read_header(path), load_file(path)
    change(header, weights)
    save_file(weights, path, {"corl": json.dumps(header)})


def sealed(path, change):
    """As `rewrite`, with the right digest, as somebody's own program might write it."""

    def both(header, weights):
        change(header, weights)
        header["digest"] = checkpoints._digest(header, weights)

    rewrite(path, both)


def test_the_same_bits_come_back(network, path):
    """Weights, config and facts survive; the network comes in evaluation mode and answers to the bit alike."""
    again, header = checkpoints.load(path)
    assert type(again) is AttentionPolicy and again.config == network.config and not again.training
    assert header["training"] == {"steps": 7, "metrics": {"loss": None}} and header["package"] == corl.__version__
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    random = np.random.default_rng(0)
    x, pairs = (torch.tensor(random.random(shape), dtype=torch.float32) for shape in ((2, 6, 5), (2, 6, 6, 2)))
    with torch.inference_mode():
        states = (x, torch.ones(2, 6, dtype=bool), pairs)
        for a, b in zip(network.eval()(states), again(states)):
            assert torch.equal(a, b)


def test_load_policy_takes_paths_and_names(path, monkeypatch):
    """A path or a shipped name gives the network; an unknown name is answered by those there are."""
    assert corl.load_policy(path).config["width"] == 8
    monkeypatch.setattr(checkpoints, "shipped", lambda: {"tiny": path})
    assert corl.load_policy("tiny").config["width"] == 8
    with pytest.raises(UsageError, match=r"'nothing'.* there are: tiny"):
        corl.load_policy("nothing")


def test_shipped_weights_load():
    """Every network that comes with the package loads, and says how it was trained."""
    for name, file in checkpoints.shipped().items():
        network, header = checkpoints.load(file)
        assert header["training"], name
        assert os.path.getsize(file) < 8e6, name
        assert all(torch.isfinite(tensor).all() for tensor in network.state_dict().values()), name


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_cut_file_is_one_line(path, share):
    """A file that was cut short anywhere is an InputError of one line that names it."""
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError, match="damaged") as caught:
        checkpoints.load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_every_flipped_byte_is_noticed(path):
    """One changed byte, in the header or in the weights, never gives a network."""
    data = path.read_bytes()
    for place in np.random.default_rng(1).integers(8, len(data), 60):
        changed = bytearray(data)
        changed[place] ^= 4
        path.write_bytes(changed)
        with pytest.raises(InputError) as caught:
            checkpoints.load(path)
        assert "\n" not in str(caught.value)


def test_foreign_and_odd_files(path, tmp_path):
    """Another program's safetensors, a text file, a pickle, a folder: each is refused with what is accepted."""
    foreign = tmp_path / "foreign.safetensors"
    save_file({"a": torch.zeros(2)}, foreign)
    with pytest.raises(InputError, match="of another program; accepted: a checkpoint written by corl train"):
        checkpoints.load(foreign)
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(InputError, match="no safetensors file"):
        checkpoints.load(tmp_path / "a.txt")
    with pytest.raises(InputError, match="not a regular file"):
        checkpoints.load(tmp_path)


class Trap:
    """A pickle that leaves a mark where it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


def test_pickles_are_not_loaded(tmp_path, monkeypatch):
    """A file of torch.save is refused without running what is inside."""
    monkeypatch.chdir(tmp_path)
    torch.save({"weights": Trap()}, tmp_path / "trap.safetensors")
    with pytest.raises(InputError, match="no safetensors file"):
        checkpoints.load(tmp_path / "trap.safetensors")
    assert not (tmp_path / "sprung").exists()


def test_no_source_unpickles_files():
    """Checkpoints and snapshots use neither torch.load nor torch.save nor pickle; pickles pass between our processes alone."""
    root = Path(corl.__file__).parent
    sources = [root / "networks", root / "learning" / "snapshots.py", root / "learning" / "training.py"]
    files = [file for source in sources for file in (source.rglob("*.py") if source.is_dir() else [source])]
    assert len(files) > 5
    forbidden = re.compile(r"torch\.(load|save)\(|import pickle|pickle\.load|allow_pickle")
    for file in files:
        assert not forbidden.search(file.read_text(encoding="utf-8")), file


def test_newer_formats_are_told(path):
    """A file of a newer format says so, whatever else is in it."""
    rewrite(path, lambda header, weights: header.update(format=99, config=None))
    with pytest.raises(InputError, match=r"written by a newer corl \(format 99; this one reads up to 1\); update corl"):
        checkpoints.load(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda header, weights: header["config"].update(width=16), "does not fit the architecture 'attention'.*size mismatch"),
        (lambda header, weights: header["config"].update(colour=1), "does not fit.*unexpected keyword argument 'colour'"),
        (lambda header, weights: header["config"].update(width=9), "width is 9"),
        (lambda header, weights: header.update(architecture="unheard"), "no network architecture is called 'unheard'.*attention"),
        (lambda header, weights: weights.pop("embed.weight"), "does not fit.*Missing key.*embed.weight"),
        (lambda header, weights: weights.update({"embed.bias": torch.zeros(3)}), "does not fit.*size mismatch"),
    ],
)
def test_what_does_not_fit_is_one_line(path, change, words):
    """Shapes, names, options and architectures that do not fit are one line, even where the digest is right."""
    sealed(path, change)
    with pytest.raises(InputError, match=words) as caught:
        checkpoints.load(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize("key", ["architecture", "config", "training", "package", "digest", "format"])
def test_a_header_lacking_a_part_is_damaged(path, key):
    """Each entry of the header is needed."""
    rewrite(path, lambda header, weights: header.pop(key))
    with pytest.raises(InputError, match=f"no {key} of type"):
        checkpoints.load(path)


def test_a_file_that_was_trained_anew_is_read_anew(tmp_path):
    """While it stays the same so does the network; a network of another class is refused by name."""
    from corl.solvers.memory.priority.network import PriorityNetwork
    from corl.solvers.milp.branching.network import BranchingNetwork

    file = tmp_path / "p.safetensors"
    checkpoints.save(file, PriorityNetwork(3))
    first = checkpoints.loaded_as(PriorityNetwork, file)
    assert checkpoints.loaded_as(PriorityNetwork, file) is first
    checkpoints.save(file, PriorityNetwork(5))
    assert checkpoints.loaded_as(PriorityNetwork, file).config != first.config
    with pytest.raises(UsageError, match=r"p.safetensors is a network of architecture memory-priority; accepted: milp-branching"):
        checkpoints.loaded_as(BranchingNetwork, file)


def test_the_old_name_of_a_renamed_policy_warns():
    """It resolves to the file of the new name for one more version; a file of that name comes first."""
    with pytest.warns(DeprecationWarning, match="milp-revibranch-auctions is now called milp-tree-credit-auctions"):
        found = checkpoints.resolve("milp-revibranch-auctions")
    assert found == checkpoints.shipped()["milp-tree-credit-auctions"]
