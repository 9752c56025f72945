"""Taking an environment through its episodes, and small graphs of every kind."""

from __future__ import annotations

import numpy as np

from corl.routing.edge_weights import COORDINATE_TYPES


def tiny_graph(random: np.random.Generator, n: int, kind: str, least: int = 0):
    """Points [n, 2 or 3] or an asymmetric matrix [n, n], the other None: often in one place, a third of them not whole."""
    if kind == "EXPLICIT":
        matrix = random.integers(least, 30, (n, n)) / random.choice([1.0, 1.0, 4.0])
        np.fill_diagonal(matrix, 0.0)
        return None, matrix
    span, dimensions = random.choice([3, 60]), COORDINATE_TYPES.get(kind, 2)
    whole = kind == "TENTHS_2D" or random.random() < 0.7
    return (random.integers(0, span, (n, dimensions)).astype(float) if whole else random.random((n, dimensions)) * span), None


def random_episodes(environment, m: int, seed: int):
    """Takes each of m instances to the end of a random legal episode, in an environment of them with 2 m rows.

    Steps go in place or to the instance's other row at random. Returns [m] base and rewards together, and [m] the last rows.
    """
    random, here = np.random.default_rng(seed), np.arange(m)
    total = environment.reset(here, here)
    while (live := np.flatnonzero(environment.actions(here)[:, 0] >= 0)).size:
        chosen = [random.choice(row[row >= 0]) for row in environment.actions(here[live])]
        there = np.where(random.random(len(live)) < 0.5, here[live], live + m * (here[live] < m))
        total[live] += environment.step(here[live], there, chosen)
        here[live] = there
    return total, here


def best_rewards(environment, row: int = 0) -> float:
    """The most that any episode gains from a row's state on; writes over the rows behind."""
    actions = environment.actions([row])[0]
    taken = (float(environment.step([row], [row + 1], [action])[0]) for action in actions[actions >= 0])
    return max((reward + best_rewards(environment, row + 1) for reward in taken), default=0.0)


def last_listed(environment):
    """The solution at the end of the episode in row 0 that takes the last listed action in every state."""
    while (actions := environment.actions([0])[0])[0] >= 0:
        environment.step([0], [0], [actions[actions >= 0][-1]])
    return environment.solution(0)


def replayed(environment, decisions) -> float:
    """Base and rewards of the decisions in row 0, which must be legal and end the episode of instance 0."""
    total = environment.reset([0], 0)[0] + sum(environment.step([0], [0], [decision])[0] for decision in decisions)
    assert environment.actions([0])[0, 0] < 0, "the decisions end before the episode does"
    return total
