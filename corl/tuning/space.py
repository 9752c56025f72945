"""The search space: a dimension for each option that can be searched, with the range and the scale that the option declares.

The range of an option is, in this order: the caller's range; the declared `tuning` range; all values of a boolean or a Literal;
both bounds, if they are declared; on a logarithmic scale, the default times 1/8 to 8, within the declared bounds; on a linear
scale with a least value, from there to four times the default's distance. Other options keep their values.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from corl import options
from corl.errors import UsageError, unknown
from corl.formatting import value
from corl.options import OptionSpec

__all__ = ["Dimension", "parse_ranges", "search_space"]

_FACTOR = 8.0
_DISTANCE = 4.0
_MARGIN = 0.01  # an exclusive bound of a linear range is moved inwards by this share of the range


@dataclass(frozen=True)
class Dimension:
    """The values of one option that are searched."""

    name: str
    kind: Literal["integer", "real", "choice"]
    default: Any
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    choices: tuple[Any, ...] = ()
    """The values of a choice."""
    special: Any = None
    """A further value outside the range, such as 0 for "automatic"; None if there is none."""

    def __str__(self) -> str:
        """Return the values in words, such as "2 to 320, logarithmic"."""
        if self.kind == "choice":
            return ", ".join(str(each).lower() if isinstance(each, bool) else str(each) for each in self.choices)
        first = "" if self.special is None else f"{value(self.special)}, or "
        return f"{first}{value(self.low)} to {value(self.high)}{', logarithmic' if self.log else ''}"


def search_space(
    cls: type, *, fixed: Collection[str] = (), tuned: Sequence[str] = (), ranges: Mapping[str, Any] | None = None
) -> tuple[list[Dimension], list[str]]:
    """Return the dimensions of a solver's options, and the names of the options that cannot be searched without a range.

    Args:
        cls: The class of the solver.
        fixed: Names of options that are not searched.
        tuned: Names of the options to search; empty: all.
        ranges: Option -> (low, high), or a list of values.

    Raises:
        UsageError: An unknown option, a range that the option does not accept, or nothing to search.
    """
    declared, ranges = options.declarations(cls), ranges or {}
    for name in (*tuned, *ranges, *fixed):
        if name not in declared:
            raise UsageError(unknown("no option", name, declared))
    for name in fixed:
        if name in tuned or name in ranges:
            raise UsageError(f"option {name} is given a value and a range; accepted: one of them")
    dimensions, skipped = [], []
    for name, default in options.defaults(cls).items():
        if name in fixed or (tuned and name not in tuned and name not in ranges):
            continue
        found = _given(cls, name, default, ranges[name]) if name in ranges else _declared(name, default, *declared[name])
        if found is not None:
            dimensions.append(found)
        elif name in tuned:
            raise UsageError(f"option {name} declares no range to search; accepted: a range, --range {name}=LOW:HIGH")
        else:
            skipped.append(name)
    if not dimensions:
        raise UsageError("no option declares a range to search; accepted: a range, --range NAME=LOW:HIGH")
    return dimensions, skipped


def parse_ranges(pairs: Sequence[str]) -> dict[str, Any]:
    """Return ["a=1:10", "b=x,y"] as {"a": ("1", "10"), "b": ["x", "y"]}. Raises UsageError."""
    found: dict[str, Any] = {}
    for name, text in options.parse_pairs(list(pairs), "--range").items():
        low, colon, high = text.partition(":")
        found[name] = (low, high) if colon else [part.strip() for part in text.split(",")]
    return found


def _given(cls: type, name: str, default: Any, given: Any) -> Dimension:
    """Return the dimension of a range given by the caller, each of whose values the option must accept."""
    hint, spec = options.declarations(cls)[name]
    values = [options.checked(cls, {name: each})[name] for each in given]
    if not isinstance(given, tuple):
        return Dimension(name, "choice", default, choices=tuple(dict.fromkeys(values)))
    kind = _kind(hint)
    if kind is None or len(values) != 2 or not values[0] < values[1]:
        raise UsageError(f"option {name}: {given!r} is no range of it; accepted: LOW:HIGH of numbers, or values A,B")
    log = spec is not None and spec.scale == "log" and values[0] > 0
    special = spec.special if spec is not None and spec.special == default else None
    return Dimension(name, kind, default, float(values[0]), float(values[1]), log, special=special)


def _declared(name: str, default: Any, hint: Any, spec: OptionSpec | None) -> Dimension | None:
    """Return the dimension that follows from an option's declaration; None if there is none."""
    if hint is bool or typing.get_origin(hint) is Literal:
        return Dimension(name, "choice", default, choices=(False, True) if hint is bool else typing.get_args(hint))
    kind = _kind(hint)
    ends = None if spec is None or kind is None else spec.tuning or _ends(spec, default)
    if spec is None or kind is None or ends is None:
        return None
    low, high = (float(end) for end in ends)
    if kind == "integer":
        low, high = float(math.ceil(low)), float(math.floor(high))
    outside = isinstance(spec.special, (int, float)) and not low <= spec.special <= high
    special = spec.special if outside else None
    return Dimension(name, kind, default, low, high, spec.scale == "log" and low > 0, special=special) if low < high else None


def _kind(hint: Any) -> Literal["integer", "real"] | None:
    parts = [part for part in (typing.get_args(hint) or (hint,)) if part is not type(None)]
    return {int: "integer", float: "real"}.get(parts[0]) if len(parts) == 1 else None  # type: ignore[return-value]


def _ends(spec: OptionSpec, default: Any) -> tuple[float, float] | None:
    """Return the ends of the range that follows from an option's bounds, scale and default; None if there is none."""
    low, high = max(spec.range.low, spec.range.above), min(spec.range.high, spec.range.below)
    automatic = default is None or (spec.special is not None and default == spec.special)
    if spec.scale == "log" and not automatic and default > 0:
        return max(low, default / _FACTOR), min(high, default * _FACTOR)
    if low == -math.inf:
        return None
    if high == math.inf:
        if automatic or default <= low:
            return None
        high = low + _DISTANCE * (default - low)
    margin = _MARGIN * (high - low)
    return low + margin * (low == spec.range.above), high - margin * (high == spec.range.below)
