"""The reference family of decisions over time (support/counter.py), declared for each test of this folder."""

from __future__ import annotations

import pytest

from support import counter


@pytest.fixture(autouse=True)
def _counter(monkeypatch):
    counter.installed(monkeypatch)


@pytest.fixture
def day() -> counter.Counter:
    """A day of six customers."""
    return counter.streamed(3)
