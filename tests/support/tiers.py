"""A plug-in of pytest: the gate and the long suite, a share of the latter, a time after which a test is given up by name.

    pytest                       # the gate: nothing in it depends on a clock, on statistics or on the luck of an engine
    pytest -m long               # the long suite: everything else
    pytest -m long --share 2/6   # of what does not depend on them, the tests of the second sixth

A test marked `chance` (real seconds, engines of others, statistical thresholds) is one of the long suite, and of no share. Of
what tests repeat by the thousand, a share does a quarter (`count`).
"""

from __future__ import annotations

import faulthandler
import hashlib
import os
import re
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

GATE_SECONDS, LONG_SECONDS = 600, 3600
"""Of a test, on the clock: what no test takes, even where a machine is busy or kernels are compiled in it."""
FROZEN = 1200
"""Seconds after that until a process is ended that does not hear."""

_PART = 4
"""A share does one of so many repetitions."""

_QUIET: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("gate", derandomize=True, **_QUIET)
settings.register_profile("long", **_QUIET, print_blob=True)
_standard_error = pytest.StashKey[int]()


def share_of(name: str, count: int) -> int:
    """Which of `count` shares, from 1 on, a test belongs to: by its id, whatever other tests there are."""
    return 1 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % count


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="K/N", help="of the tests chosen the Kth of N shares, without those marked chance")


def pytest_configure(config: pytest.Config) -> None:
    share = config.getoption("--share")
    if share and not (re.fullmatch(r"[1-9]\d*/[1-9]\d*", share) and int(share.split("/")[0]) <= int(share.split("/")[1])):
        raise pytest.UsageError(f"--share is {share!r}; accepted: K/N with K from 1 to N, such as 2/6")
    settings.load_profile("long" if config.getoption("markexpr") == "long" and not share else "gate")
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        config.stash[_standard_error] = os.dup(2)


_HERE = Path(__file__).parent / "families"
FAMILIES = tuple(sorted(path.stem.replace("_", "-") for path in _HERE.glob("[a-z]*.py")))
"""In the order in which their tests run: those that share kernels are neighbours."""
_FAMILY = re.compile(rf"(?<![a-z])({'|'.join(sorted(FAMILIES, key=len, reverse=True))})(?![a-z])")


def family_of(name: str) -> int:
    """The place in FAMILIES of the family that stands first in a test's id; -1 if none does.

    Each worker is first given tests that lie together. Where these are sorted by families, it loads the kernels of few.
    """
    found = _FAMILY.search(name.replace("_", "-"))
    return FAMILIES.index(found[1]) if found else -1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before pytest looks at marks."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: family_of(item.nodeid))
    for item in items:
        if item.get_closest_marker("chance"):
            item.add_marker("long")
    if share := config.getoption("--share"):
        number, count = map(int, share.split("/"))
        kept = [item for item in items if not item.get_closest_marker("chance") and share_of(item.nodeid, count) == number]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


@pytest.fixture
def count(request: pytest.FixtureRequest) -> int:
    """How often a test repeats itself: as its parameter (`indirect=["count"]`) says; of a long one, a share does a quarter."""
    return repetitions(request.param, request.node, request.config.getoption("--share"))


def repetitions(count: int, item: Any, share: str | None) -> int:
    """How many of `count` a test (`item`) does where that share, or None, is run."""
    return -(-count // _PART) if share and item.get_closest_marker("long") else count


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """A test that takes too long fails; where Python does not run any more, the process ends with a trace of its threads."""
    seconds = int(os.environ.get("CORL_TEST_SECONDS", 0)) or (LONG_SECONDS if item.get_closest_marker("long") else GATE_SECONDS)

    def over(number: int, frame: Any) -> None:
        pytest.fail(f"{item.nodeid} took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    faulthandler.dump_traceback_later(seconds + FROZEN, exit=True, file=item.config.stash[_standard_error])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
