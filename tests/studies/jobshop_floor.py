"""A shop floor over time: the learned dispatcher beside tuned dispatching rules.

    python tests/studies/jobshop_floor.py tune --output RULES    # the rules' parameters, on days to choose on
    python tests/studies/jobshop_floor.py judge --rules RULES --policies NAME=NETWORK ... --output FILE   # once; a row per day
    python tests/studies/jobshop_floor.py resolve --rules RULES --policies NAME=NETWORK --output FILE   # a row per day
    python tests/studies/jobshop_floor.py show --output FILE

The split was made before anything was tuned. `corl train` draws its days from its own seeds, below 2**32. Days to choose on have
the seeds from 1,000,000 on, days to judge on those from 2,000,000 on. A regime is a load, a tightness of due dates and a share of
set-ups; the nine regimes are a Latin square of three values each. The regime named first, in which the policy is to win by a
tenth, is the middle: load 0.85, tightness 4, set-ups of 0.4 durations. A day has 500 jobs on 10 machines; half of the operations
have a second machine, and machines are down for 0.05 of the time. Each regime is judged on 30 days.

Each rule is tuned for each regime: SETS random sets of parameters play a few days, the best of them more days, the best of these
still more, all different (`STAGES`). So the nine regimes take about as many days as a training (`corl train jobshop --recipe
evolution` with OPTIONS).

Re-solving: at every decision `annealing` plans all that is known and has not begun (`corl.online.resolve`), with as many
schedules as it builds in 0.1 or 1 s of a core, on short days of the regime with the greatest load and the tightest due dates,
where there is something to plan. The clock stands still meanwhile, in its favour; with DELAY it continues as long as there is
between two arrivals.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from run_table import RunTable

import corl
from corl.online.simulation import simulate
from corl.problems.jobshop.environments.floor.environment import FloorEnvironment
from corl.problems.jobshop.generators_floor import shop_floor
from corl.problems.jobshop.instance import JobShopInstance
from corl.problems.jobshop.problem import JobShop
from corl.solvers.jobshop.floor.rules import RULES, FloorRule, Player

CHOOSE, JUDGE = 1_000_000, 2_000_000
LOADS, TIGHTNESSES, SETUPS = (0.8, 0.85, 0.9), (3.0, 4.0, 5.0), (0.2, 0.4, 0.6)
REGIMES = [(LOADS[i], TIGHTNESSES[j], SETUPS[(i + j + 2) % 3]) for i in range(3) for j in range(3)]
NAMED = (0.85, 4.0, 0.4)
JOBS, MACHINES, DAYS = 500, 10, 30
STAGES = ((6, 60), (30, 8), (230, 2))
"""Days and sets of parameters of each stage of the tuning of a rule in a regime."""
TUNED, ONLY_NAMED = ("atc", "covert"), ("edd", "wspt")
"""Rules that are tuned in all regimes, and in the regime named first."""
LOOK_AHEADS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
SETUP_WEIGHTS = (0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 1000.0)
REGRET_WEIGHTS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, np.inf)
THRESHOLDS = (-np.inf, -np.inf, -12.0, -10.0, -8.0, -6.0, -4.0)
OPTIONS: dict[str, Any] = {
    "network": "jobshop-floor", "generator": "shop-floor", "environment": "floor", "features": "floor", "size": 200, "width": 16,
    "rate": 0.02, "spread": 0.05, "pairs": 16, "batch": 12, "watch": 48, "every": 20, "seed": 1,
}  # fmt: skip
STEPS = 330
HARDEST, SHORT, DELAY, SCHEDULES_PER_SECOND = (0.9, 3.0, 0.4), 100, 25.0, 130_000
"""For re-solving: the regime, the number of jobs of a day, the mean time between two arrivals, and the schedules that `annealing`
builds per second of an undisturbed core."""

Regime = tuple[float, float, float]


def days(first: int, count: int, regime: Regime) -> list[JobShopInstance]:
    """Return the days of the seeds from `first` on."""
    load, tightness, setup = regime
    return [
        shop_floor(size=JOBS, machines=MACHINES, load=load, tightness=tightness, setup=setup, seed=first + k)
        for k in range(count)
    ]


def by_rules(shops: Sequence[JobShopInstance], rules: Sequence[FloorRule]) -> Any:
    """Return the objective value of each rule on each day, float64 [rules, days]."""
    environment, rows = FloorEnvironment(shops, len(shops)), range(len(shops))
    player, values = Player(environment), []
    for rule in rules:
        environment.reset(np.arange(len(shops)), np.arange(len(shops)))
        for row in rows:
            player.play(row, rule)
        values.append(environment.state.estimate.copy())
    return np.array(values)


def drawn(rule: int, count: int, random: np.random.Generator) -> list[FloorRule]:
    """Return random sets of parameters of a rule; those that it ignores are 1."""
    sloped, found = RULES[rule] in ("atc", "covert"), set[FloorRule]()
    for _ in range(count if sloped else count // 2):
        look = float(random.choice(LOOK_AHEADS)) if sloped else 1.0
        weights = [float(random.choice(values)) for values in (SETUP_WEIGHTS, REGRET_WEIGHTS)]
        found.add(FloorRule(rule, look, *weights, float(random.choice(THRESHOLDS)) if sloped else -np.inf))
    return sorted(found)


def tune(output: Path, part: Sequence[int]) -> None:
    """Write the best parameters of each rule in a part of the regimes, as JSON; regimes that are there are kept."""
    done = json.loads(output.read_text()) if output.exists() else {}
    for number, regime in enumerate(sorted(REGIMES, key=lambda one: one != NAMED)):
        key = " ".join(map(str, regime))
        if key in done or number not in part:
            continue
        random, first = np.random.default_rng(number), CHOOSE
        names = (*ONLY_NAMED, *TUNED) if regime == NAMED else TUNED
        candidates = [drawn(RULES.index(rule), STAGES[0][1], random) for rule in names]
        values: list[Any] = []
        for stage, (count, _) in enumerate(STAGES):
            totals = [np.zeros(len(each)) for each in candidates]
            for begin in range(0, count, 30):
                shops = days(first + begin, min(30, count - begin), regime)
                for total, each in zip(totals, candidates):
                    total += by_rules(shops, each).sum(axis=1)
            first += count
            kept = STAGES[stage + 1][1] if stage + 1 < len(STAGES) else 1
            order = [np.argsort(total, kind="stable")[:kept] for total in totals]
            values = [float(total[best[0]] / count) for total, best in zip(totals, order)]
            candidates = [[each[k] for k in best] for each, best in zip(candidates, order)]
        done[key] = {name: [list(map(float, each[0])), value] for name, each, value in zip(names, candidates, values)}
        output.write_text(json.dumps(done, indent=1))
        print(key, {name: (round(value), tuned[1:]) for name, (tuned, value) in done[key].items()}, flush=True)


def by_policy(shops: Sequence[JobShopInstance], policy: str) -> Any:
    """Return the objective value of a network's likeliest actions on each day, float64 [days]."""
    environment, rows = FloorEnvironment(shops, len(shops)), np.arange(len(shops))
    base = environment.reset(rows, rows)
    rewards, _ = corl.load_policy(policy).on(environment).play(rows)  # type: ignore[union-attr]
    for row, shop in enumerate(shops):
        assert JobShop().evaluate(shop, environment.solution(row)) == -(base + rewards)[row]
    return -(base + rewards)


def judge(rules: Path, policies: dict[str, str], output: Path) -> None:
    """Write a row per regime, day and method; a file that is there is continued with the methods that it lacks."""
    tuned = json.loads(rules.read_text())
    fields = ("load", "tightness", "setup", "seed", "method", "tardiness", "ms_per_decision")
    table = RunTable(output, fields, fields[:5])
    for regime in sorted(REGIMES, key=lambda one: one != NAMED):
        shops = days(JUDGE, DAYS, regime)
        operations = sum(shop.operations for shop in shops)
        methods = {name: [FloorRule(int(rule), *rest)] for name, ((rule, *rest), _) in tuned[" ".join(map(str, regime))].items()}
        for name in (each for each in (*methods, *policies) if not table.has(*regime, JUDGE + DAYS - 1, each)):
            begun = time.process_time()
            values = by_rules(shops, methods[name])[0] if name in methods else by_policy(shops, policies[name])
            spent = 1e3 * (time.process_time() - begun) / operations
            for k, value in enumerate(values):
                if not table.has(*regime, JUDGE + k, name):
                    table.append([*regime, JUDGE + k, name, f"{value:.0f}", f"{spent:.4f}"])
    show(output)


def resolve(rules: Path, policies: dict[str, str], output: Path, counts: Sequence[int]) -> None:
    """Write a row per short day and method; a file that is there is continued."""
    (rule, *rest), _ = json.loads(rules.read_text())[" ".join(map(str, HARDEST))]["covert"]
    look, setup_weight, regret, threshold = rest
    machine = {"machine": "best"} if regret == np.inf else {"machine": "free", "regret_weight": regret}
    tuned = {"rule": RULES[int(rule)], "look_ahead": look, "setup_weight": setup_weight, "threshold": max(-1e3, threshold)}
    methods: dict[str, tuple[str, dict[str, Any], float]] = {"covert": ("rule", tuned | machine, 0.0)}
    methods |= {name: ("learned", {"network": network}, 0.0) for name, network in policies.items()}
    for seconds, count, delay in zip((0.1, 0.1, 1.0), (counts[0], counts[0], counts[1]), (0.0, DELAY, 0.0)):
        chosen = {"solver": "annealing", "iterations": int(SCHEDULES_PER_SECOND * seconds)}
        methods |= {f"re-solving {seconds:g} s, delay {delay:g}": ("resolve", chosen | {"days": count}, delay)}
    table = RunTable(output, ("seed", "method", "tardiness", "decisions", "ms_per_decision"), ("seed", "method"))
    for name, (policy, chosen, delay) in methods.items():
        for seed in range(JUDGE, JUDGE + chosen.pop("days", counts[0])):
            if table.has(seed, name):
                continue
            load, tightness, setup = HARDEST
            shop = shop_floor(size=SHORT, machines=MACHINES, load=load, tightness=tightness, setup=setup, seed=seed)
            begun = time.process_time()
            played = simulate(policy, shop, seconds=1e6, delay=delay, **chosen)
            spent = 1e3 * (time.process_time() - begun) / len(played.seconds)
            table.append([seed, name, f"{played.objective:.0f}", len(played.seconds), f"{spent:.1f}"])


def show(path: Path) -> None:
    """Print, for each regime, the total tardiness of each method by that of the best tuned rule, with 95 % intervals."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    for regime in REGIMES:
        values: dict[str, dict[str, float]] = {}
        for row in rows:
            if (float(row["load"]), float(row["tightness"]), float(row["setup"])) == regime:
                values.setdefault(row["method"], {})[row["seed"]] = float(row["tardiness"])
        best = min((rule for rule in TUNED if rule in values), key=lambda rule: sum(values[rule].values()))
        print(f"load {regime[0]}  tightness {regime[1]}  set-ups {regime[2]}  by {best}:")
        for method, found in values.items():
            pairs = np.array([(value, values[best][seed]) for seed, value in found.items()])
            resampled = np.random.default_rng(0).integers(0, len(pairs), (10_000, len(pairs)))
            sums = pairs[resampled].sum(axis=1)
            low, high = np.quantile(sums[:, 0] / np.maximum(1.0, sums[:, 1]), (0.025, 0.975))
            ratio = pairs[:, 0].sum() / max(1.0, pairs[:, 1].sum())
            print(f"  {method:18} {ratio:.3f} [{low:.3f}, {high:.3f}]   {len(pairs)} days")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("tune", "judge", "resolve", "show"))
    parser.add_argument("--regimes", type=int, nargs="*", default=range(9), help="to tune: numbers, 0 is the one named first")
    parser.add_argument("--rules", type=Path, default=Path("rules.json"), help="to judge: the file that `tune` wrote")
    parser.add_argument("--policies", nargs="*", default=[], metavar="NAME=NETWORK", help="to judge")
    parser.add_argument("--days", type=int, nargs=2, default=(5, 2), help="of re-solving, with 0.1 and with 1 s")
    parser.add_argument("--output", type=Path, default=Path("floor.csv"))
    given = parser.parse_args()
    if given.part == "tune":
        tune(given.output, given.regimes)
    elif given.part == "judge":
        judge(given.rules, dict(pair.split("=", 1) for pair in given.policies), given.output)
    elif given.part == "resolve":
        resolve(given.rules, dict(pair.split("=", 1) for pair in given.policies), given.output, given.days)
    else:
        show(given.output)


if __name__ == "__main__":
    main()
