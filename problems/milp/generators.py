"""Generators of random instances of the families on which the literature evaluates learned branching.

They follow the papers' descriptions. The default sizes and parameters of set cover, auctions, facility location and independent
set are those of Gasse, Chételat, Ferroni, Charlin and Lodi (Exact combinatorial optimization with graph convolutional neural
networks, NeurIPS 2019).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corl.problems.milp.generator_options import MAX_ENTRIES, command, need
from corl.problems.milp.generators_planning import generalised_assignment, lot_sizing, network_design
from corl.problems.milp.instance import MilpInstance, from_triplets

__all__ = ["GENERATORS", "auctions", "facility_location", "independent_set", "multiple_knapsack", "set_cover"]

_MAX_ITEM_VALUE = 100.0  # the largest common value of an item in an auction


def set_cover(
    *, rows: int = 500, columns: int = 1000, density: float = 0.05, largest_cost: int = 100, seed: int = 0
) -> MilpInstance:
    """Return a set cover problem as in Balas and Ho (1980): choose columns of least total cost that cover every row.

    Costs are integers from 1 to `largest_cost`. A fraction `density` of the entries of the matrix is 1; every row is covered by
    at least two columns, and every column covers at least one row.
    """
    entries = round(density * rows * columns)
    need("rows, columns", rows >= 2 and columns >= 2 and rows * columns <= 10 * MAX_ENTRIES, "from 2")
    need("density", max(2 * rows, columns) <= entries <= rows * columns, "two entries a row and one a column, 1 at the most")
    need("largest_cost", largest_cost >= 1, "from 1")
    random = np.random.default_rng(seed)
    covers = np.zeros((rows, columns), np.bool_)
    owners = np.concatenate([random.permutation(rows) for _ in range(-(-columns // rows))])[:columns]
    covers[owners, np.arange(columns)] = True  # first, every column covers one row, evenly spread over the rows
    for row_index in np.flatnonzero(covers.sum(1) < 2).tolist():
        missing = 2 - int(covers[row_index].sum())
        covers[row_index, random.choice(np.flatnonzero(~covers[row_index]), missing, replace=False)] = True
    free = np.flatnonzero(~covers.ravel())
    covers.ravel()[random.choice(free, max(0, entries - int(covers.sum())), replace=False)] = True
    row, column = np.nonzero(covers)
    cost = random.integers(1, largest_cost, columns, endpoint=True)
    return from_triplets(
        f"set-cover-{rows}x{columns}-{seed}", "min", cost, row, column, np.ones(len(row)), np.ones(rows),
        np.full(rows, np.inf), upper=1.0, integer=True,
        comment=command("set-cover", seed, rows=rows, columns=columns, density=density, largest_cost=largest_cost),
    )  # fmt: skip


def auctions(
    *, items: int = 100, bids: int = 500, add_item: float = 0.7, additivity: float = 0.2, most_substitutes: int = 5, seed: int = 0
) -> MilpInstance:
    """Return a combinatorial auction with arbitrary relationships (Leyton-Brown, Pearson and Shoham 2000, section 4.3).

    Maximise the sum of the prices of the winning bids; each item is sold at most once, and each bidder wins at most one bid.

    A bidder values each item at its common value (1 to 100) plus a private deviation (-50 to 50). A bundle begins with one item.
    As long as a random draw succeeds, with probability `add_item`, another item is added, chosen by its affinity to those in
    the bundle. The price of a bundle is the sum of the values of its items plus its size to the power 1 + `additivity`. The
    bidder also bids on up to `most_substitutes` bundles of similar value, each of which begins with an item of the first bundle.
    """
    need("items", 2 <= items <= 10_000, "2 to 10,000")
    need("bids", 1 <= bids <= 1_000_000, "1 to 1,000,000")
    need("add_item", 0.0 <= add_item < 1.0, "0 to 1, less than 1")
    need("additivity", -1.0 <= additivity <= 2.0, "-1 to 2")
    need("most_substitutes", most_substitutes >= 0, "from 0")
    random = np.random.default_rng(seed)
    values = random.uniform(1.0, _MAX_ITEM_VALUE, items)
    affinity = np.triu(random.random((items, items)), 1)
    affinity = affinity + affinity.T
    affinity /= affinity.sum(1, keepdims=True)
    market = _Market(random, values, affinity, add_item, additivity)
    bids_found: list[tuple[list[int], float]] = []
    bidders: list[list[int]] = []
    while len(bids_found) < bids:
        bundles = market.bidder(min(most_substitutes + 1, bids - len(bids_found)))
        if len(bundles) > 1:
            bidders.append(list(range(len(bids_found), len(bids_found) + len(bundles))))
        bids_found += bundles
    holders: list[list[int]] = [[] for _ in range(items)]
    for bid, (bundle, _) in enumerate(bids_found):
        for item in bundle:
            holders[item].append(bid)
    groups = [group for group in holders if group] + bidders
    options = {"add_item": add_item, "additivity": additivity, "most_substitutes": most_substitutes}
    call = command("auctions", seed, items=items, bids=bids, **options)
    return _packing(f"auctions-{items}x{bids}-{seed}", [price for _, price in bids_found], groups, call)


class _Market:
    """Draws the bids of an auction's bidders.

    values: float64 [items], the common values; affinity: float64 [items, items], rows sum to 1; add and additivity: the
    options `add_item` and `additivity` of `auctions`.
    """

    def __init__(
        self,
        random: np.random.Generator,
        values: NDArray[np.float64],
        affinity: NDArray[np.float64],
        add: float,
        additivity: float,
    ) -> None:
        self.random, self.values, self.affinity, self.add, self.power = random, values, affinity, add, 1.0 + additivity

    def bidder(self, most: int) -> list[tuple[list[int], float]]:
        """Return up to `most` different bundles of a new bidder with their positive prices; substitutes follow the first."""
        interest = self.random.random(len(self.values))
        private = self.values + _MAX_ITEM_VALUE * (interest - 0.5)  # deviations up to half of the largest value, as in the paper
        while True:
            bundle = self.grow(int(self.random.choice(len(private), p=interest / interest.sum())), interest, 0)
            price = self.price(bundle, private)
            if price > 0.0:
                break
        found = {tuple(bundle): price}
        budget, min_value = 1.5 * price, 0.5 * self.values[bundle].sum()  # limits for substitutes, as in the paper
        candidates = [self.grow(item, interest, len(bundle)) for item in bundle]
        offers = sorted(((self.price(other, private), tuple(other)) for other in candidates), reverse=True)
        for offer, other in offers:
            if len(found) < most and 0.0 <= offer <= budget and self.values[list(other)].sum() >= min_value:
                found.setdefault(other, offer)
        return [(list(key), offer) for key, offer in found.items() if offer > 0.0]

    def grow(self, item: int, interest: NDArray[np.float64], size: int) -> list[int]:
        """Return a sorted bundle that contains `item` and grows to `size` items or, if `size` is 0, until a random draw stops it.

        Args:
            item: The first item.
            interest: float64 [items], the bidder's interest in each item, by which the choice of further items is weighted.
            size: The number of items in the bundle, or 0.
        """
        bundle = [item]
        free = np.ones(len(interest), np.bool_)
        free[item] = False
        while free.any() and (len(bundle) < size if size else self.random.random() < self.add):
            weight = free * interest * self.affinity[bundle].mean(0)
            if weight.sum() <= 0.0:
                break
            bundle.append(int(self.random.choice(len(weight), p=weight / weight.sum())))
            free[bundle[-1]] = False
        return sorted(bundle)

    def price(self, bundle: list[int], private: NDArray[np.float64]) -> float:
        """Return the price of a bundle for a bidder with the values `private`, float64 [items]."""
        return float(private[bundle].sum() + len(bundle) ** self.power)


def facility_location(*, customers: int = 35, facilities: int = 35, ratio: float = 5.0, seed: int = 0) -> MilpInstance:
    """Return capacitated facility location (Cornuéjols, Sridharan and Thizy 1991): minimise the cost of serving all demand.

    Customers and facilities are uniform in the unit square. Demands are 5 to 35; capacities are 10 to 160, then scaled so that
    their sum is `ratio` times the total demand. Opening a facility costs sqrt(capacity) times 100 to 110, plus 0 to 90; serving a
    customer costs 10 * distance * demand. The variables are the share of each customer's demand that each facility serves, then
    for each facility whether it is open (binary).
    """
    need("customers", customers >= 1 and facilities >= 1 and customers * facilities <= MAX_ENTRIES // 3, "from 1")
    need("ratio", 1.0 <= ratio <= 1e6, "1 to 1,000,000")
    random = np.random.default_rng(seed)
    places, sites = random.random((customers, 2)), random.random((facilities, 2))
    demand = random.integers(5, 35, customers, endpoint=True).astype(np.float64)
    capacity = random.integers(10, 160, facilities, endpoint=True).astype(np.float64)
    opening = random.integers(100, 110, facilities, endpoint=True) * np.sqrt(capacity)
    opening += random.integers(0, 90, facilities, endpoint=True)
    capacity = np.ceil(capacity * ratio * demand.sum() / capacity.sum())
    serving = 10.0 * np.linalg.norm(places[:, None] - sites[None], axis=2) * demand[:, None]
    share = np.arange(customers * facilities).reshape(customers, facilities)
    opened = share.size + np.arange(facilities)
    rows: list[tuple[NDArray[np.int64], NDArray[np.float64], float, float]] = []
    rows += [(share[i], np.ones(facilities), 1.0, np.inf) for i in range(customers)]
    for j in range(facilities):
        rows.append((np.append(share[:, j], opened[j]), np.append(demand, -capacity[j]), -np.inf, 0.0))
    rows.append((opened, capacity, float(demand.sum()), np.inf))  # redundant for integers, but it tightens the relaxation
    pairs = [(i, j) for i in range(customers) for j in range(facilities)]
    rows += [(np.array([share[i, j], opened[j]]), np.array([1.0, -1.0]), -np.inf, 0.0) for i, j in pairs]
    names = [f"x_{i}_{j}" for i in range(1, customers + 1) for j in range(1, facilities + 1)]
    columns, values, low, high = zip(*rows)
    return from_triplets(
        f"facility-location-{customers}x{facilities}-{seed}", "min", np.append(serving.ravel(), opening),
        np.repeat(np.arange(len(rows)), [len(part) for part in columns]), np.concatenate(columns), np.concatenate(values),
        low, high, upper=1.0, integer=np.arange(share.size + facilities) >= share.size,
        names=[*names, *(f"y_{j}" for j in range(1, facilities + 1))],
        comment=command("facility-location", seed, customers=customers, facilities=facilities, ratio=ratio),
    )  # fmt: skip


def independent_set(*, nodes: int = 500, affinity: int = 4, seed: int = 0) -> MilpInstance:
    """Return the largest independent set of a Barabási-Albert graph, with a constraint per clique (Bergman et al. 2016).

    The cliques cover all edges; they are found greedily. The graph begins with a star of affinity + 1 nodes. Each further node is
    joined to `affinity` others, drawn with probabilities proportional to their degrees.
    """
    need("nodes", 2 <= nodes <= 1_000_000, "2 to 1,000,000")
    need("affinity", 1 <= affinity < nodes, "1 to nodes - 1")
    random = np.random.default_rng(seed)
    neighbours: list[set[int]] = [set() for _ in range(nodes)]
    ends: list[int] = []  # contains each node as often as it has edges, so that a uniform draw is proportional to the degree
    for node in range(affinity, nodes):
        chosen: set[int] = set(range(affinity)) if node == affinity else set()
        while len(chosen) < affinity:
            chosen.add(ends[int(random.integers(len(ends)))])
        for other in sorted(chosen):
            neighbours[node].add(other)
            neighbours[other].add(node)
            ends += [node, other]
    call = command("independent-set", seed, nodes=nodes, affinity=affinity)
    return _packing(f"independent-set-{nodes}-{seed}", [1.0] * nodes, _cliques(neighbours), call)


def _cliques(neighbours: list[set[int]]) -> list[list[int]]:
    """Return cliques that cover every edge; each grows from an uncovered edge, always by the node of highest degree."""
    covered: set[tuple[int, int]] = set()
    cliques = []
    order = sorted(range(len(neighbours)), key=lambda node: (-len(neighbours[node]), node))
    for node in order:
        for other in sorted(neighbours[node], key=lambda k: (-len(neighbours[k]), k)):
            if (min(node, other), max(node, other)) in covered:
                continue
            clique, common = [node, other], neighbours[node] & neighbours[other]
            while common:
                best = min(common, key=lambda k: (-len(neighbours[k]), k))
                clique.append(best)
                common = common & neighbours[best]
            covered.update((min(a, b), max(a, b)) for a in clique for b in clique if a != b)
            cliques.append(sorted(clique))
    return cliques


def multiple_knapsack(
    *,
    items: int = 100,
    knapsacks: int = 6,
    correlation: Literal["uncorrelated", "weak", "strong", "subset-sum"] = "weak",
    seed: int = 0,
) -> MilpInstance:
    """Return a 0-1 multiple knapsack problem (Pisinger 1999; Fukunaga 2011): each item goes into at most one knapsack.

    Weights are 10 to 1000. Profits depend on `correlation`. uncorrelated: 1 to 1000; weak: the weight plus -99 to 99, at least 1;
    strong: the weight plus 10; subset-sum: the weight. The capacities sum to half of the total weight. Each but the last is 0.4
    to 0.6 times the total weight divided by the number of knapsacks.
    """
    need("items", items >= 1 and knapsacks >= 1 and items * knapsacks <= MAX_ENTRIES, "from 1")
    random = np.random.default_rng(seed)
    weight = random.integers(10, 1000, items, endpoint=True)
    weak = np.maximum(1, weight + random.integers(-99, 99, items, endpoint=True))
    uncorrelated = random.integers(1, 1000, items, endpoint=True)
    profits = {"uncorrelated": uncorrelated, "weak": weak, "strong": weight + 10, "subset-sum": weight}
    need("correlation", correlation in profits, ", ".join(profits))
    share = weight.sum() / knapsacks
    capacity = np.floor(random.uniform(0.4 * share, 0.6 * share, knapsacks))
    capacity[-1] = max(0.0, float(weight.sum() // 2 - capacity[:-1].sum()))
    column = np.arange(items * knapsacks).reshape(items, knapsacks)  # item i in knapsack k
    rows = np.concatenate([np.repeat(np.arange(knapsacks), items), knapsacks + np.repeat(np.arange(items), knapsacks)])
    return from_triplets(
        f"multiple-knapsack-{items}x{knapsacks}-{seed}", "max", np.repeat(profits[correlation], knapsacks), rows,
        np.concatenate([column.T.ravel(), column.ravel()]), np.concatenate([np.tile(weight, knapsacks), np.ones(column.size)]),
        np.full(knapsacks + items, -np.inf), np.append(capacity, np.ones(items)), upper=1.0, integer=True,
        names=[f"x_{i}_{k}" for i in range(1, items + 1) for k in range(1, knapsacks + 1)],
        comment=command("multiple-knapsack", seed, items=items, knapsacks=knapsacks, correlation=correlation),
    )  # fmt: skip


def _packing(name: str, profit: list[float], groups: list[list[int]], comment: str) -> MilpInstance:
    """Return a set packing problem: maximise profit @ x for binary x, with at most one variable of each group at 1."""
    rows = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    columns = np.array([k for group in groups for k in group], np.int64)
    return from_triplets(
        name, "max", profit, rows, columns, np.ones(len(columns)), np.full(len(groups), -np.inf), np.ones(len(groups)),
        upper=1.0, integer=True, comment=comment,
    )  # fmt: skip


GENERATORS: dict[str, Callable[..., Any]] = {
    "set-cover": set_cover,
    "auctions": auctions,
    "facility-location": facility_location,
    "independent-set": independent_set,
    "multiple-knapsack": multiple_knapsack,
    "generalised-assignment": generalised_assignment,
    "lot-sizing": lot_sizing,
    "network-design": network_design,
}
