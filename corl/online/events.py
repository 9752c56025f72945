"""The checks of the form of events and decisions: time, kind and fields, and where a value does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corl.errors import UsageError, hint, kind_of, shown, unknown
from corl.fields import Array, Kind, Number, Object, Row

__all__ = ["check_event", "check_form"]

_HEAD = ("time", "kind")


def check_event(event: Any, kinds: Mapping[str, Mapping[str, Kind]], last: float) -> None:
    """Check that an event has a known kind, exactly the fields of this kind, and a time not before the last event's.

    Whether it contradicts what is known (a repeated job, an unknown machine) is for the caller to check.

    Args:
        event: Anything.
        kinds: By kind of event, the kind of value of each field besides "time" and "kind". A field that may be missing has a kind
            that accepts null.
        last: The time of the last event, in the instance's units.

    Raises:
        UsageError: In one line that names the field and what is accepted.
    """
    if not isinstance(event, Mapping):
        raise UsageError(f"event: {kind_of(event)} is not accepted; accepted: a dict with time, kind and the kind's fields")
    time, kind = event.get("time"), event.get("kind")
    if not Number(last).fits(time):
        since = "" if last == float("-inf") else f" from {last:g}, the time of the last event"
        raise UsageError(f"event.time is {_shown(time)}; accepted: a number{since}")
    if kind is None:
        raise UsageError(f"event.kind is missing; accepted: {', '.join(kinds)}")
    if not isinstance(kind, str) or kind not in kinds:
        raise UsageError(unknown("event.kind: there is no kind", str(kind), kinds))
    declared = kinds[kind]
    for key in event:
        if key not in declared and key not in _HEAD:
            near = hint(key, declared) if isinstance(key, str) else ""
            raise UsageError(
                f"event.{key}: an event of kind {kind} has no such field{near}; accepted: {', '.join((*_HEAD, *declared))}"
            )
    for key, accepted in declared.items():
        check_form(f"event.{key}", event.get(key), accepted)


def check_form(name: str, value: Any, kind: Kind) -> None:
    """Raise a UsageError if `value` is not of a kind; it names the first part of the value that does not fit.

    Args:
        name: The value's name, for the message: "event.operations" becomes "event.operations[0][0][1] is -1; accepted: ...".
        value: Anything.
        kind: The kind of values that are accepted.
    """
    if kind.fits(value):
        return
    alternatives = [each for each in kind.alternatives if isinstance(each, (Array, Row, Object))]
    if len(alternatives) == 1:
        _check_parts(name, value, alternatives[0])
    raise UsageError(f"{name} is {_shown(value)}; accepted: {kind.words}")


def _check_parts(name: str, value: Any, kind: Array | Row | Object) -> None:
    """Raise a UsageError for the first part of a list or an object that does not fit, or for its length."""
    if isinstance(kind, Object) and isinstance(value, dict):
        for key in value:
            if key not in kind.keys:
                near = hint(key, kind.keys) if isinstance(key, str) else ""
                raise UsageError(f"{name}: there is no key {key!r}{near}; accepted: {', '.join(kind.keys)}")
        for key, each in kind.keys.items():
            if key in kind.required or value.get(key) is not None:
                check_form(f"{name}.{key}", value.get(key), each)
    elif isinstance(kind, (Array, Row)) and isinstance(value, list):
        length = len(value)
        if isinstance(kind, Row) and length != len(kind.of):
            raise UsageError(f"{name} has {length} entries; accepted: {len(kind.of)}")
        if isinstance(kind, Array) and not kind.least <= length <= (length if kind.most is None else kind.most):
            most = f"{kind.least} to {kind.most}" if kind.most != kind.least else f"{kind.least}"
            raise UsageError(f"{name} has {length} entries; accepted: {f'at least {kind.least}' if kind.most is None else most}")
        for k, each in enumerate(value):
            check_form(f"{name}[{k}]", each, kind.of[k] if isinstance(kind, Row) else kind.of)


def _shown(value: Any) -> str:
    return "missing" if value is None else shown(value)
