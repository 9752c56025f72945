"""The tiers themselves: a test that hangs is named, shares leave nothing out, and what depends on chance is in none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from support import long_suite, tiers

TESTS = Path(__file__).resolve().parents[1]
CHILD = """
import sys
sys.path.append(sys.argv[1])
import pytest
sys.exit(pytest.main(["-p", "support.tiers", "-p", "no:cacheprovider", "-q", "test_suite.py"]))
"""
SUITE = """
import time
def test_hangs(): time.sleep(60)
def test_ends(): pass
"""


def test_a_test_that_hangs_is_named(tmp_path):
    """It fails with its name and the limit, and the next one runs."""
    (tmp_path / "test_suite.py").write_text(SUITE)
    environment = os.environ | {"CORL_TEST_SECONDS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-P", "-c", CHILD, str(TESTS)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert "test_suite.py::test_hangs took more than 1 s" in done.stdout and "1 failed, 1 passed" in done.stdout


class Item:
    """What a plug-in asks of a test."""

    def __init__(self, number: int) -> None:
        self.nodeid, self.marks = f"test_{number}", ["chance"] if number % 10 == 0 else ["long"]

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None

    def add_marker(self, name: str) -> None:
        self.marks.append(name)


def chosen(items: list[Item], share: str | None) -> list[str]:
    """The names that are left, of those that are deselected aloud."""
    gone: list[Item] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
    kept = list(items)
    tiers.pytest_collection_modifyitems(SimpleNamespace(getoption=lambda name: share, hook=hook), kept)
    assert sorted(item.nodeid for item in kept + gone) == sorted(item.nodeid for item in items)
    return [item.nodeid for item in kept]


def test_shares_make_up_the_long_suite():
    """Each test of it that chance has no part in is in one share of three, and in the same tomorrow."""
    items = [Item(number) for number in range(100)]
    assert chosen(items, None) == [item.nodeid for item in items]
    assert all("long" in item.marks for item in items)
    shares = [chosen(items, f"{number}/3") for number in (1, 2, 3)]
    assert sorted(name for share in shares for name in share) == sorted(each.nodeid for each in items if each.marks[0] == "long")
    assert min(map(len, shares)) > 20
    assert [tiers.share_of(f"tests/a.py::{name}", 6) for name in "bcd"] == [5, 2, 1]


def test_shares_repeat_long_tests_less_often():
    """A quarter, rounded up; the gate's tests and the whole long suite do all."""
    long, short = (SimpleNamespace(get_closest_marker=lambda name, found=found: found) for found in (pytest.mark.long, None))
    assert [tiers.repetitions(6, item, share) for item in (long, short) for share in ("1/6", None)] == [2, 6, 6, 6]


@pytest.mark.parametrize("share", ["0/6", "7/6", "1", "a/b", "1/0"])
def test_a_share_that_there_is_not(share):
    """The error says what is accepted."""
    with pytest.raises(pytest.UsageError, match=f"--share is '{share}'; accepted: K/N with K from 1 to N"):
        tiers.pytest_configure(SimpleNamespace(getoption=lambda name: share))


def test_an_old_run_of_the_long_suite_is_told():
    """None at all, one at a commit that is not there, and one 31 commits ago; 30 commits are no reason to warn."""
    last: dict[str, object] = {"commit": "abc", "date": "2026-01-02", "seconds": 900}
    assert "no green run yet" in long_suite.warning(None, None)
    assert "no commit before this one" in long_suite.warning(last, None)
    assert "31 commits ago, at abc (2026-01-02, 900 s)" in long_suite.warning(last, "31")
    assert long_suite.warning(last, "30") == ""


def test_families_lie_together():
    """By the folder, by what stands in brackets, by the longest name."""
    from support.tiers import FAMILIES, family_of

    names = [
        "tests/solvers/memory_static/test_a.py::test_b",
        "tests/contracts/test_a.py::test_b[jobshop intervals-8]",
        "tests/a.py",
    ]
    assert [family_of(name) for name in names] == [FAMILIES.index("memory-static"), FAMILIES.index("jobshop"), -1]
    assert family_of("tests/goldens/test_goldens.py::test_searches[milp-branching: policy]") == FAMILIES.index("milp-branching")
