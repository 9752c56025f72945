"""Published results as files for `corl report --published`: `python published_results.py FORM FILE --out FILE.csv ...`

FORM is the form of FILE:

- pyvrp: the page `benchmarks.rst` of PyVRP's documentation, whose tables have a row for each solver and a column for each
  set; gaps are means of ten seeds.
- pyjobshop: `data/results.csv` of PyJobShop/Experiments; `--names` is a CSV file with the columns number and name, as the file
  has numbers.
- survey: a log of NRS_Survey with lines `Instance NAME: Time 1.5s, Cost 100.0, Gap 5.00%`.
- trace: lines `seconds;cost` of HGS or FILO on one instance, `--instance`; the last line counts.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["COLUMNS", "pyjobshop", "pyvrp", "survey", "trace"]

COLUMNS = (
    "problem", "solver", "instance", "set", "instances", "objective", "gap_percent", "seconds", "hardware", "date", "source",
)  # fmt: skip
_SETS = {"CVRP": ("X", 100), "VRPTW": ("GH1000", 60), "PC-VRPTW": ("PCVRPTW", 60), "MDVRPTW": ("MDVRPTW", 28)}
_LINK = re.compile(r"`([^<`]+?)\s*<[^>]*>`_|\[#\w+\]_")
_SURVEY = re.compile(r"Instance (\S+): Time ([\d.]+)s, Cost ([\d.]+), Gap (-?[\d.]+)%")
_KINDS = {"JSP": "jobshop", "FJSP": "jobshop"}


def pyvrp(text: str) -> Iterator[dict[str, Any]]:
    """Yield the gaps in the tables of PyVRP's page; an empty cell, or one that is no number, has no row."""
    for table in text.split(".. list-table::")[1:]:
        rows: list[list[str]] = []
        for line in table.splitlines():
            if match := re.match(r"\s+(\* )?- ?(.*)", line):
                rows += [[]] if match[1] else []
                rows[-1].append(_LINK.sub(lambda link: link[1] or "", match[2]).strip())
            elif rows and line and not line[0].isspace():
                break
        head, *entries = rows
        for entry in entries:
            cells = dict(zip(head, entry))
            name = f"PyVRP {cells['Version']}" if "Version" in cells else cells["Name"]
            for column in head[2:]:
                found = re.match(r"([\d.]+)%", cells.get(column, ""))
                if found:
                    set_name, count = _SETS.get(column, (column, ""))
                    yield {
                        "problem": "vrp", "solver": name, "set": set_name, "instances": count, "gap_percent": found[1],
                        "hardware": "one core", "date": cells["Date"], "source": "PyVRP's page of benchmarks",
                    }  # fmt: skip


def pyjobshop(rows: Iterator[dict[str, str]], names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the results of PyJobShop's experiments on the instances that have a name, of problems that corl has."""
    for row in rows:
        name = names.get(row["instance"].removesuffix(".txt"))
        if name and row["problem"] in _KINDS and row["objective"]:
            yield {
                "problem": _KINDS[row["problem"]], "solver": f"{row['solver']}, limit {row['time_limit']} s", "instance": name,
                "objective": row["objective"], "seconds": row["time"], "hardware": "eight cores",
                "source": "PyJobShop/Experiments",
            }  # fmt: skip


def survey(text: str, problem: str, solver: str) -> Iterator[dict[str, Any]]:
    """Yield the results in a log of the survey of neural solvers."""
    for name, seconds, cost, _ in _SURVEY.findall(text):
        yield {
            "problem": problem, "solver": solver, "instance": name, "objective": cost, "seconds": seconds,
            "hardware": "RTX 3090", "source": "NRS_Survey",
        }  # fmt: skip


def trace(text: str, solver: str, instance: str) -> Iterator[dict[str, Any]]:
    """Yield the last cost of a trace, with the seconds at which it was found."""
    points = [line.split(";") for line in text.splitlines() if re.match(r"[\d.]+;[\d.]+", line)]
    if points:
        seconds, cost = points[-1][:2]
        yield {"problem": "vrp", "solver": solver, "instance": instance, "objective": cost, "seconds": seconds, "source": "trace"}


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("form", choices=["pyvrp", "pyjobshop", "survey", "trace"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--names", type=Path, help="for pyjobshop")
    for name in ("problem", "solver", "instance", "hardware", "date", "source"):
        parser.add_argument(f"--{name}", default="", help="a value for all rows")
    args = parser.parse_args()
    text = args.file.read_text(encoding="utf-8")
    if args.form == "pyvrp":
        rows = pyvrp(text)
    elif args.form == "pyjobshop":
        names = {row["number"]: row["name"] for row in csv.DictReader(args.names.open(newline=""))}
        rows = pyjobshop(csv.DictReader(text.splitlines()), names)
    elif args.form == "survey":
        rows = survey(text, args.problem, args.solver)
    else:
        rows = trace(text, args.solver, args.instance)
    given = {name: getattr(args, name) for name in ("hardware", "date", "source") if getattr(args, name)}
    with args.out.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row | given for row in rows)


if __name__ == "__main__":
    sys.exit(main())
