"""What the MILP solvers' tables are made with: `python tests/studies/milp_rules.py reading`, `tableau`, `rules`, `table FILE...`.

reading: milliseconds of processor time a node in which SCIP's LP becomes arrays, on generated set cover, as CSV: by kernels with
    and without edges, and by PySCIPOpt's own representation, as the lists that it returns and as the same arrays. Medians over
    nodes; `differences` counts arrays that are not equal to the last bit.
tableau: how the measures of the simplex tableau (solvers/milp/scip/tableau.py) rank the candidates of a node, as CSV: Spearman's
    correlations with strong branching's gains, each of its direction, means over nodes; milliseconds of eight candidates.
rules: whole solves by several solvers, appended to a CSV file that a later call goes on with (milp_comparison.py), in the setting
    of Gasse et al. (cuts at the root only, no restarts) or with SCIP's defaults. A solver may have options: NAME:KEY=VALUE.
    So were made the files of instances/milp/results, but for gnn*.csv.
table: shifted geometric means of such files, after checking that all solvers found the same optima; with --base every instance.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyscipopt
from milp_comparison import FAMILIES
from scipy.stats import spearmanr

from corl.problems.milp.instance import MilpInstance
from corl.problems.milp.problem import Milp
from corl.run import Run
from corl.solvers.milp.branching.network import BranchingNetwork
from corl.solvers.milp.imitation.teacher import strong_branching
from corl.solvers.milp.scip import MEASURING, lp_reading
from corl.solvers.milp.scip.model import Callbacks, fill
from corl.solvers.milp.scip.recorder import Recorder, record
from corl.solvers.milp.scip.rule import Observation, Rule
from corl.solvers.milp.scip.tableau import Tableau, tableau_lines

__all__ = ["main", "reading_times", "solver_of"]


class _Stopwatch:
    """Reads the LP of every node in each of the ways, and leaves branching to SCIP."""

    def __init__(self) -> None:
        self.times: list[list[float]] = []
        self.differences = 0

    def __call__(self, node: Observation) -> int:
        model, reader = node.model, lp_reading.LpReader(node.model)
        ways: list[Callable[[], Any]] = [
            reader.read, lambda: reader.read(edges=False), model.getBipartiteGraphRepresentation,
            lambda: lp_reading.builtin_graph(model),
        ]  # fmt: skip
        found, line = [], []
        for way in ways:
            began = time.process_time()
            found.append(way())
            line.append(1e3 * (time.process_time() - began))
        self.times.append(line)
        self.differences += sum(not np.array_equal(one, two, equal_nan=True) for one, two in zip(found[0], found[3]))
        return -1


def reading_times(instance: MilpInstance, nodes: int) -> tuple[np.ndarray, int]:
    """Milliseconds [nodes seen, 4] of the four ways above, and how many arrays differed."""
    model = pyscipopt.Model()
    model.hideOutput()
    fill(model, instance)
    for name, value in {"limits/nodes": nodes, "separating/maxrounds": 0, "presolving/maxrestarts": 0}.items():
        model.setParam(name, value)
    watch, callbacks = _Stopwatch(), Callbacks(model)
    model.includeBranchrule(Rule(model, callbacks, watch), "corl_stopwatch", "measures", MEASURING, -1, 1.0)
    try:
        model.optimize()
    finally:
        model.freeProb()
    if callbacks.error is not None:
        raise callbacks.error
    return np.array(watch.times[1:]).reshape(-1, 4), watch.differences  # the first one compiled and compared


def _reading(given: argparse.Namespace) -> None:
    from corl.problems.milp.generators import set_cover

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["instance", "nodes", "kernels", "kernels_no_edges", "builtin_lists", "builtin_arrays", "differences"])
    for seed in range(given.seed, given.seed + given.instances):
        instance = set_cover(seed=seed)
        times, differences = reading_times(instance, given.nodes)
        if len(times):
            medians = (f"{x:.3f}" for x in np.median(times, 0))
            writer.writerow([instance.name, len(times), *medians, differences])
            sys.stdout.flush()


class _Ranks:
    """At every `every`-th node compares the tableau of 40 candidates with strong branching, and leaves branching to SCIP."""

    def __init__(self, every: int) -> None:
        self.every, self.nodes = every, 0
        self.lines: list[list[float]] = []
        self.random = np.random.default_rng(0)

    def __call__(self, node: Observation) -> int:
        self.nodes += 1
        if self.nodes % self.every or len(node.candidates) < 4:
            return -1
        slots = self.random.permutation(len(node.candidates))[:40]
        seen, milliseconds = np.zeros((len(node.candidates), len(Tableau))), 0.0
        for some in (slots[:8], slots[:8], slots):  # the first call of all compiles
            began = time.process_time()
            if not tableau_lines(node.pointer, node.candidates, some, seen):
                return -1
            milliseconds = 1e3 * (time.process_time() - began) if len(some) <= 8 else milliseconds
        gains = strong_branching(node.model, [node.variables[slot] for slot in slots])
        if gains is not None:
            gains = np.where(np.isfinite(gains), gains, gains[np.isfinite(gains)].max(initial=0.0))
            firsts = (Tableau.LENGTH_DOWN, Tableau.LENGTH_UP)
            ranks = [spearmanr(seen[slots, firsts[up] + k], gains[:, up]).statistic for k in range(3) for up in range(2)]
            self.lines.append([*ranks, milliseconds])
        return -1


def _tableau(given: argparse.Namespace) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    names = [f"{name}_{way}" for name in ("length", "cost", "penalty") for way in ("down", "up")]
    writer.writerow(["instance", "nodes", *names, "milliseconds"])
    for seed in range(given.seed, given.seed + given.instances):
        instance, ranks = FAMILIES[given.family](seed), _Ranks(given.every)
        run = Run(Milp().with_sense_of(instance), instance, seed=0, iterations=given.nodes * given.every)
        run.start()
        record(instance, run, ranks, Recorder(BranchingNetwork()))
        if ranks.lines:
            writer.writerow([instance.name, len(ranks.lines), *(f"{x:.3f}" for x in np.nanmean(np.array(ranks.lines), axis=0))])
            sys.stdout.flush()


def solver_of(text: str) -> Any:
    """NAME[:KEY=VALUE...]"""
    from corl import options, registry
    from corl.errors import UsageError

    name, *given = text.split(":")
    if not all("=" in one for one in given):
        raise UsageError(f"{text!r}: accepted: NAME[:KEY=VALUE...]")
    return options.build(registry.solver("milp", name), dict(one.split("=", 1) for one in given))


def _rules(given: argparse.Namespace) -> None:
    from milp_comparison import compare

    solvers: dict[str, Any] = {}
    for text in given.solvers.split(","):
        policy = f":policy={given.policy}" if given.policy and text == "learned-branching" else ""
        solvers[text] = solver_of(f"{text}{policy}{'' if given.defaults else ':root_cuts=true'}")
    if given.files is None:
        instances: list[Any] = list(range(given.first, given.first + given.instances))
        compare(given.output, given.family, solvers, instances, range(given.seeds), given.time_limit)
        return
    left_out = set(given.without.split(","))
    paths = sorted(path for path in given.files.glob("*.mps*") if path.name.split(".")[0] not in left_out)
    compare(given.output, given.family, solvers, paths, range(given.seeds), given.time_limit, Milp().read)


def _table(given: argparse.Namespace) -> None:
    from milp_comparison import by_instance, table

    lines = by_instance(given.files, given.base) if given.base else table(given.files)
    writer = csv.DictWriter(sys.stdout, list(lines[0]) if lines else ["family"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    reading = commands.add_parser("reading", help="the LP as arrays")
    reading.set_defaults(run=_reading)
    for name, default, help_text in (("instances", 3, "how many"), ("nodes", 100, "of each"), ("seed", 0, "of the first")):
        reading.add_argument(f"--{name}", type=int, default=default, help=help_text)
    tableau = commands.add_parser("tableau", help="the simplex tableau beside strong branching")
    tableau.set_defaults(run=_tableau)
    tableau.add_argument("family", choices=sorted(FAMILIES))
    for name, default, help_text in (("instances", 2, "how many"), ("nodes", 12, "compared"), ("every", 6, "one of so many")):
        tableau.add_argument(f"--{name}", type=int, default=default, help=help_text)
    tableau.add_argument("--seed", type=int, default=600_000, help="of the first")
    rules = commands.add_parser("rules", help="branching rules beside each other")
    rules.set_defaults(run=_rules)
    rules.add_argument("family", help=f"{', '.join(FAMILIES)}, or with --files any name")
    rules.add_argument("--files", type=Path, default=None, help="a folder with .mps and .mps.gz files, not generated ones")
    rules.add_argument("--without", default="", help="names of such files that are left out, with commas")
    rules.add_argument("--output", type=Path, required=True, help="CSV file; what is in it is not done again")
    rules.add_argument("--solvers", default="scip-relpscost,scip-pscost,learned-branching", help="NAME[:KEY=VALUE...],...")
    for name, default, help_text in (("instances", 20, "how many"), ("first", 0, "first seed"), ("seeds", 3, "of SCIP")):
        rules.add_argument(f"--{name}", type=int, default=default, help=help_text)
    rules.add_argument("--policy", default="", help="of learned-branching; by default that of the family")
    rules.add_argument("--defaults", action="store_true", help="SCIP's own settings of cuts and restarts")
    rules.add_argument("--time-limit", type=float, default=None, help="processor seconds of one solve")
    table = commands.add_parser("table", help="means of files of rules")
    table.set_defaults(run=_table)
    table.add_argument("files", nargs="+", type=Path)
    table.add_argument("--base", default="", help="instead: every instance, and ratios to this solver; limits count as they are")
    given = parser.parse_args()
    if given.run is _rules and given.files is None and given.family not in FAMILIES:
        parser.error(f"family: {given.family!r}; accepted: {', '.join(FAMILIES)}, or a name of --files")
    given.run(given)


if __name__ == "__main__":
    main()
