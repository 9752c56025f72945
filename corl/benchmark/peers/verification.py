"""Verification of peers: each is run on its published instances, and the outcome is stored beside the peers' files.

A peer counts as held against its published figures if it has at least three of them and reproduced all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corl import registry
from corl.benchmark.peers.definition import Peer, Published
from corl.benchmark.running.judge import judged
from corl.benchmark.running.plan import load, planned_runs
from corl.benchmark.running.process import run_process
from corl.benchmark.running.runner import task_of
from corl.benchmark.running.sources import SuiteInstance
from corl.benchmark.running.suite import Lineup, Suite
from corl.errors import CorlError, InputError, UsageError
from corl.files.json_values import from_json, to_json
from corl.files.opening import replacing
from corl.formatting import value
from corl.record import Record

__all__ = ["FEWEST", "FILE", "Check", "held", "verify"]

FILE = "verified.json"
"""The file beside the peers' files with the outcomes."""
FEWEST = 3
"""The number of published figures that a peer must reproduce."""
_SEED = 1
_NOT = "not held against its published figure"


@dataclass(frozen=True)
class Check:
    """One published figure, and the run that was to reproduce it."""

    instance: str
    published: float
    tolerance_percent: float
    published_seconds: float | None
    hardware: str
    source: str
    limit: float
    objective: float | None
    """The objective value of the run; None if it failed."""
    reason: str
    """Why there is no objective value."""
    runtime: float | None
    """Wall seconds of the program."""
    cpu_seconds: float | None
    """Processor seconds of the program."""
    reproduced: bool

    def __str__(self) -> str:
        found = value(self.objective) if self.objective is not None else f"no solution ({self.reason})"
        verdict = "reproduced" if self.reproduced else "not reproduced"
        where = ", ".join(text for text in (self.hardware, self.source) if text)
        published = f"published {value(self.published)}" + (f" ({where})" if where else "")
        return f"{self.instance}, {self.limit:g} s: {found}, {published}, tolerance {self.tolerance_percent:g} %: {verdict}"


def verify(peers: Mapping[str, Peer], folder: Path, say: Callable[[str], None] = lambda text: None) -> dict[str, str]:
    """Run peers on their published instances, one after the other, and store the outcomes in `folder`.

    Args:
        peers: Name -> peer. One that cannot be run here is skipped, and its stored outcome is kept.
        folder: The folder of the peers' files.
        say: Called with a line for each run.

    Returns:
        Name -> "" if the peer counts as held, otherwise the reason.
    """
    stored = _stored(folder)
    found = {}
    for name, peer in peers.items():
        if reason := peer.unavailable:
            say(f"{name} skipped: {reason}")
            found[name] = f"{_NOT} ({reason})"
            continue
        checks: list[Check] = []
        record: Record | None = None
        for check, of_check in _checks(peer):
            say(f"{name} on {check}")
            checks.append(check)
            record = of_check or record
        stored[name] = {
            "definition": peer.digest,
            "date": record.started if record else "",
            "machine": dict(record.machine) if record else {},
            "commit": record.commit if record else "",
            "checks": [asdict(check) for check in checks],
        }
        with replacing(folder / FILE) as partial:
            partial.write_text(to_json(stored) + "\n", encoding="utf-8")
        found[name] = _verdict(peer, stored[name])
        say(f"{name}: {found[name] or 'held against its published figures'}")
    return found


def held(peers: Mapping[str, Peer], folder: Path) -> dict[str, str]:
    """Return name -> "" for a peer that counts as held against its published figures, otherwise the reason."""
    stored = _stored(folder)
    return {name: _verdict(peer, stored.get(name)) for name, peer in peers.items()}


def _verdict(peer: Peer, outcome: Any) -> str:
    """Return "" or the reason why a peer does not count as held; `outcome`: its entry in the file, or None."""
    if len(peer.published) < FEWEST:
        return f"{_NOT} (its file has {len(peer.published)} of {FEWEST} figures)"
    if not isinstance(outcome, Mapping) or not outcome.get("checks"):
        return f"{_NOT} (not tried; corl bench --peers FOLDER --verify)"
    if outcome.get("definition") != peer.digest:
        return f"{_NOT} (its file has changed since it was tried)"
    good = sum(check.get("reproduced") is True for check in outcome["checks"])
    count = len(peer.published)
    return "" if good == count else f"{_NOT} ({good} of {count} reproduced on {str(outcome.get('date'))[:10]})"


def _stored(folder: Path) -> dict[str, Any]:
    file = folder / FILE
    if not file.exists():
        return {}
    try:
        values = from_json(file.read_text(encoding="utf-8"), file=str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=str(file)) from error
    if not isinstance(values, dict):
        raise InputError("accepted: an object as written by corl bench --verify", file=str(file))
    return values


def _checks(peer: Peer) -> Iterator[tuple[Check, Record | None]]:
    """Run a peer on the instance of each of its published figures; the Record is None if the instance is not available."""
    for figure in peer.published:
        try:
            record, reason = _run(peer, figure), ""
        except (CorlError, OSError) as error:
            record, reason = None, str(error)
        objective = record.objective if record is not None and record.outcome == "ok" else None
        yield (
            Check(
                instance=Path(figure.file).stem,
                published=figure.objective,
                tolerance_percent=figure.tolerance_percent,
                published_seconds=figure.seconds,
                hardware=figure.hardware,
                source=figure.source,
                limit=figure.limit,
                objective=objective,
                reason=record.reason if record is not None else reason,
                runtime=record.runtime if record is not None else None,
                cpu_seconds=record.facts.get("program_cpu_seconds") if record is not None else None,
                reproduced=objective is not None and record is not None and figure.reproduced_by(objective, record.sense),
            ),
            record,
        )


def _run(peer: Peer, figure: Published) -> Record:
    """Run a peer on an instance, in a process of a benchmark. Raises UsageError and InputError for the instance."""
    problem = registry.problem(peer.solver.problem)
    path = figure.path(peer.file.parent)
    if not os.path.exists(path):
        raise UsageError(f"there is no file {path}")
    source = SuiteInstance(Path(figure.file).stem, "published", path.name, lambda: problem.read(path))
    lineup = Lineup(peer.name, peer.name, {}, peer.cores, external=peer.solver, held="")
    suite = Suite(
        "verification", "", peer.file, problem, (source,), (lineup,), (figure.limit,), (), (_SEED,), keep_solutions=False
    )
    (plan,) = planned_runs(suite)
    loaded = load(suite, source)
    ended = run_process(task_of(suite, plan), peer.cores, suite.hard_limit(lineup, plan.time_limit))
    return judged(suite, plan, loaded, ended, {})
