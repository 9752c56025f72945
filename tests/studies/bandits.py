"""What policies earn on generated instances, all in one process (where `corl bench` starts one for each run).

    python tests/studies/bandits.py --solvers myopic,fluid --output instances/bandits/results/policies.csv
    python tests/studies/bandits.py --table instances/bandits/results/policies.csv

The first appends a row for each instance and solver, and leaves out those that are there. Solvers may have options:
"sequoia:base=fluid", "policy:policy=FILE". Seconds are of the processor, with what is learned in them. The second prints the
table: means over instances with 95 % intervals of the lead over myopic in per cent (paired), and the gap to the fluid bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from run_table import RunTable, rows_of

from corl import options, registry
from corl.problems.bandits.instance import BanditInstance
from corl.run import Run
from corl.solvers.bandits.policies.fluid_relaxation import solve_fluid
from corl.statistics import sample_mean

__all__ = ["main", "measure", "table"]

_FIELDS = ("kind", "arms", "pulls", "instance", "solver", "objective", "bound", "seconds")
_PULLS = {20: 5, 40: 10, 100: 20}
_FEWER = {"count": 15, "pulls": 7}  # interventions on more than 20 arms: all 16,384 sets can be listed


def measure(kinds: list[str], arms: int, seeds: range, solvers: list[str], output: Path) -> None:
    """Append rows to `output`; episodes' luck is the instance's own, solvers have seed 0 and no time limit."""
    problem = registry.problem("bandits")
    known = RunTable(output, _FIELDS, ("kind", "arms", "instance", "solver"))
    prepared: set[tuple[str, str]] = set()
    for seed in seeds:
        for kind in kinds:
            instance, bound = _instance(problem, kind, arms, seed), None
            for label in solvers:
                row = {"kind": kind, "arms": arms, "pulls": _pulls(kind, arms), "instance": seed, "solver": label}
                solver = _solver(label)
                if known.has(kind, arms, seed, label) or solver.accepts(instance):
                    continue
                if (kind, label) not in prepared:
                    solver.prepare(instance)
                    prepared.add((kind, label))
                bound = bound if bound is not None else solve_fluid(instance).bound
                run, begun = Run(problem, instance), process_time()
                run.start()
                solver.solve(instance, run)
                seconds = round(process_time() - begun, 3)
                known.append(row | {"objective": run.objective, "bound": bound, "seconds": seconds})


def table(file: Path) -> Iterator[str]:
    """Lines of Markdown: a row for each solver, a column for each kind and size."""
    rows = rows_of(file)
    groups = list(dict.fromkeys((row["kind"], row["arms"]) for row in rows))
    yield "| solver | " + " | ".join(f"{kind}, {arms} arms" for kind, arms in groups) + " |"
    yield "|---" * (len(groups) + 1) + "|"
    for solver in dict.fromkeys(row["solver"] for row in rows):
        cells = [_cell([row for row in rows if (row["kind"], row["arms"]) == group], solver) for group in groups]
        yield f"| {solver} | " + " | ".join(cells) + " |"


def _cell(rows: list[dict[str, str]], solver: str) -> str:
    mine = {row["instance"]: row for row in rows if row["solver"] == solver}
    base = {row["instance"]: float(row["objective"]) for row in rows if row["solver"] == "myopic"}
    if not mine:
        return ""
    values = np.array([float(row["objective"]) for row in mine.values()])
    gaps = np.array([1.0 - float(row["objective"]) / float(row["bound"]) for row in mine.values()])
    leads = np.array([100.0 * (float(row["objective"]) / base[key] - 1.0) for key, row in mine.items() if key in base])
    seconds = np.mean([float(row["seconds"]) for row in mine.values()])
    lead = f", {leads.mean():+.1f} ± {sample_mean(leads).half:.1f} %" if len(leads) > 1 and solver != "myopic" else ""
    return f"{values.mean():.2f}{lead}, gap {100 * gaps.mean():.1f} %, {seconds:.1f} s, n = {len(mine)}"


def _instance(problem: Any, kind: str, arms: int, seed: int) -> BanditInstance:
    given = {"arms": arms, "pulls": _pulls(kind, arms), "seed": seed}
    if kind == "interventions" and arms > 20:
        given["count"] = _FEWER["count"]
    return problem.generators[kind](**given)  # type: ignore[no-any-return]


def _pulls(kind: str, arms: int) -> int:
    return _FEWER["pulls"] if kind == "interventions" and arms > 20 else _PULLS.get(arms, max(1, arms // 4))


def _solver(label: str) -> Any:
    name, _, given = label.partition(":")
    return options.build(registry.solver("bandits", name), options.parse_pairs([each for each in given.split("+") if each]))


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python tests/studies/bandits.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", default="capacity,scheduling,routing,interventions,budget")
    parser.add_argument("--arms", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the seed of the first instance")
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--solvers", default="myopic,two-step,whittle,fluid,rollout,null,random")
    parser.add_argument("--output", type=Path, default=Path("rows.csv"))
    parser.add_argument("--table", type=Path)
    args = parser.parse_args(arguments)
    if args.table is None:
        seeds = range(args.first, args.first + args.instances)
        measure(args.kinds.split(","), args.arms, seeds, args.solvers.split(","), args.output)
    print("\n".join(table(args.table or args.output)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
