"""Shared parts of the models: names, errors that name the model's own objects, and solving.

In each function `of` is the name of an argument in messages (`client 'Ada': demand`), and `given` is its value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from corl.arguments import entries, name, number, refusal
from corl.errors import InputError, UsageError, hint, shown

if TYPE_CHECKING:
    import pandas

    from corl.result import Result

_Instance = TypeVar("_Instance")
_LINES, _LINE = 20, 120  # greatest numbers of lines, and of characters of a line, of a solution that is printed

__all__ = ["Names", "Solved", "accepted_cells", "compiled", "loads", "records", "solved", "to_frame"]


class Names:
    """The names of one kind of object, numbered in the order in which they are added. A name is a text or a number."""

    def __init__(self, kind: str, given: Iterable[Hashable] = ()) -> None:
        self.kind, self.known = kind, {each: number for number, each in enumerate(given)}
        self._texts = set(map(str, self.known))  # names must differ as texts, too, because instances store texts

    def new(self, given: Any) -> Hashable:
        """Return `given`, which must be a name and not known yet. Raises UsageError."""
        found = name(f"the name of a {self.kind}", given)
        if str(found) in self._texts:
            raise UsageError(f"there is a {self.kind} {shown(found)} already; accepted: another name")
        return found

    def add(self, given: Any) -> int:
        """Add a name and return its number. Raises UsageError as `new` does."""
        found = self.new(given)
        self.known[found] = len(self.known)
        self._texts.add(str(found))
        return self.known[found]

    def number(self, of: str, given: Any) -> int:
        """Return the number of a known name. Raises UsageError for an unknown one, and suggests a similar name."""
        found = name(of, given)
        if found not in self.known:
            near, examples = hint(str(found), map(str, self.known)), ", ".join(map(shown, list(self.known)[:8]))
            more = ", ..." if len(self.known) > 8 else ""
            accepted = f"accepted: {examples}{more}" if examples else f"accepted: none yet, add_{self.kind.split()[0]} adds one"
            raise UsageError(f"{of}: there is no {self.kind} {shown(found)}{near}; {accepted}")
        return self.known[found]

    def __len__(self) -> int:
        return len(self.known)

    def listed(self) -> list[Hashable]:
        """Return the names in the order of their numbers."""
        return list(self.known)

    def texts(self) -> tuple[str, ...]:
        """Return the names as texts, as an instance stores them."""
        return tuple(map(str, self.known))


@dataclass(frozen=True)
class Solved:
    """The result of solving a model; `print` shows its status and the solution, twenty lines at most."""

    result: Result
    """The result of `corl.solve`, with trace, options and versions."""

    @property
    def status(self) -> str:
        """`optimal`, `feasible`, `infeasible` or another status of Result."""
        return self.result.status

    @property
    def objective(self) -> float | None:
        """The objective value in the model's own units; None without a solution."""
        return self.result.objective

    @property
    def bound(self) -> float | None:
        """The proven bound of the objective value; None if there is none."""
        return self.result.bound

    @property
    def gap(self) -> float | None:
        """The relative gap |objective - bound| / |objective|; None if one of the two is missing."""
        return self.result.gap

    def __str__(self) -> str:
        objective = "no solution" if self.objective is None else f"objective {self.objective:.10g}"
        bound = "" if self.bound is None else f", bound {self.bound:.10g}"
        head = f"{self.status}: {objective}{bound}; {self.result.solver}, {self.result.runtime:.1f} s"
        lines = [] if self.result.solution is None else self._lines()
        more = [f"... {len(lines) - _LINES} more"] if len(lines) > _LINES else []
        return "\n".join([head, *(line if len(line) <= _LINE else f"{line[: _LINE - 3]}..." for line in lines[:_LINES]), *more])

    def _lines(self) -> list[str]:
        """Return the solution as lines of text."""
        return []

    def _solution(self) -> Any:
        """Return the solution. Raises UsageError, with the reason, if there is none."""
        if self.result.solution is None:
            why = f": {self.result.reason}" if self.result.reason else ""
            raise UsageError(f"there is no solution ({self.result.status}){why}")
        return self.result.solution


def compiled(make: Callable[[], _Instance], kinds: Mapping[str, Names]) -> _Instance:
    """Return the instance that `make` returns; in an InputError that it raises, indices become names.

    Args:
        make: Returns an instance, or raises InputError.
        kinds: List in the instance -> names of its entries: with {"clients": ...}, `clients[3]` becomes `client 'Ada'`.
    """
    try:
        return make()
    except InputError as error:
        field = re.sub(r"(\w+)\[(\d+)\]", lambda found: _named(found, kinds), error.field or "").replace("'.", "': ")
        raise InputError(error.reason, field=field or None) from None


def _named(found: re.Match[str], kinds: Mapping[str, Names]) -> str:
    """Return the words for a match such as `clients[3]`; the match itself if no name is known for it."""
    names = kinds.get(found[1])
    if names is None or int(found[2]) >= len(names):
        return found[0]
    return f"{names.kind} {names.listed()[int(found[2])]!r}"


def loads(of: str, given: Any, dimensions: Names, new: bool, infinite: bool = False) -> dict[Hashable, float]:
    """Return dimension (a kind of load) -> load. Raises UsageError.

    Args:
        of: The name of the argument in errors.
        given: A dict from dimensions to numbers, or one number, which is a load of the dimension "load".
        dimensions: The known dimensions.
        new: Whether unknown dimensions are added to `dimensions`; otherwise they are errors.
        infinite: Whether a load may be infinite.
    """
    given_by_dimension = given if isinstance(given, Mapping) else {"load": given}
    found: dict[Hashable, float] = {}
    for dimension, amount in given_by_dimension.items():
        key = name(of, dimension)
        if key not in dimensions.known and not new:
            dimensions.number(of, key)
        where = f"{of}: {key}" if isinstance(given, Mapping) else of
        load = number(where, amount, infinite=infinite)
        if load or key in dimensions.known or isinstance(given, Mapping) or infinite:  # a number 0 adds no dimension
            found[key] = load
    for key in found:
        if key not in dimensions.known:
            dimensions.add(key)
    return found


def records(of: str, frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a pandas or polars DataFrame, of a dict of columns, or of a list of dicts, without empty cells.

    Empty cells are None, NaN and NA. Raises UsageError.
    """
    accepted = "a pandas or polars DataFrame, a dict of columns, or a list of dicts"
    if hasattr(frame, "to_dicts"):
        rows = frame.to_dicts()
    elif hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        rows = frame.to_dict("records")
    elif isinstance(frame, Mapping):
        rows = _rows_of_columns(of, frame)
    else:
        rows = entries(of, frame, accepted)
    for row in rows:
        if not isinstance(row, Mapping):
            raise refusal(f"{of}: a row", row, accepted)
    return [{str(key): value for key, value in row.items() if not _missing(value)} for row in rows]


def _rows_of_columns(of: str, frame: Mapping[Any, Any]) -> list[dict[Any, Any]]:
    """Return the rows of a dict of columns. Raises UsageError if the columns have different lengths."""
    columns = {}
    for key, column in frame.items():
        if isinstance(column, (str, bytes, Mapping)) or not hasattr(column, "__iter__"):
            raise refusal(f"{of}: column {shown(key)}", column, "a list or an array")
        columns[key] = list(column)
    if len(set(map(len, columns.values()))) > 1:
        lengths = ", ".join(f"{key} {len(column)}" for key, column in columns.items())
        raise UsageError(f"{of}: columns of different lengths: {lengths}; accepted: equally long ones")
    return [dict(zip(columns, cells)) for cells in zip(*columns.values())]


def _missing(value: Any) -> bool:
    """Return whether a cell of a table is empty."""
    if value is None:
        return True
    try:
        return not bool(value == value)
    except (TypeError, ValueError):  # neither pandas' NA nor an array has a truth value
        return getattr(value, "ndim", 0) == 0


def accepted_cells(of: str, row: dict[str, Any], needed: Iterable[str], accepted: Iterable[str]) -> dict[str, Any]:
    """Return the cells of a row in the accepted columns. Raises UsageError if a cell in one of the needed columns is missing."""
    listed = list(accepted)
    for column in needed:
        if column not in row:
            raise UsageError(f"{of} lacks {column!r}; accepted: the columns {', '.join(listed)}")
    return {column: row[column] for column in listed if column in row}


def to_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pandas.DataFrame:
    """Return a pandas DataFrame with the given columns. Raises UsageError if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise UsageError("pandas is not installed: pip install pandas") from None
    return pandas.DataFrame(list(rows), columns=list(columns))


def solved(instance: Any, problem: str, options: Mapping[str, Any]) -> Result:
    """Return the result of `corl.solve` for a model's instance. Raises UsageError for options that the model determines."""
    from corl.solving import solve

    for key in ("instance", "problem"):
        if key in options:
            raise UsageError(f"{key}: a model determines it; accepted: the other arguments of corl.solve")
    return solve(instance, problem=problem, **options)
