"""Summarise days that were played: costs divided by those of the competition's greedy baseline on the same days.

    QUICKSTART=FOLDER python tests/studies/vrp_day_summary.py instances/vrp/results/day.csv RUNS.csv [RUNS.csv ...]

Each file of runs is one judgement. Only days that all its policies played count. Published costs of these days are read from
QUICKSTART/results; of the finalists, only means are written. Intervals are Student's, at 95 %, over days.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
from pathlib import Path

import numpy as np
from scipy import stats
from vrp_day_split import DAYS_USED

FINALISTS = ("Kleopatra", "Team_sb", "OptiML")


def published(team: str, nr: int) -> float:
    """Return the cost of a finalist on a day of the final."""
    text = (Path(os.environ["QUICKSTART"]) / "results" / team / f"run_dynamic_{nr}.out").read_text()
    return float(re.search(r"Cost of solution: ([\d.]+)", text)[1])


def interval(values: np.ndarray) -> list[float]:
    """Return the mean and the limits of its interval."""
    mean = values.mean()
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return [mean, mean - half, mean + half]


def summary(file: Path) -> list[list[object]]:
    """Return the lines of one judgement: seconds, days, ratio, low and high for each policy and finalist."""
    costs: dict[str, dict[int, float]] = {}
    seconds = set()
    with file.open() as opened:
        for line in csv.DictReader(opened):
            costs.setdefault(line["policy"], {})[int(line["nr"])] = float(line["cost"])
            seconds.add(float(line["seconds"]))
    days = sorted(set.intersection(*(set(found) for found in costs.values())))
    greedy = np.array([published("baseline_greedy", nr) for nr in days])
    ratios = {policy: np.array([found[nr] for nr in days]) / greedy for policy, found in costs.items()}
    lines = [[policy, *seconds, len(days), *interval(found)] for policy, found in ratios.items()]
    for policy in (each for each in ratios if each != "learned"):
        difference = interval(ratios["learned"] - ratios[policy])
        lines.append([f"learned minus {policy}", *seconds, len(days), *difference])
    for team in FINALISTS:
        found = np.array([published(team, nr) for nr in days]) / greedy
        lines.append([team, 120, len(days), *interval(found)])
        lines.append([f"learned minus {team}", *seconds, len(days), *interval(ratios["learned"] - found)])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("summary", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    arguments = parser.parse_args()
    with arguments.summary.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["judgement", "policy", "seconds", "used", "days", "ratio", "low", "high"])
        for number, file in enumerate(arguments.runs, 1):
            for policy, seconds, days, *values in summary(file):
                used = DAYS_USED[number].get(policy, "")
                writer.writerow([number, policy, seconds, used, days, *(f"{value:.5f}" for value in values)])
    print(arguments.summary.read_text())


if __name__ == "__main__":
    main()
