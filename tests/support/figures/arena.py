"""Headline figures for README and the arena: ours, the strongest program of others run beside it, and what others publish."""

from __future__ import annotations

from typing import NamedTuple

from . import bandits, jobshop, memory, milp, orienteering, tsp, vrp, vrp_strength
from .cells import figure, number, recorded, rows, table

__all__ = ["Headline", "headlines", "table_of_headlines"]


class Headline(NamedTuple):
    """One comparison."""

    problem: str
    """The problem, as the text of a link."""
    page: str
    """The folder of the problem's page."""
    instances: str
    """What was run: how much of which set, the limit, the seeds."""
    ours: str
    beside: str
    """Programs of others that were run beside; "ahead" where one is."""
    published: str = ""
    """What others publish, on their hardware."""
    front: bool = True
    """Whether README has it."""


def headlines() -> list[Headline]:
    """Return all comparisons."""
    return [*_tours(), *_routes(), *_schedules(), *_memory(), *_others()]


def table_of_headlines() -> str:
    """All comparisons, for the arena's page."""
    lines = [[*linked(h, "../../"), h.ours, h.beside, h.published] for h in headlines()]
    return table(["", "instances, limit, seeds", "ours", "run beside it", "published by others"], lines)


def linked(headline: Headline, top: str) -> tuple[str, str]:
    """Return the problem with a link to its page, and the instances with one to their results; `top`: the way to the top."""
    results = headline.page.removesuffix("_static")
    return (
        f"[{headline.problem}]({top}problems/{headline.page}/README.md)",
        f"[{headline.instances}]({top}instances/{results}/results/README.md)",
    )


def _tours() -> list[Headline]:
    at_10k = {each["program"]: each["gap"] for each in rows("tsp/classics", cities=10000)}
    return [
        Headline(
            "TSP", "tsp", "27 instances of 100 to 2,100 cities, 1 s, one seed",
            f"{tsp.symmetric_gap('eax', 3)} % above the reference",
            f"fast-tsp {tsp.symmetric_gap('fast-tsp', 3)} %; LKH and GA-EAX were not run on these",
        ),
        Headline(
            "TSP", "tsp", "E10k.0, 60 s, one run", f"{number(at_10k['corl'], 3)} % above the best known",
            f"LKH 3 with POPMUSIC {number(at_10k['LKH, POPMUSIC'], 3)} %: ahead; linkern {number(at_10k['linkern'], 3)} %",
        ),
    ]  # fmt: skip


def _routes() -> list[Headline]:
    ours, hgs, ahead, count = vrp_strength.beside_hgs(60)
    large = {name: number(gap, 2) for name, gap in vrp_strength.large_means().items()}
    windows = vrp_strength.windows_means()
    cells = recorded("vrp", "published")
    files, reached, _ = orienteering.matched()
    long = vrp_strength.x_long_mean()
    return [
        Headline(
            "vehicle routing", "vrp", "11 of 100 instances of the X set, 60 s, one seed",
            f"{vrp.mean_gap('standard', 'ruin-recreate', 60, 'X')} % above the best known",
            f"PyVRP {vrp.mean_gap('standard', 'pyvrp', 60, 'X')} %",
        ),
        Headline(
            "vehicle routing", "vrp", f"{long[1]} of 100 of the X set, 2.4 processor seconds per client, one seed",
            f"{long[0]} %", "",
            f"all 100, the same time, ten seeds: HGS-CVRP {cells['HGS-CVRP', 'X, 100']} %, "
            f"PyVRP {cells['PyVRP 0.14.0', 'X, 100']} %",
        ),
        Headline(
            "vehicle routing", "vrp", "11 of 100 of the X set, and Leuven1 with 3,000 clients, 60 processor seconds, three seeds",
            f"{ours} %", f"HGS-CVRP {hgs} %, ahead on {ahead or 'none'} of the {count}",
        ),
        Headline(
            "vehicle routing", "vrp", "3,000 and 6,000 clients (2 of 10), 300 processor seconds, one seed",
            f"{large['ruin-recreate']} %", f"FILO2 {large['filo2']} %, AILS-II {large['ails2']} %: both ahead",
        ),
        Headline(
            "time windows", "vrp", "6 of 60 with 1,000 clients, 60 processor seconds, three seeds",
            f"{windows[0]} %", f"PyVRP {windows[1]} %, ahead on RC2",
            f"all 60, 2 h, ten seeds: HGS-DIMACS {cells['HGS-DIMACS', 'Gehring and Homberger, 60']} %, "
            f"PyVRP {cells['PyVRP 0.14.0', 'Gehring and Homberger, 60']} %",
        ),
        Headline(
            "orienteering", "orienteering", f"{files} of 344 files of OPLib, the time of EA4OP's run, one seed",
            f"at least EA4OP's score on {reached} files", f"EA4OP, ahead on {files - reached}", front=False,
        ),
    ]  # fmt: skip


def _schedules() -> list[Headline]:
    cells = recorded("jobshop", "published")
    engines = ("OptalCP 2026.4", "CP-SAT 9.15", "CP Optimizer 22.1.1")
    gaps = [cells[name, "12 of Taillard and Demirkol"] for name in engines]
    shops = [jobshop.suite_gap("standard", solver, 60) for solver in ("tabu", "cp-sat")]
    whole, selected = recorded("flowshop", "published, all instances"), recorded("flowshop", "published, standard")
    return [
        Headline(
            "job shop", "jobshop", "12 of 160 instances of Taillard and Demirkol, 60 s, one seed",
            f"{shops[0]} % above the best known", f"CP-SAT {shops[1]} % on the same core",
            f"the same 12, 600 s on four cores, with bounds: OptalCP {gaps[0]} %, CP-SAT {gaps[1]} %, CP Optimizer {gaps[2]} %",
        ),
        Headline(
            "flow shop", "flowshop", "24 of 120 instances, 20 s, one seed",
            f"{figure('flowshop/standard', 'mean_gap_percent', 2, group='all', time_limit=20)} %",
            "no other iterated greedy or beam search was run",
            f"the same 24, 900 s on eight cores: CP Optimizer {selected['all', 'CP Optimizer']} %, CP-SAT "
            f"{selected['all', 'CP-SAT']} % (all 120: {whole['makespan', 'CP Optimizer']} and {whole['makespan', 'CP-SAT']})",
            front=False,
        ),
    ]  # fmt: skip


def _memory() -> list[Headline]:
    return [
        Headline(
            "static allocation", "memory_static", "minimalloc's 11 challenging instances, one run, processor seconds",
            f"all solved, {memory.static_seconds('branch-and-bound')} s together (compiled before)",
            f"minimalloc {memory.static_seconds('minimalloc')} s; idealloc was not run",
        ),
        Headline(
            "memory mapping", "memory", "32 pairs of a program and a memory (our own; no public set exists), 1 s",
            f"{memory.above_bound('annealing')} % above the bound",
            f"our version of the rules of XLA's compiler, tuned, {memory.above_bound('xla-like tuned')} %",
        ),
    ]  # fmt: skip


def _others() -> list[Headline]:
    learned, pscost = zip(*(milp.ratios(family)[:2] for family in ("auctions", "set-cover", "independent-set")), strict=True)
    with_defaults = [milp.of_defaults(family) for family in ("auctions", "set-cover", "independent-set")]
    gaps = sorted(bandits.fluid_gaps(), key=float)
    return [
        Headline(
            "auctions, set cover, independent set", "milp", "20 programs of each, three seeds, SCIP's default settings",
            f"learned branching: {', '.join(with_defaults)} of SCIP's time", "SCIP 1",
        ),
        Headline(
            "the same", "milp", "20 programs of each, three seeds, cuts only at the root, no restarts (Gasse et al.)",
            f"learned branching: {', '.join(learned)} of the time of SCIP's relpscost", f"SCIP's pscost {', '.join(pscost)}",
        ),
        Headline(
            "restless bandits", "bandits", "five kinds, ten generated instances each",
            f"{gaps[0]} to {gaps[-1]} % below the bound",
            "Whittle's index, ours; the programs of other authors were not run", front=False,
        ),
    ]  # fmt: skip
