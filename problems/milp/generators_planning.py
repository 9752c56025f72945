"""Generators of planning problems that companies solve as integer programs: network design, lot sizing, assignment."""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corl.problems.milp.generator_options import MAX_ENTRIES, command, need
from corl.problems.milp.instance import MilpInstance, from_triplets

__all__ = ["generalised_assignment", "lot_sizing", "network_design"]


def generalised_assignment(*, jobs: int = 60, agents: int = 8, kind: Literal["c", "d", "e"] = "e", seed: int = 0) -> MilpInstance:
    """Return a generalised assignment problem: give each job to one agent at least cost, within the agents' capacities.

    The kinds are those of the literature (Chu and Beasley, Computers & Operations Research 24, 1997; e: Laguna, Kelly,
    González-Velarde and Glover, European Journal of Operational Research 82, 1995). c: a job needs 5 to 25 units of an agent's
    capacity and costs 10 to 50, independently; d: it needs 1 to 100 units, and costs 111 minus these, plus -10 to 10; e: it
    needs 1 - 10 ln(u) units with u uniform in (0, 1], and costs 1000 / units - 10 v with v uniform in (0, 1). The capacity of an
    agent is 0.8 times what all jobs would need, divided by the number of agents. Capacities are rounded up, other numbers of
    kind e to integers. Programs with few jobs may have no solution.
    """
    need("jobs, agents", jobs >= 1 and agents >= 1 and jobs * agents <= MAX_ENTRIES // 2, "from 1")
    need("kind", kind in ("c", "d", "e"), "c, d, e")
    random, shape = np.random.default_rng(seed), (jobs, agents)
    if kind == "c":
        units, cost = random.integers(5, 25, shape, endpoint=True), random.integers(10, 50, shape, endpoint=True)
    elif kind == "d":
        units = random.integers(1, 100, shape, endpoint=True)
        cost = 111 - units + random.integers(-10, 10, shape, endpoint=True)
    else:
        exact = 1.0 - 10.0 * np.log(1.0 - random.random(shape))
        units, cost = np.rint(exact).astype(int), np.rint(1000.0 / exact - 10.0 * random.random(shape)).astype(int)
    capacity = np.ceil(0.8 * units.sum(0) / agents)
    column = np.arange(jobs * agents).reshape(shape)  # job i by agent k
    rows = np.concatenate([np.repeat(np.arange(jobs), agents), jobs + np.repeat(np.arange(agents), jobs)])
    return from_triplets(
        f"generalised-assignment-{kind}-{jobs}x{agents}-{seed}", "min", cost.ravel(), rows,
        np.concatenate([column.ravel(), column.T.ravel()]), np.concatenate([np.ones(column.size), units.T.ravel()]),
        np.append(np.ones(jobs), np.full(agents, -np.inf)), np.append(np.ones(jobs), capacity), upper=1.0, integer=True,
        names=[f"x_{i}_{k}" for i in range(1, jobs + 1) for k in range(1, agents + 1)],
        comment=command("generalised-assignment", seed, jobs=jobs, agents=agents, kind=kind),
    )  # fmt: skip


def lot_sizing(
    *, items: int = 12, periods: int = 15, utilisation: float = 0.95, orders_apart: float = 3.0, seed: int = 0
) -> MilpInstance:
    """Return capacitated lot sizing with set-up times (Trigeiro, Thomas and McClain, Management Science 35, 1989).

    One machine makes all items. In each period, the demand of each item must be met from production and stock; an item that is
    produced in a period needs a set-up, which takes time and costs money; minimise the costs of set-ups and of the stock at the
    end of each period. A unit takes one unit of time. As in the paper, demands are normal with mean 100 and standard deviation
    10, rounded, a set-up takes 21 to 65, and holding a unit for a period costs 0.5 to 1.5 (here in steps of 0.1). A set-up costs
    what makes lots of `orders_apart` periods' demand best by the formula of the economic order quantity, rounded.

    The capacity of a period is the mean demand of a period with a set-up of every item, divided by `utilisation`. It is larger
    if the first periods need that: there is always a solution, with all set-ups in every period.

    Variables, for each item and period: the production, the stock at the end, and whether there is a set-up (binary).
    """
    need("items, periods", items >= 1 and periods >= 1 and items * periods <= MAX_ENTRIES // 6, "from 1")
    need("utilisation", 0.1 <= utilisation <= 1.0, "0.1 to 1")
    need("orders_apart", 0.1 <= orders_apart <= 100.0, "0.1 to 100")
    random = np.random.default_rng(seed)
    demand = np.maximum(1.0, np.rint(random.normal(100.0, 10.0, (items, periods))))
    setup_time = random.integers(21, 65, items, endpoint=True).astype(np.float64)
    holding = random.integers(5, 15, items, endpoint=True) / 10.0
    setup_cost = np.rint(holding * 100.0 * orders_apart**2 / 2.0)
    early = (np.cumsum(demand.sum(0)) / np.arange(1, periods + 1)).max()
    capacity = np.ceil(max((demand.sum() / periods + setup_time.sum()) / utilisation, early + setup_time.sum()))
    remaining = np.cumsum(demand[:, ::-1], axis=1)[:, ::-1]  # an item's demand from a period on
    most = np.minimum(remaining, capacity - setup_time[:, None])  # its largest production
    size = items * periods
    made, stock, setup = (np.arange(size).reshape(items, periods) + k * size for k in range(3))
    balance, linked = np.arange(size).reshape(items, periods), size + np.arange(size).reshape(items, periods)
    time = np.broadcast_to(2 * size + np.arange(periods), (items, periods))  # the row of a period's capacity
    ones, first = np.ones(size), slice(None, -1)
    entries = [
        (balance, made, ones), (balance, stock, -ones), (balance[:, 1:], stock[:, first], np.ones(size - items)),
        (linked, made, ones), (linked, setup, -most), (time, made, ones), (time, setup, np.repeat(setup_time, periods)),
    ]  # fmt: skip
    rows, columns, values = (np.concatenate([np.ravel(entry[part]) for entry in entries]) for part in range(3))
    cost = np.concatenate([np.zeros(size), np.repeat(holding, periods), np.repeat(setup_cost, periods)])
    return from_triplets(
        f"lot-sizing-{items}x{periods}-{seed}", "min", cost, rows, columns, values,
        np.concatenate([demand.ravel(), np.full(size + periods, -np.inf)]),
        np.concatenate([demand.ravel(), np.zeros(size), np.full(periods, capacity)]),
        upper=np.concatenate([np.full(2 * size, np.inf), np.ones(size)]), integer=np.arange(3 * size) >= 2 * size,
        names=[f"{letter}_{i}_{t}" for letter in "xsy" for i in range(1, items + 1) for t in range(1, periods + 1)],
        comment=command("lot-sizing", seed, items=items, periods=periods, utilisation=utilisation, orders_apart=orders_apart),
    )  # fmt: skip


def network_design(
    *, nodes: int = 20, arcs: int = 100, commodities: int = 30, fixed_ratio: float = 0.5, capacity_ratio: float = 8.0,
    seed: int = 0,
) -> MilpInstance:  # fmt: skip
    """Return multicommodity capacitated fixed-charge network design (Crainic, Frangioni and Gendron 2001): which arcs to open.

    Each commodity is a demand to send from its origin to its destination; flows may be divided. Minimise the costs of opened
    arcs and of flows. As in the paper (Discrete Applied Mathematics 112), the fixed costs f and the capacities u are scaled by
    two ratios, of the variable costs c and the demands d: `fixed_ratio` is commodities * sum f / (sum d * sum c),
    `capacity_ratio` is arcs * sum d / sum u. Both are higher for harder programs.

    The arcs are a random cycle through all nodes, and random further ones. Demands, capacities before the scaling, and costs are
    10 to 100. If a simple routing, which sends commodities one after the other along shortest paths, finds no solution, all
    capacities are raised by 10 % until it does.

    Variables: for each commodity and arc the flow, then for each arc whether it is open (binary). The formulation is the strong
    one: a commodity's flow on an arc is at most its demand, if the arc is open.
    """
    need("nodes", 2 <= nodes <= 10_000, "2 to 10,000")
    need("arcs", nodes <= arcs <= nodes * (nodes - 1), "nodes to nodes * (nodes - 1)")
    need("commodities", commodities >= 1 and commodities * arcs <= MAX_ENTRIES // 6, "from 1")
    need("fixed_ratio, capacity_ratio", 1e-3 <= fixed_ratio <= 1e3 and 1e-3 <= capacity_ratio <= 1e3, "0.001 to 1,000")
    random = np.random.default_rng(seed)
    tail, head = _arcs(random, nodes, arcs)
    pairs = random.integers(0, nodes * (nodes - 1), commodities)
    origin, other = np.divmod(pairs, nodes - 1)
    destination = other + (other >= origin)
    demand = random.integers(10, 100, commodities, endpoint=True).astype(np.float64)
    variable, fixed, capacity = (random.integers(10, 100, arcs, endpoint=True).astype(np.float64) for _ in range(3))
    fixed = np.rint(fixed * fixed_ratio * demand.sum() * variable.sum() / (commodities * fixed.sum()))
    capacity = np.ceil(capacity * arcs * demand.sum() / (capacity_ratio * capacity.sum()))
    while not _routable(nodes, tail, head, capacity, origin, destination, demand):
        capacity = np.ceil(1.1 * capacity)
    flow = np.arange(commodities * arcs).reshape(commodities, arcs)
    opened = np.broadcast_to(flow.size + np.arange(arcs), flow.shape)
    leaves, enters = (np.arange(commodities)[:, None] * nodes + ends for ends in (tail, head))  # rows: a commodity at a node
    bundle = np.broadcast_to(commodities * nodes + np.arange(arcs), flow.shape)  # rows: the capacity of an arc
    forced = bundle[0, -1] + 1 + flow  # rows: a commodity on an arc
    most = np.minimum(demand[:, None], capacity)
    entries = [
        (leaves, flow, np.ones(flow.size)), (enters, flow, -np.ones(flow.size)), (bundle, flow, np.ones(flow.size)),
        (bundle[0], opened[0], -capacity), (forced, flow, np.ones(flow.size)), (forced, opened, -most),
    ]  # fmt: skip
    rows, columns, values = (np.concatenate([np.ravel(entry[part]) for entry in entries]) for part in range(3))
    supply = np.zeros((commodities, nodes))
    supply[np.arange(commodities), origin], supply[np.arange(commodities), destination] = demand, -demand
    others = arcs + flow.size
    ratios = {"fixed_ratio": fixed_ratio, "capacity_ratio": capacity_ratio}
    return from_triplets(
        f"network-design-{nodes}x{arcs}x{commodities}-{seed}", "min", np.append(np.tile(variable, commodities), fixed),
        rows, columns, values, np.append(supply.ravel(), np.full(others, -np.inf)), np.append(supply.ravel(), np.zeros(others)),
        upper=np.append(np.full(flow.size, np.inf), np.ones(arcs)), integer=np.arange(flow.size + arcs) >= flow.size,
        names=[*(f"x_{k}_{a}" for k in range(1, commodities + 1) for a in range(1, arcs + 1)),
               *(f"y_{a}" for a in range(1, arcs + 1))],
        comment=command("network-design", seed, nodes=nodes, arcs=arcs, commodities=commodities, **ratios),
    )  # fmt: skip


def _arcs(random: np.random.Generator, nodes: int, arcs: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the tails and heads of different arcs, int64 [arcs] each: a random cycle through all nodes, then others."""
    order = random.permutation(nodes)
    cycle = order * nodes + np.roll(order, -1)
    every = np.arange(nodes * nodes)
    free = np.setdiff1d(every[every // nodes != every % nodes], cycle)
    tail, head = np.divmod(np.append(cycle, random.choice(free, arcs - nodes, replace=False)), nodes)
    return tail, head


def _routable(
    nodes: int, tail: NDArray[np.int64], head: NDArray[np.int64], capacity: NDArray[np.float64],
    origin: NDArray[np.int64], destination: NDArray[np.int64], demand: NDArray[np.float64],
) -> bool:  # fmt: skip
    """Return whether all demands fit, one commodity after the other, each along paths with the fewest arcs that have room."""
    room = capacity.tolist()
    leaving: list[list[int]] = [[] for _ in range(nodes)]
    for arc, node in enumerate(tail.tolist()):
        leaving[node].append(arc)
    for start, end, rest in zip(origin.tolist(), destination.tolist(), demand.tolist()):
        while rest > 0.0:
            path = _path(leaving, tail, head, room, start, end)
            if not path:
                return False
            sent = min(rest, *(room[arc] for arc in path))
            rest -= sent
            for arc in path:
                room[arc] -= sent
    return True


def _path(
    leaving: list[list[int]], tail: NDArray[np.int64], head: NDArray[np.int64], room: list[float], start: int, end: int
) -> list[int]:
    """Return the arcs of a path with the fewest arcs, all with room left; empty if there is none."""
    arrived = {start: -1}
    queue = deque([start])
    while queue and end not in arrived:
        for arc in leaving[queue.popleft()]:
            if room[arc] > 0.0 and int(head[arc]) not in arrived:
                arrived[int(head[arc])] = arc
                queue.append(int(head[arc]))
    path: list[int] = []
    node = end
    while node in arrived and node != start:
        path.append(arrived[node])
        node = int(tail[arrived[node]])
    return path
