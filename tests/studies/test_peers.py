"""The peers of tests/studies/peers: their files are read, and those that are installed solve a small instance."""

from __future__ import annotations

from pathlib import Path

import pytest

import corl
from corl import registry
from corl.benchmark.peers.definition import read_peers

PEERS = read_peers(Path(__file__).with_name("peers"))
SMALL = {
    "ails2": ("vrp", "x", 30), "ea4op": ("orienteering", None, 20), "filo2": ("vrp", "x", 30), "hgs": ("vrp", "x", 30),
    "ga-eax": ("tsp", "uniform", 100), "job-shop-lib": ("jobshop", None, 5), "linkern": ("tsp", "uniform", 30),
    "lkh": ("tsp", "uniform", 30), "minimalloc": ("memory-static", None, 10), "pyjobshop": ("jobshop", None, 5),
    "vroom": ("vrp", "x", 30), "vrp-cli": ("vrp", "x", 30),
}  # fmt: skip
"""Peer -> problem, generator (None: the problem's first) and size; HGS-VRPTW takes explicit matrices only."""


def test_every_peer_says_where_it_came_from():
    """Source and version, and all but one have a small instance here."""
    assert all(peer.solver.source and peer.solver.version for peer in PEERS.values())
    assert PEERS.keys() - SMALL.keys() == {"hgs-vrptw"}


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_an_installed_peer_solves_a_small_instance(name):
    """Its solution is feasible; without its program the test is skipped."""
    if reason := PEERS[name].unavailable:
        pytest.skip(reason)
    problem, kind, size = SMALL[name]
    generators = registry.problem(problem).generators
    instance = generators[kind or next(iter(generators))](size=size, seed=1)
    result = corl.solve(instance, solver=PEERS[name].solver, time_limit=20)
    assert result.verified and result.solver == name
