"""Figures of vehicle routing."""

from __future__ import annotations

from .cells import bold, bold_least, figure, interval, number, recorded, recorded_table, row, rows, significant, table

__all__ = [
    "equal_time", "gap", "information", "mean_gap", "policies", "policies_later", "policies_paired", "prizes", "rate", "regret",
    "rules_kinds", "rules_others", "standard", "structure", "summary",
]  # fmt: skip

_PEERS = {"ruin-recreate": "`ruin-recreate`", "pyvrp": "PyVRP"}


def standard() -> str:
    """Gaps on eleven instances of the X set after 10 and 60 seconds."""
    kept = recorded("vrp", "gaps on X")
    instances = list(dict.fromkeys(column for _, column in kept))
    lines = []
    for limit in (10, 60):
        for solver, label in _PEERS.items():
            gaps = [kept[f"{solver}, {limit} s", instance] for instance in instances]
            lines.append([f"{label}, {limit} s", *gaps, mean_gap("standard", solver, limit, "X")])
    return table(["", *instances, "mean"], lines)


def mean_gap(name: str, solver: str, limit: int, group: str) -> str:
    """Return the mean gap in a file of a suite, in per cent without the sign."""
    return figure(f"vrp/{name}", "mean_gap_percent", 2, solver=solver, time_limit=limit, group=group)


def prizes() -> str:
    """Gaps on instances with optional clients."""
    kept = recorded("vrp", "gaps with prizes")
    instances = list(dict.fromkeys(column for _, column in kept))
    means = [mean_gap("prizes", solver, 20, "prizes") for solver in _PEERS]
    lines = [
        [label, *(kept[solver, instance] for instance in instances), bold(gap, solver == "ruin-recreate")]
        for (solver, label), gap in zip(_PEERS.items(), means, strict=True)
    ]
    return table(["", *instances, "mean"], lines)


def rules_kinds() -> str:
    """Gaps with backhauls, several trips and groups."""
    return recorded_table("vrp", "gaps with backhauls, trips and groups")


def rules_others() -> str:
    """Gaps with prizes, on the X set and with time windows."""
    return recorded_table("vrp", "gaps with prizes and without rules")


def structure() -> str:
    """Objective values with clusters and with the longest route as a second term, beside OR-Tools."""
    lines = []
    for rule, clients in dict.fromkeys((each["rule"], each["clients"]) for each in rows("vrp/structure")):
        wanted = {"rule": rule, "clients": clients}
        values = [row("vrp/structure", **wanted, solver=name)["objective"] for name in ("ruin-recreate", "ortools")]
        lines.append([f"{rule}, {clients} clients", *bold_least(values, [number(value, 0) for value in values])])
    return table(["", "`ruin-recreate`", "OR-Tools"], lines)


def equal_time() -> str:
    """Costs with seeds of ruins by a network and by hand, above those with uniform seeds."""
    labels = {"cvrp-200": "200 clients, 1 s", "cvrp-500": "500, 1.5 s", "cvrp-1000": "1,000, 4 s", "cvrp-2000": "2,000, 10 s"}
    lines, instances = [], 0
    for regime, label in labels.items():
        found = [row("vrp/equal-time", regime=regime, part="judge", arm=arm) for arm in ("learned-1", "rule-1")]
        instances += int(found[0]["instances"])
        lines.append([label, found[0]["instances"], *(interval(each, "above_uniform") for each in found)])
    lines.append(["all", f"{instances}", *recorded("vrp", "equal time, all").values()])
    return table(["", "instances", "learned", "by hand"], lines)


def gap(family: str, name: str, split: str) -> str:
    """Return the mean gap of a row of policies.csv with its interval, in per cent."""
    return interval(row(f"{family}/policies", row=name, split=split), "mean_gap", scale=100)


def rate(family: str, name: str, split: str) -> str:
    """Return instances a second of a row of policies.csv, to two digits."""
    return significant(row(f"{family}/policies", row=name, split=split)["instances_per_second"])


def policies() -> str:
    """Gaps of the rule, a network and a short search, judged in the first round."""
    search = "solver-ruin-recreate-1500"
    labels = {"rule": "rule-greedy", "network": "imitation-greedy", "`ruin-recreate`, 1,500 iterations": search}
    return table(["gap in %", "greedy"], ([label, gap("vrp", name, "judge")] for label, name in labels.items()))


def policies_later() -> str:
    """Gaps of the rule with and without a beam, judged in the second round."""
    beam, search = "rule-beam16:0.003", "solver-ruin-recreate-1500"
    rates = [rate("vrp", name, "judge-2") for name in ("rule-greedy", beam, search)]
    lines = [
        ["rule", gap("vrp", "rule-greedy", "judge-2"), gap("vrp", beam, "judge-2"), ", ".join(rates[:2])],
        ["`ruin-recreate`, 1,500 iterations", gap("vrp", search, "judge-2"), "", rates[2]],
    ]
    return table(["gap in %", "greedy", "beam 16", "instances a second"], lines)


def policies_paired() -> str:
    """Costs of a policy less those of another, judged in the third round."""
    lines = ([pair, f"`{split}`", cell] for (pair, split), cell in recorded("vrp", "policies less another").items())
    return table(["", "split", ""], lines)


def _information(measure: str, policy: str, digits: int, scale: int = 1) -> str:
    return figure("vrp/information", "value", digits, scale, problem="vrp", measure=measure, policy=policy)


def information() -> str:
    """Cross-entropy and right actions of imitation with and without the relaxation's features."""
    lines = [["`savings`", "rule", "", f"{_information('right actions', 'rule', 1, 100)} %", ""]]
    for features in ("savings", "priced"):
        for kind, label in (("linear", "linear"), ("perceptron", "perceptron of 64")):
            policy = f"{features}-{kind}"
            loss = _information("held-out cross-entropy", policy, 3)
            right, early = (_information(m, policy, 1, 100) for m in ("right actions", "right actions, over 75 clients left"))
            lines.append([f"`{features}`", label, loss, right, early])
    return table(["features", "policy", "cross-entropy", "right actions", "with over 75 clients left"], lines)


def regret() -> str:
    """What the actions of each tenth of an episode cost."""
    lines = []
    for policy, label in (("rule", "rule"), ("priced-perceptron", "`priced` perceptron")):
        tenths = [_information(f"regret % of tenth {k}", policy, 2) for k in range(1, 11)]
        lines.append([label, *tenths, _information("regret % of an episode", policy, 2)])
    return table(["", "tenth 1", *map(str, range(2, 11)), "sum"], lines)


def summary() -> str:
    """The gaps that the problem's page has."""
    belgium, kinds = recorded("vrp", "gaps on Belgium"), recorded("vrp", "gaps by kind of rule")
    lines = []
    for label, limit, cells in (
        ("11 of 100 instances of the X set", 10, [mean_gap("standard", solver, 10, "X") for solver in _PEERS]),
        ("", 60, [mean_gap("standard", solver, 60, "X") for solver in _PEERS]),
        ("Leuven1, 3,000 clients", 300, [belgium[solver, "Leuven1"] for solver in _PEERS]),
        ("Antwerp1, 6,000", 300, [belgium[solver, "Antwerp1"] for solver in _PEERS]),
        (
            "1,000 clients with time windows, 4 of 60 (PyVRP ahead on one)", 60,
            [mean_gap("windows", solver, 60, "windows") for solver in _PEERS],
        ),
        (
            "backhauls; several trips; groups (`corl bench vrp/rules`)", 60,
            ["; ".join(kinds[solver, kind] for kind in ("backhauls", "several trips", "groups")) for solver in _PEERS],
        ),
    ):  # fmt: skip
        lines.append([label, f"{limit} s", *cells])
    return table(["", "limit", *_PEERS.values()], lines)
