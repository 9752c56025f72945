"""The faults that show whether the gate guards (faults.py): they can still be seeded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support import faults


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("patch", faults.patches([]), ids=lambda patch: patch.stem)
def test_a_fault_can_be_seeded(patch: Path, tmp_path: Path):
    """The patch fits the sources, and the tests that it names are there."""
    changed = [line[6:] for line in patch.read_text().splitlines() if line.startswith("--- a/")]
    for name in changed:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(faults.ROOT / name, tmp_path / name)
    faults.apply(patch, tmp_path)
    assert all((tmp_path / name).read_bytes() != (faults.ROOT / name).read_bytes() for name in changed)
    assert all((faults.ROOT / name).exists() for name in faults.tests_of(patch) if name.startswith("tests/"))


def test_there_are_ten_faults_of_every_kind():
    """Of kernels, judges, readers, the run and the store."""
    names = [patch.stem for patch in faults.patches([])]
    assert len(names) >= 10 and {name.partition("-")[0] for name in names} == {"judge", "kernel", "reader", "run", "store"}
