"""Servers for tests."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.serving import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """A function (*arguments): a running server on one file of jobs; all are ended after the test."""
    started: list[Server] = []

    def start(*arguments: str, **keywords: Any) -> Server:
        started.append(Server(tmp_path / "jobs.db", *arguments, **keywords))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end(signal.SIGKILL)
