"""Suite: the definition of a benchmark, read from a TOML file.

problem = "tsp"
time_limits = [1, 10]                   # or iterations = [1000]
time_limit_per = "clients"              # optional: limits are multiplied by this fact of an instance (`corl info`)
seeds = 3                               # their number (0, 1, 2), or a list

[[instances]]
files = ["uniform-*.tsp"]               # relative to the suite's folder, unless `folder` is given
folder = "CORL_DATA"                    # an environment variable with a folder; if it is not set, this table is skipped
prefix = "A/"                           # of the labels, where two sets have files of the same names
exclude = ["uniform-7"]                 # labels: names of files without their ending
where = { dimension = [100, 2000] }     # ranges, or values, of the facts that `corl info` prints
limit = 10                              # only the first 10 instances
reference = { file = "reference.csv" }  # or lines NAME : VALUE, an array (.npz), bounds in JSON; or values = { NAME = VALUE }
# reference = { beside = ".sol", scale = 0.1 }  # the cost that the file beside each instance states, times `scale`
# reference = { beside = ".sol", pattern = ["Cost (\\d+)$", "Miles (\\d+)"], scale = [1, 1.6] }  # the first pattern that fits

[[instances]]
generate = "uniform"
parameters = { size = [100, 1000] }     # one instance for each value in a list
seeds = [1, 2]

[[instances]]
arrays = "uniform500.npz"               # one instance per row
key = "coords"

[[solvers]]
solver = "eax"
label = "eax-30"                        # default: the solver's name
options = { population = 30 }           # or an option file, as corl tune writes it: "mine.toml"
cores = 1                               # processors per run, by default 1
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corl import options, registry
from corl.adapter import Problem
from corl.benchmark.peers.definition import Peer
from corl.benchmark.peers.solver import ExternalSolver
from corl.benchmark.running.sampling import stratified
from corl.benchmark.running.sources import SuiteInstance, read_sources
from corl.errors import InputError, UsageError, hint, unknown
from corl.fields import Array, Flag, Integer, Number, Worded
from corl.files.option_files import options_for
from corl.files.toml_tables import Table, read_toml

__all__ = ["Lineup", "Suite", "read_suite"]

_SETUP_ALLOWANCE = 120.0  # seconds for imports, compilation and the end of a run
_ITERATION_RUN_LIMIT = 3600.0  # seconds that a run with a limit of iterations may take


@dataclass(frozen=True)
class Lineup:
    """A solver with its options, under a label."""

    label: str
    solver: str
    options: Mapping[str, Any]
    cores: int = 1
    """The number of processors that a run is pinned to, and the argument `workers` of `corl.solve`."""
    limit_free: bool = False
    """Whether the trace of one run with the longest time limit has the results of all shorter limits (Solver.limit_free)."""
    external: ExternalSolver | None = None
    """The solver itself if it is a program; `solver` is then its name."""
    held: str | None = None
    """Of a program: "", or why it does not count as held against its published figures; None for solvers of corl."""


@dataclass(frozen=True)
class Suite:
    """The runs to compare: solvers x instances x seeds x limits."""

    name: str
    title: str
    file: Path
    problem: Problem
    sources: tuple[SuiteInstance, ...]
    """The instances, each loaded when it is needed."""
    lineups: tuple[Lineup, ...]
    """The solvers with their options."""
    time_limits: tuple[float, ...]
    """Ascending; empty if `iterations` is given."""
    iterations: tuple[int, ...]
    """Ascending; empty if `time_limits` is given."""
    seeds: tuple[int, ...]
    setup_allowance: float = _SETUP_ALLOWANCE
    """Seconds for imports, compilation and the end of a run, which `hard_limit` adds."""
    patience: float = _ITERATION_RUN_LIMIT
    """Seconds that a run with a limit of iterations may take, besides `setup_allowance`."""
    time_limit_per: str = ""
    """The fact of an instance that its time limits are multiplied by; "" for none."""
    keep_solutions: bool = True
    """Whether the store gets the solutions."""
    notices: tuple[str, ...] = ()
    """Notices about skipped parts, with the reasons."""

    @property
    def store(self) -> str:
        """The default file name of the suite's store: "tsp-smoke.db" for a shipped suite, "mine.db" for a user's mine.toml."""
        shipped = self.file.resolve().is_relative_to(_shipped_folder().resolve())
        return f"{self.name if shipped else self.file.stem}.db"

    def with_changes(self, solvers: list[str] | None, time_limits: list[float] | None, seeds: int | None) -> Suite:
        """Return the suite with other solvers, time limits or seeds; None leaves a part unchanged.

        Args:
            solvers: Labels of the suite, or names of registered solvers, which are added with their default options.
            time_limits: Seconds; they replace the limits of iterations as well.
            seeds: The number of seeds: the first of the suite's, then the smallest that the suite does not have.
        """
        changed = self
        if solvers:
            own = {lineup.label: lineup for lineup in self.lineups}
            lineups = tuple(own.get(name) or _registered(self.problem, name, list(own)) for name in dict.fromkeys(solvers))
            changed = replace(changed, lineups=lineups)
        if time_limits:
            changed = replace(changed, time_limits=tuple(sorted(set(time_limits))), iterations=())
        if seeds is not None:
            changed = replace(changed, seeds=(*self.seeds[:seeds], *_unused_seeds(self.seeds, seeds - len(self.seeds))))
        return changed

    def sampled(self, count: int | None) -> Suite:
        """Return the suite with a stratified sample of `count` instances, None for all, in the order of `sampling.stratified`."""
        ordered = stratified(self.sources)
        if count is not None and count > len(ordered):
            raise UsageError(f"--sample: {count} is not accepted; the suite has {len(ordered)} instances")
        return replace(self, sources=ordered[:count])

    def with_peers(self, peers: Mapping[str, Peer], held: Mapping[str, str]) -> Suite:
        """Return the suite with those peers of its problem that can be run here, and a notice for each that cannot.

        Args:
            peers: Name -> peer.
            held: Name -> "", or why the peer does not count as held against its published figures.

        Raises:
            UsageError: A peer has the name of one of the suite's solvers.
        """
        own = {name: peer for name, peer in peers.items() if peer.solver.problem == self.problem.name}
        for name in {lineup.label for lineup in self.lineups} & own.keys():
            raise UsageError(f"--peers: {own[name].file} has the name {name!r} of a solver of the suite; accepted: another name")
        skipped = tuple(f"{name} skipped: {reason}" for name, peer in own.items() if (reason := peer.unavailable))
        lineups = tuple(
            Lineup(name, name, options.values(peer.solver), peer.cores, external=peer.solver, held=held[name])
            for name, peer in own.items()
            if not peer.unavailable
        )
        return replace(self, lineups=self.lineups + lineups, notices=self.notices + skipped)

    def with_option_file(self, path: Path) -> Suite:
        """Return the suite with a further solver, that of an option file, labelled by the file's name. Raises InputError."""
        found = options_for(path, self.problem.name, "auto")
        if path.stem in (lineup.label for lineup in self.lineups):
            raise InputError(f"the suite has a solver {path.stem!r} already; accepted: another name of the file", file=str(path))
        return replace(self, lineups=(*self.lineups, _lineup(self.problem, path.stem, found.solver, found.options)))

    def hard_limit(self, lineup: Lineup, time_limit: float | None) -> float:
        """Return the seconds after which the process of a run is killed."""
        if time_limit is None:
            return self.setup_allowance + self.patience
        longest = 2 * time_limit
        return self.setup_allowance + max(longest, lineup.external.kill_after(time_limit) if lineup.external else 0.0)

    def definition(self) -> dict[str, Any]:
        """Return the JSON values that the store keeps: a resumed benchmark compares them, and the report uses them."""
        return {
            "problem": self.problem.name,
            "title": self.title,
            "solvers": {
                lineup.label: {"solver": lineup.solver, "options": dict(lineup.options), "cores": lineup.cores}
                | ({} if lineup.held is None else {"held": lineup.held})
                for lineup in self.lineups
            },
            "instances": {source.label: {"group": source.group, "origin": source.origin} for source in self.sources},
            "time_limits": list(self.time_limits),
            **({"time_limit_per": self.time_limit_per} if self.time_limit_per else {}),
            "iterations": list(self.iterations),
            "seeds": list(self.seeds),
            "left_out": list(self.notices),
        }


def _shipped_folder() -> Path:
    return Path(str(resources.files("corl.instances")))


def read_suite(name: str | os.PathLike[str]) -> Suite:
    """Return the suite in a TOML file, or a shipped suite by its name, such as "tsp/smoke". Raises InputError."""
    path, shipped = Path(name), _shipped_folder()
    if str(name) and not path.exists() and not path.suffix:
        path = shipped / f"{name}.toml"
        if str(name).count("/") != 1 or not path.is_file():
            near = hint(str(name), [f"{file.parent.name}/{file.stem}" for file in shipped.glob("*/*.toml")])
            raise InputError(f"neither a file nor a shipped suite; {_shipped(shipped, str(name))}{near}", file=str(name))
    table = read_toml(path)
    problem = _problem(table)
    notices: list[str] = []
    suite = Suite(
        name=table.text("name", f"{problem.name}-{path.stem}"),
        title=table.text("title"),
        file=path,
        problem=problem,
        sources=tuple(_sources(table, problem, path.parent, notices)),
        lineups=tuple(_lineups(table, problem, path.parent, notices)),
        time_limits=_limits(table),
        iterations=_iterations(table),
        seeds=tuple(table.seeds("seeds", [0])),
        setup_allowance=table.number("setup_allowance", _SETUP_ALLOWANCE),
        patience=table.number("patience", _ITERATION_RUN_LIMIT),
        time_limit_per=table.text("time_limit_per"),
        keep_solutions=table.take("keep_solutions", Flag(), True),
        notices=tuple(notices),
    )
    table.close()
    if bool(suite.time_limits) == bool(suite.iterations):
        raise table.error("time_limits", "accepted: either time_limits or iterations")
    if not suite.sources:
        raise table.error("instances", f"all are skipped: {'; '.join(notices)}")
    if not suite.lineups:
        raise table.error("solvers", f"all are skipped: {'; '.join(notices)}")
    return suite


def _problem(table: Table) -> Problem:
    name = table.text("problem")
    if not name:
        raise table.error("problem", f"missing; accepted: {', '.join(registry.problems())}")
    try:
        return registry.problem(name)
    except UsageError as error:
        raise table.error("problem", str(error)) from error


def _sources(table: Table, problem: Problem, folder: Path, notices: list[str]) -> list[SuiteInstance]:
    sources: dict[str, SuiteInstance] = {}
    for part in table.tables("instances"):
        found, notice = read_sources(part, problem, folder)
        notices += [notice] if notice else []
        for source in found:
            if source.label in sources:
                raise part.error(
                    "", f"two instances are called {source.label!r}: {sources[source.label].origin}, {source.origin}"
                )
            sources[source.label] = source
    return list(sources.values())


def _lineups(table: Table, problem: Problem, folder: Path, notices: list[str]) -> list[Lineup]:
    """Return the solvers whose optional packages are installed; append a notice for each other solver to `notices`."""
    lineups: dict[str, Lineup] = {}
    for part in table.tables("solvers"):
        name = part.text("solver")
        if part.holds_text("options"):
            file = folder / part.text("options")
            found = options_for(file, problem.name, name or "auto")
            name, given, usual_label = found.solver, found.options, file.stem
        else:
            given, usual_label = part.table("options").rest(), name
        cores, label = part.integer("cores", 1), part.text("label", usual_label)
        part.close()
        if "," in label:
            raise part.error("label", f"{label!r} is not accepted; accepted: a text without commas (--solvers a,b)")
        if label in lineups:
            raise part.error("label", f"two solvers are called {label!r}")
        try:
            lineups[label] = _lineup(problem, label, name, given, cores or 1)
        except UsageError as error:
            raise part.error("options" if given else "solver", str(error)) from error
    skipped = {label: package for label, lineup in lineups.items() if (package := _missing_package(problem, lineup.solver))}
    notices += [f"{label} skipped: the package {package} is not installed" for label, package in skipped.items()]
    return [lineup for label, lineup in lineups.items() if label not in skipped]


def _missing_package(problem: Problem, name: str) -> str:
    """Return the first optional package that a solver needs and that is not installed, "" if there is none."""
    needed = () if name == "auto" else getattr(registry.solver(problem.name, name), "requires", ())
    return next((package for package in needed if find_spec(package) is None), "")


def _lineup(problem: Problem, label: str, name: str, given: Mapping[str, Any], cores: int = 1) -> Lineup:
    if name == "auto":  # auto chooses a solver for each instance and limit, so options could not be checked here
        if given:
            raise UsageError("auto has no options of its own; name a solver")
        return Lineup(label, name, given, cores)
    solver = registry.solver(problem.name, name)
    with options.named(name):
        options.build(solver, given)
    return Lineup(label, name, given, cores, getattr(solver, "limit_free", False))


def _registered(problem: Problem, name: str, labels: list[str]) -> Lineup:
    """Return a registered solver with its default options. Raises UsageError; `labels`: those of the suite, for the message."""
    registered = ["auto", *registry.solvers(problem.name)]
    if name not in registered:
        raise UsageError(unknown("--solvers: the suite has no", name, dict.fromkeys([*labels, *registered])))
    if package := _missing_package(problem, name):
        raise UsageError(f"--solvers: {name} needs the package {package}, which is not installed")
    return _lineup(problem, name, name, {})


def _limits(table: Table) -> tuple[float, ...]:
    values = table.take("time_limits", Worded(Array(Number(above=0), 1), "a list of seconds, each above 0"), [])
    return tuple(sorted({float(value) for value in values}))


def _iterations(table: Table) -> tuple[int, ...]:
    values = table.take("iterations", Worded(Array(Integer(1, math.inf), 1), "a list of integers from 1 up"), [])
    return tuple(sorted(set(values)))


def _unused_seeds(seeds: tuple[int, ...], count: int) -> list[int]:
    """Return `count` seeds that are not among `seeds`."""
    return [seed for seed in range(len(seeds) + max(0, count)) if seed not in seeds][: max(0, count)]


def _shipped(folder: Path, name: str) -> str:
    """Return a text that lists the shipped suites of the problem in `name`, or the problems with suites if it has none."""
    problem = name.partition("/")[0]
    files = sorted(folder.glob("*/*.toml"))
    own = [f"{problem}/{file.stem}" for file in files if file.parent.name == problem]
    if own:
        return f"shipped are: {', '.join(own)}"
    return f"there are suites of {', '.join(sorted({file.parent.name for file in files}))} (corl list suites)"
