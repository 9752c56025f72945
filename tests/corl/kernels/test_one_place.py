"""What stands in corl/kernels is not written again elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
KERNEL = re.compile(r"^@kernel\b.*\ndef (\w+)\(", re.MULTILINE)
OTHER_NAMES = {"heapify", "pop", "push", "sift", "sift_down", "sift_up", "union", "first_above", "insertion_sort"}
MEANT = {"_copy"}  # of a row of a pool of states, all of its arrays


def names(folder: Path) -> list[tuple[str, str]]:
    """(file, kernel) of all kernels in a folder."""
    files = sorted(folder.rglob("*.py"))
    return [(str(file.relative_to(ROOT)), name) for file in files for name in KERNEL.findall(file.read_text(encoding="utf-8"))]


def test_no_kernel_has_the_name_of_a_shared_one():
    """Import it from corl.kernels; if it is something else, give it a name of its own."""
    shared = {name for _, name in names(ROOT / "corl" / "kernels")}
    assert len(shared) > 10
    taken = {name for each in shared | OTHER_NAMES for name in (each, f"_{each}")} - MEANT
    elsewhere = [each for folder in ("corl", "problems", "solvers") for each in names(ROOT / folder)]
    again = [each for each in elsewhere if each[1] in taken and not each[0].startswith("corl/kernels/")]
    assert not again
