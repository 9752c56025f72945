"""What the models share: names, errors that speak of the model's own objects, and solving."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from corl.errors import InputError, UsageError, hint

if TYPE_CHECKING:
    import pandas

    from corl.result import Result

_Instance = TypeVar("_Instance")

__all__ = ["Names", "Solved", "compiled", "loads", "records", "to_frame"]


class Names:
    """Names of one kind of object, numbered as they come. A name is a string or a number, whatever the user has."""

    def __init__(self, kind: str) -> None:
        self.kind, self.known = kind, dict[Hashable, int]()

    def add(self, name: Hashable) -> int:
        """The number of a new name. Raises UsageError for one that is there already."""
        if name in self.known:
            raise UsageError(f"there is a {self.kind} {name!r} already; accepted: another name")
        self.known[name] = len(self.known)
        return self.known[name]

    def __getitem__(self, name: Hashable) -> int:
        """The number of a name. Raises UsageError, with the one that is meant, where there is none."""
        if name not in self.known:
            near = hint(str(name), map(str, self.known))
            raise UsageError(f"there is no {self.kind} {name!r}{near}; add_{self.kind.split()[0]} adds one")
        return self.known[name]

    def __len__(self) -> int:
        return len(self.known)

    def listed(self) -> list[Hashable]:
        """The names, by number."""
        return list(self.known)


@dataclass(frozen=True)
class Solved:
    """What came of solving a model; `result` is what `corl.solve` returned, with trace, options and versions."""

    result: Result

    @property
    def status(self) -> str:
        """`optimal`, `feasible`, `infeasible` or another of Result's."""
        return self.result.status

    @property
    def objective(self) -> float | None:
        """In the model's own units; None without a solution."""
        return self.result.objective

    @property
    def bound(self) -> float | None:
        """Proven; None where none was proved."""
        return self.result.bound

    @property
    def gap(self) -> float | None:
        """|objective - bound| / |objective|, or None."""
        return self.result.gap

    def _solution(self) -> Any:
        """Raises UsageError, with the reason, without one."""
        if self.result.solution is None:
            why = f": {self.result.reason}" if self.result.reason else ""
            raise UsageError(f"there is no solution ({self.result.status}){why}")
        return self.result.solution


def compiled(make: Callable[[], _Instance], kinds: Mapping[str, Names]) -> _Instance:
    """`make()`, an instance; what it refuses is told of the model's objects: clients[3] becomes client 'Ada'. Raises InputError.

    kinds: the names behind each array in the messages, "clients" for one, and behind each number, "client 3".
    """
    try:
        return make()
    except InputError as error:
        field = re.sub(r"(\w+)\[(\d+)\]", lambda found: _named(found, kinds), error.field or "").replace("'.", "': ")
        words = re.sub(r"\b(\w+) (\d+)\b", lambda found: _named(found, kinds), error.reason)
        raise InputError(words, field=field or None) from None


def _named(found: re.Match[str], kinds: Mapping[str, Names]) -> str:
    names = kinds.get(found[1])
    if names is None or int(found[2]) >= len(names):
        return found[0]
    return f"{names.kind} {names.listed()[int(found[2])]!r}"


def loads(of: str, given: Any, dimensions: Names, new: bool) -> dict[Hashable, float]:
    """Loads by dimension from a number (the dimension "load") or a dict. Raises UsageError for a dimension that is not there."""
    named = given if isinstance(given, Mapping) else {"load": given}
    for dimension, amount in named.items():
        if dimension not in dimensions.known and new:
            dimensions.add(dimension)
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not amount >= 0:
            raise UsageError(f"{of}: {dimension} is {amount!r}; accepted: a number from 0")
        dimensions[dimension]
    return dict(named)


def records(frame: pandas.DataFrame | Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a pandas DataFrame, or dicts, without what is missing (None, NaN)."""
    rows = frame.to_dict("records") if hasattr(frame, "to_dict") else frame
    return [{str(key): value for key, value in row.items() if value is not None and value == value} for row in rows]


def to_frame(rows: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """A pandas DataFrame. Raises UsageError where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise UsageError("pandas is not installed: pip install pandas") from None
    return pandas.DataFrame(rows)
