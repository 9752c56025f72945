"""Shared by the tests of all problems: taking an environment through its episodes, small graphs of every kind."""

from __future__ import annotations

import pytest

from support import playing as playing


@pytest.fixture(scope="session")
def random_episodes():
    """A function (environment, instances, seed) -> base and rewards together, and the rows where the episodes ended."""
    return playing.random_episodes


@pytest.fixture(scope="session")
def best_rewards():
    """A function (environment, row) -> the rewards of the best episode from that row on."""
    return playing.best_rewards


@pytest.fixture(scope="session")
def last_listed():
    """A function (environment) -> the solution where the last listed action is always taken."""
    return playing.last_listed


@pytest.fixture(scope="session")
def replayed():
    """A function (environment, decisions) -> what they come to, from the base on."""
    return playing.replayed
