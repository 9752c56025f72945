"""Figures of the page "When does learning pay?": learned methods beside rules, search and bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corl.statistics import resampled_mean

from . import bandits, jobshop, memory, milp
from .cells import number, row, rows, table

__all__ = ["over_time", "programs", "static"]

_HEADS = ("", "time (learned; other)", "learned", "other", "difference or ratio, 95 % interval", "better")


def over_time() -> str:
    """Decisions while the world changes: jobs that arrive, a shop floor, requests during the day, and restless bandits."""
    lines = [
        _ratio(
            f"jobs arriving, load {load:g}, due at {due} times their work", "0.5 ms; 0.003 ms a decision", "`jobshop-arrivals`",
            "`covert`, tuned", *jobshop.tardiness_ratio(load, due, "policy"),
        )
        for load, due in ((0.9, 3), (0.8, 2), (0.95, 4))
    ]  # fmt: skip
    for limit, tabu in (("0.1", "0.4"), ("1", "1.0"), ("10", "8.3")):  # milliseconds a decision, set and measured
        found = jobshop.tardiness_ratio(0.9, 3, "policy", f"re-solving {limit} ms")
        head, time = "load 0.9, due at 3 times, eight instances", f"0.5 ms; {tabu} ms a decision"
        lines.append(_ratio(head, time, "`jobshop-arrivals`", "`tabu` at every arrival", *found))
    lines += [*_shop_floor(), *_routes_during_the_day(), *_unknown_arms()]
    for kind in ("scheduling", "routing"):
        for time, label, solver in (
            ("0.6 s; 0.1 s", "policy gradient", "policy:policy=pg.safetensors"), ("2 to 7 s; 0.1 s", "`sequoia`", "sequoia"),
        ):  # fmt: skip
            below = [-lead for lead in bandits.leads("trained", kind, solver, "fluid")]
            lines.append(_difference(f"restless bandits, {kind}, 20 arms", time, label, "`fluid`", below))
    return table(_HEADS, lines)


def _shop_floor() -> Iterator[list[str]]:
    """Yield the lines of the shop floor: the regime named first, those of the least and the greatest gain, and re-solving."""
    found = {regime: jobshop.floor_ratio(*regime, "evolution") for regime in jobshop.floor_regimes()}
    named = (0.85, 4.0, 0.4)
    by_gain = sorted(found, key=lambda regime: -found[regime][0])
    for regime in dict.fromkeys((named, by_gain[0], by_gain[-1])):
        head = "shop floor, load {:g}, due at {:g} times, set-ups {:g}".format(*regime)
        yield _ratio(
            head, jobshop.floor_times(*regime, "evolution", "covert"), "`jobshop-floor`", "`covert`, tuned", *found[regime]
        )
    for label, time, ratio in jobshop.floor_resolving_ratios("evolution"):
        yield _ratio("shop floor, short days of load 0.9", time, "`jobshop-floor`", label, *ratio)


def _routes_during_the_day() -> Iterator[list[str]]:
    """Yield the line of requests during the day: the learned prizes beside sampled ones."""
    found = row("vrp/day", judgement=2, policy="learned minus prizes")
    per_cent = {key: str(100 * float(found[key])) for key in ("ratio", "low", "high")}
    head, time = f"requests during the day, {found['days']} days", f"{found['seconds']} s an epoch"
    yield _given(head, time, "network's prizes", "sampled prizes", per_cent, "ratio")


def _unknown_arms() -> Iterator[list[str]]:
    """Yield the lines of arms whose transitions are learned during the day, beside a published rule and hindsight."""
    for label, other in (("`wiql`, tuned", "wiql"), ("knows the transitions", "clairvoyant")):
        below = bandits.unknown_below("first", "ucb", other)
        yield _difference("unknown arms, 100", "a step", "`ucb` with features", label, below)


def programs() -> str:
    """Time of learned branching by that of SCIP's rule pscost, on families that it was trained on."""
    lines = []
    for family in ("auctions", "set-cover", "independent-set", "facility-location"):
        name = f"{family}-judge" if family in ("set-cover", "facility-location") else family
        found = milp.line_of(name, family, "learned-branching", "scip-pscost")
        for time, key in (("whole solve", "total"), ("after the root", "after")):
            numbers = (float(found[key + end]) for end in ("", "_low", "_high"))
            lines.append(_ratio(family.replace("-", " "), time, "`learned-branching`", "SCIP's pscost", *numbers))
        if milp.of_defaults(family):
            found = milp.line_of_defaults(family)
            numbers = (float(found["seconds" + end]) for end in ("", "_low", "_high"))
            lines.append(_ratio(family.replace("-", " "), "SCIP's defaults", "`learned-branching`", "`scip`", *numbers))
    return table(_HEADS, lines)


def static() -> str:
    """Problems that are known before the search begins."""
    lines = [
        _difference(
            head,
            time,
            "`learned-priority`",
            "`xla-like tuned`",
            memory.slower("mapping-priority", "learned, in the time of tuned", "xla-like tuned", group),
        )
        for group, head, time in (
            ("generated", "memory mapping, 80 operations", "9 ms"),
            ("traced", "memory mapping, traced programs", "40 ms"),
        )
    ]
    for family, heads in _SUITES.items():
        for group, head in heads.items():
            lines += _of_suite(family, group, head)
    for regime, head, time in (
        ("cvrp-200", "where to ruin, vehicle routing, 200 clients", "1 s"), ("cvrp-2000", "the same, 2,000 clients", "10 s"),
    ):  # fmt: skip
        found = row("vrp/equal-time", regime=regime, part="judge", arm="learned-1")
        lines.append(_given(head, time, "network", "uniformly at random", found, "above_uniform"))
    found = row("orienteering/equal-time", regime="op-400", part="judge", arm="learned-2")
    lines.append(_given("the same, orienteering, 400 nodes", "1 s", "network", "uniformly at random", found, "above_uniform"))
    found = row("jobshop/starts", jobs=30, machines=20, start="policy")
    turned = found | {"lower": str(-float(found["lower"])), "low": str(-float(found["high"])), "high": str(-float(found["low"]))}
    lines.append(_given("first schedule of tabu search, 30 x 20", "1 s", "`cp-agent`", "FDD/MWKR", turned, "lower"))
    return table(_HEADS, lines)


_SUITES = {
    "memory": {"80 operations": "memory mapping, 80 operations"},
    "tsp": {"uniform 100": "TSP, 100 cities", "asymmetric 100": "ATSP, 100 cities"},
    "knapsack": {"100 items": "knapsack, 100 items"},
    "jobshop": {"15 x 15": "job shop, 15 x 15", "30 x 20": "job shop, 30 x 20"},
}


def _of_suite(family: str, group: str, head: str) -> Iterator[list[str]]:
    """Yield the lines of a group: at each limit the best learned method beside the best other one, and beside the best rule."""
    for limit in dict.fromkeys(each["limit"] for each in rows(f"{family}/learning", group=group)):
        found = rows(f"{family}/learning", group=group, limit=float(limit))
        learned = min(found, key=lambda each: float(each["learned_gap"]))["learned"]
        mine = [each for each in found if each["learned"] == learned]
        best = min(mine, key=lambda each: float(each["other_gap"]))
        rules = [each for each in mine if each["other"] in _RULES and each is not best]
        for each in (*rules, best):
            yield _given(head, f"{float(limit):g} s", f"`{learned}`", f"`{each['other']}`", each, "difference")


_RULES = ("randomised dispatch", "greedy", "xla-like tuned")


def _ratio(head: str, time: str, learned: str, other: str, value: float, low: float, high: float) -> list[str]:
    """Return a line with a ratio, learned / other."""
    text = f"{number(value, 2)} times [{number(low, 2)}, {number(high, 2)}]"
    return [head, time, learned, other, text, _better(low - 1.0, high - 1.0)]


def _difference(head: str, time: str, learned: str, other: str, values: Sequence[float]) -> list[str]:
    """Return a line with a mean difference in per cent; negative: the learned method is better."""
    found = resampled_mean(values)
    assert found.value is not None and found.low is not None and found.high is not None
    return [head, time, learned, other, _per_cent(found.value, found.low, found.high), _better(found.low, found.high)]


def _given(head: str, time: str, learned: str, other: str, found: dict[str, str], column: str) -> list[str]:
    """Return a line whose difference and interval are columns of a results file."""
    value, low, high = (float(found[key]) for key in (column, "low", "high"))
    return [head, time, learned, other, _per_cent(value, low, high), _better(low, high)]


def _per_cent(value: float, low: float, high: float) -> str:
    return f"{number(value, 2, sign=True)} % [{number(low, 2)}, {number(high, 2)}]"


def _better(low: float, high: float) -> str:
    """Return the better method, by an interval of learned minus other."""
    return "learned" if high < 0 else "other" if low > 0 else "neither"
