"""The check of an event's form, for `Stream.observe`: time, kind and fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corl.errors import UsageError, hint, kind_of, shown, unknown
from corl.fields import Kind, Number

__all__ = ["check_event"]

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
        raise UsageError(f"event.time is {shown(time)}; accepted: a number{since}")
    if not isinstance(kind, str) or kind not in kinds:
        raise UsageError(unknown("event.kind: there is no kind", str(kind), kinds))
    declared = kinds[kind]
    for key in event:
        if key not in declared and key not in _HEAD:
            near = hint(key, declared) if isinstance(key, str) else ""
            raise UsageError(f"event.{key}: a {kind} has no such field{near}; accepted: {', '.join((*_HEAD, *declared))}")
    for key, accepted in declared.items():
        if not accepted.fits(value := event.get(key)):
            raise UsageError(f"event.{key} is {'missing' if value is None else shown(value)}; accepted: {accepted.words}")
