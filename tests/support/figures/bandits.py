"""Figures of restless bandits: means over instances with Student's 95 % intervals, as tests/studies/bandits.py prints them."""

from __future__ import annotations

from corl.statistics import sample_mean

from .cells import mean, number, rows, table

__all__ = [
    "fluid_gaps", "gaps", "leads", "policies", "sequoia", "sequoia_bases", "sizes", "trained", "unknown", "unknown_first",
    "unknown_limits", "unknown_pulls", "unknown_sharing",
]  # fmt: skip

_KINDS = ("capacity", "scheduling", "routing", "interventions", "budget")


class _Cell:
    """The rows of one solver on the instances of one kind and size."""

    def __init__(self, name: str, kind: str, solver: str, arms: int = 20) -> None:
        self.rows = rows(f"bandits/{name}", kind=kind, solver=solver, arms=arms)
        base = rows(f"bandits/{name}", kind=kind, solver="myopic", arms=arms)
        self.base = {each["instance"]: float(each["objective"]) for each in base}

    def __bool__(self) -> bool:
        return bool(self.rows)

    @property
    def reward(self) -> str:
        return number(mean(each["objective"] for each in self.rows), 2)

    @property
    def gap(self) -> str:
        """Mean gap to the bound with its interval, in per cent without the sign."""
        return _with_half([100 * (1 - float(each["objective"]) / float(each["bound"])) for each in self.rows])

    @property
    def lead(self) -> str:
        """Mean lead over `myopic` on the same instances."""
        leads = [100 * (float(each["objective"]) / self.base[each["instance"]] - 1) for each in self.rows]
        return f"{_with_half(leads, sign=True)} %"

    @property
    def seconds(self) -> str:
        return f"{number(mean(each['seconds'] for each in self.rows), 1)} s"


def _with_half(values: list[float], sign: bool = False) -> str:
    found = sample_mean(values)
    assert found.value is not None
    return f"{number(found.value, 1, sign=sign)} ± {number(found.half, 1)}"


def policies() -> str:
    """Mean rewards and gaps of all solvers at 20 arms."""
    lines = []
    for solver in ("myopic", "two-step", "whittle", "fluid", "rollout", "null", "random"):
        cells = [_Cell("policies", kind, solver) for kind in _KINDS]
        lines.append([f"`{solver}`", *(f"{each.reward}, {each.gap} %" if each else "" for each in cells)])
    return table(["solver", *_KINDS], lines)


def gaps() -> str:
    """The gaps alone, for the problem's page."""
    lines = []
    for solver in ("myopic", "two-step", "whittle", "fluid", "rollout"):
        cells = [_Cell("policies", kind, solver) for kind in _KINDS]
        lines.append([f"`{solver}`", *(each.gap if each else "" for each in cells)])
    return table(["gap, %", *_KINDS], lines)


def fluid_gaps() -> list[str]:
    """Return the mean gaps of `fluid` at 20 arms, in per cent without the sign."""
    return [_Cell("policies", kind, "fluid").gap.partition(" ")[0] for kind in _KINDS]


def sizes() -> str:
    """Gaps and seconds at 40 and 100 arms."""
    kinds = ("capacity", "scheduling", "budget", "routing", "interventions")
    lines = []
    for arms in (40, 100):
        for solver in ("two-step", "whittle", "fluid"):
            cells = [_Cell("large", kind, solver, arms) for kind in kinds]
            gap = (f"{each.gap.partition(' ')[0]} %, {each.seconds}" if each else "" for each in cells)
            lines.append([f"{arms}" if solver == "two-step" else "", f"`{solver}`", *gap])
    return table(["arms", "solver", *kinds], lines)


def trained() -> str:
    """Mean rewards, leads, gaps and seconds of policies that were trained once."""
    search, slow = "+simulations=8", "`tree-search`, 8 simulations, with that network"
    labels = {
        "myopic": "`myopic`", "two-step": "`two-step`", "sequoia": "`sequoia`", "fluid": "`fluid`",
        "policy:policy=pg.safetensors": "`policy`, by policy gradient",
        "policy:policy=imi.safetensors": "`policy`, by imitation of `fluid`",
        "policy:policy=az.safetensors": "`policy`, by AlphaZero from the first",
        f"tree-search:policy=az.safetensors{search}+value_scale=0.1": slow,
        "policy:policy=az2.safetensors": "`policy`, by AlphaZero from imitation, `value_scale=0.02`",
        f"tree-search:policy=az2.safetensors{search}": slow,
    }  # fmt: skip
    lines = []
    for solver, label in labels.items():
        cells = []
        for kind in ("scheduling", "routing"):
            found = _Cell("trained", kind, solver)
            lead = "" if solver == "myopic" else f"{found.lead}, "
            cells.append(f"{found.reward}, {lead}gap {found.gap.partition(' ')[0]} %, {found.seconds}")
        lines.append([label, *cells])
    return table(["solver", "scheduling", "routing"], lines)


def sequoia() -> str:
    """Mean rewards of `myopic`, and leads over it with what is learned for the one instance."""
    kinds = _KINDS[:4]
    lines = [["`myopic`", *(_Cell("sequoia", kind, "myopic").reward for kind in kinds)]]
    for solver in ("two-step", "fluid", "sequoia", "sequoia:base=fluid"):
        cells = [_Cell("sequoia", kind, solver) for kind in kinds]
        lines.append([f"`{solver}`", *(f"{each.lead}, {each.seconds}" for each in cells)])
    return table(["solver", *kinds], lines)


def sequoia_bases() -> str:
    """How far rewards of `sequoia` are above those of each other policy, by kind and in the mean of the kinds."""
    kinds, lines = _KINDS[:4], []
    labels = {
        "null": "no action", "random": "random", "sampling": "the best of 100 random actions",
        "myopic": "one step ahead, exact (`myopic`)", "iterative-myopic": "one step ahead, pick by pick",
        "iterative-dqn": "deep Q-learning, pick by pick", "two-step": "`two-step`", "fluid": "`fluid`",
    }  # fmt: skip
    for base, label in labels.items():
        of_kinds = [leads("sequoia", kind, "sequoia", base) for kind in kinds]
        halves = [sample_mean(each).half for each in of_kinds]
        means = [float(mean(each)) for each in of_kinds]
        half = sum(each**2 for each in halves) ** 0.5 / len(kinds)
        cells = [f"{number(value, 1, sign=True)} ± {number(part, 1)}" for value, part in zip(means, halves, strict=True)]
        lines.append([label, *cells, f"{number(mean(means), 1, sign=True)} ± {number(half, 1)}"])
    return table(["base, %", *kinds, "mean"], lines)


def leads(name: str, kind: str, solver: str, base: str) -> list[float]:
    """Return by how many per cent the reward of `solver` is above that of `base`, for each instance of a kind in a file."""
    found = [
        {each["instance"]: float(each["objective"]) for each in rows(f"bandits/{name}", kind=kind, solver=each_solver)}
        for each_solver in (solver, base)
    ]
    return [100 * (value / found[1][instance] - 1) for instance, value in found[0].items()]


_UNKNOWN = "bandits/unknown"
_REGIMES = {
    "few": "20 arms", "first": "100 arms", "many": "1,000 arms", "strong": "strong calls", "three-states": "3 states",
    "told": "telling features", "noise": "features of noise",
}  # fmt: skip
_SHARING = {"none": "cells alone", "arm": "cells of an arm", "features": "features"}


def _ways(regime: str, policy: str, part: str, file: str = _UNKNOWN) -> list[float]:
    """Return how much of the way from random pulls to hindsight a policy made on each instance of a regime, in per cent.

    `part`: "reward" of all steps, or "last", of the last 50.
    """
    found = {name: {each["instance"]: float(each[part]) for each in rows(file, regime=regime, policy=name)}
             for name in ("random", "clairvoyant", policy)}  # fmt: skip
    low, high = found["random"], found["clairvoyant"]
    return [100 * (value - low[at]) / (high[at] - low[at]) for at, value in found[policy].items()]


def unknown_below(regime: str, method: str, other: str) -> list[float]:
    """Return how far the reward of `method` with features is below that of `other`, tuned, on each instance, in per cent."""
    tuned = [name for name in dict.fromkeys(each["policy"] for each in rows(_UNKNOWN, regime=regime)) if ":" in name]
    names = [next(name for name in tuned if name.startswith(method) and "sharing=features" in name)]
    names.append(next((name for name in tuned if name.startswith(other)), other))
    mine, theirs = (
        {each["instance"]: float(each["reward"]) for each in rows(_UNKNOWN, regime=regime, policy=name)} for name in names
    )
    return [100 * (1 - mine[at] / value) for at, value in theirs.items()]


def _both(regime: str, policy: str, file: str = _UNKNOWN) -> str:
    """Return the way over all steps with its interval, then over the last 50; "" if the policy was not judged there."""
    all_steps, last = (_ways(regime, policy, part, file) for part in ("reward", "last"))
    return f"{_with_half(all_steps)}; {number(mean(last), 1)}" if all_steps else ""


def _unknown_policies(file: str = _UNKNOWN) -> dict[str, str]:
    """Return the labels of the policies in a file, in their order, and their names in the table."""
    found = {}
    for each in rows(file, regime="first"):
        name, _, given = each["policy"].partition(":")
        values = dict(pair.split("=") for pair in given.split("+") if pair)
        if name in ("random", "clairvoyant") or "planner" in values:
            continue
        kind = _SHARING[values["sharing"]] if "sharing" in values else ("tuned" if given else "as published")
        found[each["policy"]] = f"`{name}`, {kind}"
    return found


def unknown() -> str:
    """How much of the way from random pulls to hindsight each policy makes, over all steps and over the last 50."""
    regimes = [each for each in _REGIMES if rows(_UNKNOWN, regime=each)]
    lines = [[name, *(_both(each, policy) for each in regimes)] for policy, name in _unknown_policies().items()]
    return table(["%", *(_REGIMES[each] for each in regimes)], lines)


def unknown_first() -> str:
    """The way that the learning policies of the first judgement made, on other instances."""
    regimes = ("few", "first", "many", "strong")
    policies = {name: label for label, name in _unknown_policies(f"{_UNKNOWN}_first").items() if name.startswith("`thompson`")}
    lines = [[name, *(_both(each, label, f"{_UNKNOWN}_first") for each in regimes)] for name, label in policies.items()]
    return table(["first judgement, %", *(_REGIMES[each] for each in regimes)], lines)


def unknown_sharing() -> str:
    """How many points of the way sharing by features adds, and sharing between the cells of an arm (paired)."""
    names = {name: policy for policy, name in _unknown_policies().items()}
    regimes, lines = [each for each in _REGIMES if rows(_UNKNOWN, regime=each)], []
    for method in ("thompson", "ucb"):
        for more, less in (("features", "arm"), ("arm", "none")):
            pair = [names[f"`{method}`, {_SHARING[each]}"] for each in (more, less)]
            label = f"`{method}`, {_SHARING[more]} over {_SHARING[less]}"
            lines.append([label, *(_paired(regime, *pair) for regime in regimes)])
    return table(["points", *(_REGIMES[each] for each in regimes)], lines)


def _paired(regime: str, more: str, less: str) -> str:
    ways = [_ways(regime, each, "reward") for each in (more, less)]
    return _with_half([a - b for a, b in zip(*ways, strict=True)], sign=True) if all(ways) else ""


_LIMITS = "bandits/unknown_limits"
_TOLD = {
    "": "nothing", "population": "the population's true mean and covariance",
    "effects": "the population, and what the features say about each arm",
    "without-calls": "all transitions without a call", "logs": "logs of four earlier days: five times the data",
    "population,without-calls": "the population and all transitions without a call",
    "population,logs": "the population and the logs of four earlier days",
    "effects,without-calls": "what the features say, and all transitions without a call",
    "effects,logs": "what the features say, and the logs of four earlier days",
}  # fmt: skip


def unknown_limits() -> str:
    """The way of a policy that is told more than it can know, with and without sharing between arms (tuning instances)."""
    ways: dict[str, dict[str, str]] = {}
    for label in dict.fromkeys(each["policy"] for each in rows(_LIMITS, regime="first")):
        name, _, given = label.partition(":")
        values = dict(pair.split("=") for pair in given.split("+") if pair)
        if name == "ucb" and values["every"] == "5" and values["scale"] == "0.5":
            ways.setdefault(values.get("told", ""), {})[values["sharing"]] = _both("first", label, _LIMITS)
    lines = [[label, *(ways.get(told, {}).get(kind, "") for kind in ("arm", "features"))] for told, label in _TOLD.items()]
    return table(["`ucb` is told", *(_SHARING[kind] for kind in ("arm", "features"))], lines)


def unknown_pulls() -> str:
    """The price of minimum pulls: the share of the way that is left, for hindsight and for the best policy that learns."""
    found: dict[str, dict[int, list[float]]] = {}
    ends = [{each["instance"]: float(each["reward"]) for each in rows("bandits/unknown_pulls", policy=name)}
            for name in ("random", "clairvoyant:min_pulls=0")]  # fmt: skip
    for each in rows("bandits/unknown_pulls"):
        if "min_pulls" not in each["policy"]:
            continue
        label, _, least = each["policy"].partition("min_pulls=")
        low, high = (end[each["instance"]] for end in ends)
        way = 100 * (float(each["reward"]) - low) / (high - low)
        found.setdefault(label.partition(":")[0], {}).setdefault(int(least), []).append(way)
    lines = [[f"`{name}`", *(_with_half(ways) for ways in by_least.values())] for name, by_least in found.items()]
    return table(["minimum pulls", *map(str, next(iter(found.values())))], lines)
