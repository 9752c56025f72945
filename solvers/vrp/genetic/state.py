"""Data structures of the genetic search: the instance as arrays, the routes that local search changes, and the population.

In the shapes, n is the number of clients, R the number of slots, and P the number of places of the population. A slot is a place
for one route. Nodes 0..n-1 are clients, and node n + r is the depot of slot r; a route is a ring through the depot node of its
slot, so that the first and the last client need no special case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AGE",
    "BEST",
    "CLOSE",
    "FEASIBLE",
    "FREE",
    "IDLE",
    "IMPROVED",
    "INFEASIBLE",
    "LENGTH",
    "LOAD",
    "MADE",
    "RECENT",
    "TURN",
    "GeneticData",
    "Offspring",
    "Population",
    "Routes",
    "new_offspring",
    "new_population",
    "new_routes",
]  # fmt: skip

LOAD, LENGTH = 0, 1  # indices of penalties and of excesses
FREE, FEASIBLE, INFEASIBLE = 0, 1, 2  # values of Population.kind
BEST = 3  # insertion positions that SWAP* keeps for a client and a route
IMPROVED, MADE, AGE, IDLE = 0, 1, 2, 3  # indices of Population.counts
RECENT = 100  # iterations whose offspring decide on the penalties
TURN = 65536  # a full turn, in the unit of angles
CLOSE = 5  # individuals to which the mean broken-pairs distance is a measure of diversity


class GeneticData(NamedTuple):
    """The constant data of an instance. Costs are in the instance's units (times its `scale`)."""

    clients: int
    """n."""
    slots: int
    """R, the most routes of a solution."""
    least_routes: int
    """The least number of routes that the sum of demands needs, but at most R."""
    capacity: float
    total_demand: float
    limited: bool
    """Whether there is a maximum length of routes."""
    max_length: float
    """The maximum length of a route, as a cost."""
    distance: NDArray[np.float64]
    """float64 [n + 1, n + 1]: the cost of a leg; row and column n are the depot and contain half the cost of a vehicle."""
    near: NDArray[np.int32]
    """int32 [M]: the neighbours of all clients, client by client: its nearest ones, and those to which it is near."""
    near_start: NDArray[np.int64]
    """int64 [n + 1]: the index in `near` at which the neighbours of each client begin."""
    demand: NDArray[np.float64]
    """float64 [n + 1], 0 for the depot."""
    service: NDArray[np.float64]
    """float64 [n + 1]: what a client adds to the length of its route, besides legs, as a cost."""
    angle: NDArray[np.int64]
    """int64 [n]: the polar angle of each client around the depot, from 0 to TURN - 1; all 0 without coordinates."""
    offset: NDArray[np.float64]
    """float64 [n, 2]: the coordinates of each client, those of the depot subtracted."""
    first_penalty: NDArray[np.float64]
    """float64 [2]: the first penalties of a unit of excess LOAD and LENGTH."""
    tolerance: float
    """The least gain of a move that counts; smaller ones are rounding."""


class Routes(NamedTuple):
    """The routes that local search changes, in place."""

    next: NDArray[np.int32]
    """int32 [n + R]."""
    prev: NDArray[np.int32]
    """int32 [n + R]."""
    route: NDArray[np.int32]
    """int32 [n + R]: the slot of the node's route."""
    place: NDArray[np.int32]
    """int32 [n + R]: the position in the route, 0 for the depot."""
    leg: NDArray[np.float64]
    """float64 [n + R]: the cost of the leg from a node to the next."""
    load_to: NDArray[np.float64]
    """float64 [n + R]: the load of the clients from the depot to the node, including it."""
    length_to: NDArray[np.float64]
    """float64 [n + R]: the length from the depot to the node, including its service."""
    load: NDArray[np.float64]
    """float64 [R]."""
    length: NDArray[np.float64]
    """float64 [R]: the legs and services of the route."""
    excess: NDArray[np.float64]
    """float64 [R]: the penalties of the route's load and length."""
    size: NDArray[np.int32]
    """int32 [R]: the number of clients."""
    changed: NDArray[np.int64]
    """int64 [R]: the number of moves made when the route changed last."""
    tested: NDArray[np.int64]
    """int64 [n]: the number of moves made when the moves of a client were tested last."""
    swaps_tested: NDArray[np.int64]
    """int64 [R]: the number of moves made when SWAP* was tested last for the slot."""
    sector: NDArray[np.int64]
    """int64 [R, 2]: the first and the last polar angle of the route's clients."""
    order: NDArray[np.int32]
    """int32 [n]: the clients in the order in which local search takes them."""
    insert_time: NDArray[np.int64]
    """int64 [R, n]: the number of moves made when the cheapest insertions of a client into a route were computed."""
    insert_cost: NDArray[np.float64]
    """float64 [R, n, BEST]: the least costs of inserting a client into a route, ascending."""
    insert_after: NDArray[np.int32]
    """int32 [R, n, BEST]: the nodes after which the client is inserted at these costs; -1 for none."""
    removal: NDArray[np.float64]
    """float64 [n]: the change in cost if the client is removed."""
    penalty: NDArray[np.float64]
    """float64 [2]: the cost of a unit of excess LOAD and LENGTH."""
    moves: NDArray[np.int64]
    """int64 [1]: the number of moves made."""
    free: NDArray[np.int64]
    """int64 [1]: an empty slot, -1 if there is none."""


class Population(NamedTuple):
    """Individuals of both sub-populations, and the best feasible solution."""

    kind: NDArray[np.int64]
    """int64 [P]: FREE, FEASIBLE or INFEASIBLE."""
    tour: NDArray[np.int32]
    """int32 [P, n]: the giant tour, that is, the clients of all routes, one route after the other."""
    next: NDArray[np.int32]
    """int32 [P, n]: the next client of the same route, -1 for none."""
    prev: NDArray[np.int32]
    """int32 [P, n]: the previous client of the same route, -1 for none."""
    used: NDArray[np.int64]
    """int64 [P]: the number of routes."""
    length: NDArray[np.float64]
    """float64 [P]: the cost without penalties."""
    excess: NDArray[np.float64]
    """float64 [P, 2]: the sum over the routes of excess LOAD and LENGTH."""
    cost: NDArray[np.float64]
    """float64 [P]: the cost with the current penalties."""
    apart: NDArray[np.float64]
    """float64 [P, P]: the broken-pairs distances between individuals of the same kind."""
    fitness: NDArray[np.float64]
    """float64 [P]: the biased fitness; smaller is better."""
    diversity: NDArray[np.float64]
    """float64 [P]: the mean distance to the CLOSE nearest individuals of the same kind."""
    nearest: NDArray[np.float64]
    """float64 [P]: the distance to the nearest one."""
    is_best: NDArray[np.bool_]
    """bool [P]: whether the individual has the least cost of its kind."""
    rank: NDArray[np.int64]
    """int64 [P]: scratch, the individuals in some order."""
    key: NDArray[np.float64]
    """float64 [P]: scratch, sort keys."""
    recent: NDArray[np.bool_]
    """bool [2, RECENT]: whether the last offspring satisfied the limits of LOAD and LENGTH."""
    best: NDArray[np.int32]
    """int32 [n]: `prev` of the best feasible solution."""
    best_cost: NDArray[np.float64]
    """float64 [2]: its cost, inf if there is none; and the least cost of a feasible individual since the last restart."""
    counts: NDArray[np.int64]
    """int64 [4]: how often the best solution was IMPROVED, individuals MADE by iterations, those since the last restart (AGE),
    and those since the last improvement after it (IDLE).
    """


class Offspring(NamedTuple):
    """Arrays that the making of one offspring overwrites."""

    random: NDArray[np.uint64]
    """uint64 [1]: the state of the random number generator (corl.rng)."""
    tour: NDArray[np.int32]
    """int32 [n]: the giant tour."""
    taken: NDArray[np.bool_]
    """bool [n]."""
    potential: NDArray[np.float64]
    """float64 [n + 1]: of the split, the least cost of the first clients of the tour."""
    split: NDArray[np.int32]
    """int32 [n + 1]: the start of the last route that has this cost."""
    route_cost: NDArray[np.float64]
    """float64 [1]: the cost of a route that last limited the number of routes."""
    angle: NDArray[np.float64]
    """float64 [R]: the polar angles of the routes' centres, ascending."""
    sorted: NDArray[np.int64]
    """int64 [R]: the slots in this order."""


def new_routes(n: int, slots: int) -> Routes:
    """Return routes without clients."""
    nodes = n + slots
    return Routes(
        next=np.arange(nodes, dtype=np.int32),
        prev=np.arange(nodes, dtype=np.int32),
        route=np.concatenate([np.zeros(n), np.arange(slots)]).astype(np.int32),
        place=np.zeros(nodes, np.int32),
        leg=np.zeros(nodes),
        load_to=np.zeros(nodes),
        length_to=np.zeros(nodes),
        load=np.zeros(slots),
        length=np.zeros(slots),
        excess=np.zeros(slots),
        size=np.zeros(slots, np.int32),
        changed=np.zeros(slots, np.int64),
        tested=np.zeros(n, np.int64),
        swaps_tested=np.zeros(slots, np.int64),
        sector=np.zeros((slots, 2), np.int64),
        order=np.arange(n, dtype=np.int32),
        insert_time=np.zeros((slots, n), np.int64),
        insert_cost=np.zeros((slots, n, BEST)),
        insert_after=np.zeros((slots, n, BEST), np.int32),
        removal=np.zeros(n),
        penalty=np.zeros(2),
        moves=np.zeros(1, np.int64),
        free=np.zeros(1, np.int64),
    )


def new_population(n: int, places: int) -> Population:
    """Return an empty population."""
    return Population(
        kind=np.zeros(places, np.int64),
        tour=np.zeros((places, n), np.int32),
        next=np.zeros((places, n), np.int32),
        prev=np.zeros((places, n), np.int32),
        used=np.zeros(places, np.int64),
        length=np.zeros(places),
        excess=np.zeros((places, 2)),
        cost=np.zeros(places),
        apart=np.zeros((places, places)),
        fitness=np.zeros(places),
        diversity=np.zeros(places),
        nearest=np.zeros(places),
        is_best=np.zeros(places, np.bool_),
        rank=np.zeros(places, np.int64),
        key=np.zeros(places),
        recent=np.ones((2, RECENT), np.bool_),
        best=np.full(n, -1, np.int32),
        best_cost=np.full(2, np.inf),
        counts=np.zeros(4, np.int64),
    )


def new_offspring(n: int, slots: int, random: NDArray[np.uint64]) -> Offspring:
    """Return arrays for offspring; random: uint64 [1], the state of the random number generator."""
    return Offspring(
        random=random,
        tour=np.arange(n, dtype=np.int32),
        taken=np.zeros(n, np.bool_),
        potential=np.zeros(n + 1),
        split=np.zeros(n + 1, np.int32),
        route_cost=np.zeros(1),
        angle=np.zeros(slots),
        sorted=np.zeros(slots, np.int64),
    )
