"""`corl.dispatcher`: a policy in the user's own loop. It is told events and asked for decisions; its state can be saved."""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from corl import options, registry
from corl.adapter import Problem
from corl.entry_points import load as load_entry
from corl.errors import CorlError, InputError, SolverError, UsageError, shown, unknown
from corl.fields import Anything, Constant, Either, Integer, Null, Number, Object, String, Table
from corl.files.json_instances import Field, plain, read_object
from corl.files.json_values import from_json
from corl.files.opening import reading, replacing
from corl.files.text import Text
from corl.loading import load as load_instance
from corl.online.stream import Decision, Event, OnlinePolicy, Seeds, Stream

__all__ = ["GROUP", "Dispatcher", "dispatcher", "load", "named_policy", "policy_class"]

GROUP = "corl.online"
"""The group of entry points of online policies: PROBLEM.NAME, or stream.NAME for every problem that is revealed over time."""
_FORMAT = 1  # version of the files that `Dispatcher.save` writes
_SAVED = Object(
    {
        "format": Constant(_FORMAT),
        "problem": String(),
        "instance": Anything(),
        "policy": String(),
        "options": Table(Anything()),
        "seconds": Number(above=0),
        "seed": Integer(0),
        "time": Either(Number(), Null()),
        "decisions": Integer(0),
        "late": Integer(0),
        "stream": Integer(0),
        "knowledge": Anything(),
    }
)


def dispatcher(
    policy: str | OnlinePolicy,
    instance: Any,
    *,
    problem: str | Problem | None = None,
    seconds: float = 1.0,
    seed: int = 0,
    **policy_options: Any,
) -> Dispatcher:
    """Return a dispatcher at the beginning of a day: a policy with what it knows.

        d = corl.dispatcher("rule", "shop.json")
        for event in events:
            d.observe(event)
            while d.decidable:
                carry_out(d.decide())

    Args:
        policy: A name (`corl list online`), or an OnlinePolicy with its options, which need not be installed.
        instance: An instance, as for `corl.solve`; only its part that is known at the beginning of the day is used.
        problem: The problem's name, or a Problem; None: recognised by the content.
        seconds: The time limit of a decision, in seconds of wall time. A later decision counts (`Dispatcher.late`).
        seed: The seed of the policy's random numbers, from 0.
        **policy_options: The policy's own options.

    Raises:
        InputError: A bad instance.
        UsageError: A bad argument, or an instance that is not revealed over time.
    """
    _check("seconds", seconds, Number(above=0))
    _check("seed", seed, Integer(0))
    adapter, data = load_instance(instance, problem)
    stream = adapter.stream(data)
    chosen, name = named_policy(adapter.name, policy, policy_options)
    if reason := chosen.accepts(data):
        raise UsageError(f"policy {name} cannot decide for this instance because {reason}")
    chosen.prepare(data)
    return Dispatcher(adapter, data, stream, chosen, name, seconds, seed)


class Dispatcher:
    """A policy, and what it knows at one moment of a day."""

    def __init__(
        self, problem: Problem, instance: Any, stream: Stream, policy: OnlinePolicy, name: str, seconds: float, seed: int
    ) -> None:
        self.problem, self.instance, self.stream = problem, instance, stream
        self.policy, self.name, self.seconds, self.seed = policy, name, float(seconds), int(seed)
        self.knowledge: Any = stream.begin(instance)
        """What is known, in the family's own form."""
        self.time = -math.inf
        """The time of the last event, in the instance's units; -inf before the first."""
        self.decisions = 0
        """The number of decisions that the policy made."""
        self.late = 0
        """The number of decisions that took longer than `seconds`."""
        self.last_seconds = 0.0
        """The wall time of the last decision."""

    def observe(self, event: Event) -> None:
        """Add an event to what is known.

        Raises UsageError, in one line that names the field and what is accepted, for an event that is late, repeated, unknown or
        malformed; it changes nothing.
        """
        self.stream.observe(self.knowledge, event)
        self.time = float(event["time"])

    @property
    def decidable(self) -> bool:
        """Whether there is anything to decide now."""
        return self.stream.decidable(self.knowledge)

    def decide(self, delay: float = 0.0) -> dict[str, Any]:
        """Return the policy's decision as JSON values, and record in the knowledge that it is performed.

        Args:
            delay: The time from the last event until the decision is performed, in the instance's units.

        Raises:
            UsageError: There is nothing to decide now.
            SolverError: The policy fails, or its decision is not permitted; what is known does not change.
        """
        decision = self.propose()
        try:
            self.record(decision, delay)
        except UsageError as error:
            raise SolverError(f"policy {self.name} made a decision that is not permitted: {error}") from error
        return decision

    def propose(self) -> dict[str, Any]:
        """Return the policy's decision as JSON values without recording it; `record` records what was performed of it."""
        if not self.decidable:
            raise UsageError("there is nothing to decide now; accepted: the next event")
        seeds = Seeds(int(np.random.SeedSequence([self.seed, self.decisions]).generate_state(1)[0]), self.seed)
        started = time.perf_counter()
        decision = self.policy.decide(self.stream, self.knowledge, self.seconds, seeds)
        self.last_seconds = time.perf_counter() - started
        self.decisions += 1
        self.late += self.last_seconds > self.seconds
        return dict(plain(decision))

    def record(self, decision: Decision, delay: float = 0.0) -> None:
        """Record that a decision, the policy's or another, is performed `delay` time units after the last event.

        Raises UsageError for a decision that is not permitted; it changes nothing.
        """
        self.stream.perform(self.knowledge, decision, delay)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the dispatcher to a JSON file, which is replaced as a whole; `corl.online.load` continues from it.

        Raises UsageError for a policy that cannot be loaded by its name and options, and OSError.
        """
        chosen = options.values(self.policy)
        if (
            self.name not in registry.names(GROUP, self.problem.name)
            or _built(self.problem.name, self.name, chosen) != self.policy
        ):
            raise UsageError(
                f"policy {self.name} cannot be saved; accepted: a declared policy (corl list online) with plain options"
            )
        values = {
            "format": _FORMAT,
            "problem": self.problem.name,
            "instance": _instance_json(self.problem, self.instance),
            "policy": self.name,
            "options": chosen,
            "seconds": self.seconds,
            "seed": self.seed,
            "time": self.time if math.isfinite(self.time) else None,
            "decisions": self.decisions,
            "late": self.late,
            "stream": self.stream.version,
            "knowledge": self.stream.to_json(self.knowledge),
        }
        with replacing(Path(path)) as partial:
            partial.write_text(json.dumps(plain(values), allow_nan=False) + "\n", encoding="utf-8")


def load(path: str | os.PathLike[str], instance: Any = None) -> Dispatcher:
    """Return the dispatcher that `Dispatcher.save` wrote, in the state of that moment.

    Args:
        path: The file.
        instance: The instance, as for `dispatcher`; None: the one in the file.

    Raises:
        InputError: A malformed file, one of another version, or one without the instance if none is given.
    """
    with reading(Path(path)):
        text = Text.read(Path(path))
    return read_object(text, lambda field: _loaded(field, instance))


def _loaded(field: Field, instance: Any) -> Dispatcher:
    if field.value.get("format") != _FORMAT:
        given = shown(field.value.get("format"))
        raise InputError(f"version {given} of a saved dispatcher is not known; accepted: {_FORMAT}", field="format")
    record = field.record(_SAVED)
    for key, kind in _SAVED.keys.items():
        if key not in record.values or not kind.fits(record.values[key]):
            raise record[key].error(f"not as written by Dispatcher.save; accepted: {kind.words}")
    values = record.values
    try:
        problem = registry.problem(values["problem"])
        if instance is None and values["instance"] is None:
            raise InputError("the file has no instance; accepted: load(path, instance)", field="instance")
        adapter, data = (
            load_instance(instance, problem) if instance is not None else (problem, _read(problem, values["instance"]))
        )
        policy = _built(problem.name, values["policy"], values["options"])
        stream = adapter.stream(data)
    except UsageError as error:
        raise InputError(str(error)) from error
    if values["stream"] != stream.version:
        raise InputError(
            f"version {values['stream']} of what is known is not accepted; accepted: {stream.version}", field="stream"
        )
    policy.prepare(data)
    found = Dispatcher(adapter, data, stream, policy, values["policy"], values["seconds"], values["seed"])
    found.knowledge = stream.from_json(data, values["knowledge"])
    found.time = -math.inf if values["time"] is None else float(values["time"])
    found.decisions, found.late = values["decisions"], values["late"]
    return found


def named_policy(problem: str, policy: Any, policy_options: dict[str, Any]) -> tuple[OnlinePolicy, str]:
    """Return a policy, given by its name and options or as an object, and its name. Raises UsageError."""
    if isinstance(policy, str):
        return _built(problem, policy, policy_options), policy
    if not isinstance(policy, OnlinePolicy):
        raise UsageError(f"policy: {shown(policy)} is not accepted; accepted: a name (corl list online) or an OnlinePolicy")
    if policy_options:
        raise UsageError(
            f"{next(iter(policy_options))}: an OnlinePolicy has its options already; give them to {type(policy).__name__}"
        )
    names = registry.names(GROUP, problem)
    return policy, next((name for name in names if policy_class(problem, name) is type(policy)), type(policy).__name__)


def policy_class(problem: str, name: str) -> type[OnlinePolicy]:
    """Return the class of the policy of that name. Raises UsageError, listing the names."""
    entry, names = registry.entry_of(GROUP, problem, name), registry.names(GROUP, problem)
    if entry is None or name not in names:
        raise UsageError(unknown(f"no online policy for {problem} is called", name, names))
    return load_entry(entry, type)


def _built(problem: str, name: str, policy_options: dict[str, Any]) -> OnlinePolicy:
    kind = policy_class(problem, name)
    with options.named(name):
        return options.build(kind, policy_options, ("problem", "seconds", "seed"))


def _instance_json(problem: Problem, instance: Any) -> Any:
    """Return the content of the instance's JSON file; None if the problem writes no such files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.json"
        try:
            problem.write(instance, path)
            return from_json(path.read_text(encoding="utf-8"))
        except (CorlError, ValueError):
            return None


def _read(problem: Problem, content: Any) -> Any:
    """Return the instance of which `_instance_json` returned the content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return problem.read(path)


def _check(name: str, value: Any, kind: Number) -> None:
    if not kind.fits(value):
        raise UsageError(f"{name}: {shown(value)} is not accepted; accepted: {kind.words}")
