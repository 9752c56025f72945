"""Places of checkpoints: a folder with one, and a hub id, found in the cache of huggingface_hub. Nothing is downloaded."""

from __future__ import annotations

import shutil

import pytest

import corl
from corl.errors import UsageError
from corl.networks.checkpoints import resolve, shipped

REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def checkpoint():
    """A small shipped checkpoint."""
    return shipped()["knapsack-bq"]


@pytest.fixture
def hub(checkpoint, tmp_path, monkeypatch):
    """A cache of huggingface_hub with the repository someone/knapsack at one revision; the hub cannot be reached."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    repository = tmp_path / "models--someone--knapsack"
    for folder in ("refs", f"snapshots/{REVISION}"):
        (repository / folder).mkdir(parents=True)
    (repository / "refs" / "main").write_text(REVISION)
    shutil.copy(checkpoint, repository / "snapshots" / REVISION / "policy.safetensors")
    return repository


def test_a_folder(checkpoint, tmp_path):
    """Its only checkpoint is loaded, snapshots of trainings do not count; none and several are refused by their names."""
    with pytest.raises(UsageError, match="the folder must hold one checkpoint; there are: none"):
        resolve(tmp_path)
    shutil.copy(checkpoint, tmp_path / "a.safetensors")
    shutil.copy(checkpoint, tmp_path / "a.snapshot.safetensors")
    assert corl.load_policy(tmp_path, "knapsack").file == str(tmp_path / "a.safetensors")
    shutil.copy(checkpoint, tmp_path / "b.safetensors")
    with pytest.raises(UsageError, match=r"there are: a\.safetensors, b\.safetensors"):
        corl.load_policy(str(tmp_path))


@pytest.mark.parametrize("name", ["hub:someone/knapsack", "hub:someone/knapsack@main", f"hub:someone/knapsack@{REVISION}"])
def test_a_hub_id(hub, name):
    """The newest version, a branch, or a revision; also as the option of a solver."""
    assert corl.load_policy(name, "knapsack").file == str(hub / "snapshots" / REVISION / "policy.safetensors")
    instance = corl.generate("knapsack", size=20)
    assert corl.solve(instance, solver="policy", policy=name, iterations=1).options["policy"] == name


def test_an_unknown_hub_id(hub):
    """One line that names it."""
    for name in ("hub:someone/else", "hub:", "hub:a/b/c"):
        with pytest.raises(UsageError, match=f"policy {name} is not available: ") as raised:
            corl.load_policy(name)
        assert "\n" not in str(raised.value)
