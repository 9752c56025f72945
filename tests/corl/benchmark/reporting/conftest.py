"""Fixtures of the tests of reports."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from corl.store import Store

if (FOLDER := str(Path(__file__).parent)) not in sys.path:
    sys.path.append(FOLDER)  # contests.py


@pytest.fixture
def store(tmp_path):
    """A function (records, ...) -> a Store that holds them."""
    with contextlib.ExitStack() as stack:

        def make(records, definition=None):
            made = stack.enter_context(Store(tmp_path / "runs.db", create=True))
            for record in records:
                made.add(record)
            if definition:
                made.add_suite("s", definition, "corl bench s.toml")
            return made

        yield make
