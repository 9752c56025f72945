"""Instances in JSON, read field by field: every fault names file, line and field, and what is accepted there.

The reader of a format looks like this; `read_object` gives it the whole text as a Field. Keys, ranges and lengths are declared
once, as kinds (corl.fields), from which the JSON schema comes as well.

    JOB = fields.Object({"operations": Array(Array(Integer(0), 2, 2), 1)}, {"release": Integer(0, HORIZON)})
    INSTANCE = fields.Object({"machines": Integer(1, LARGEST_MACHINES), "jobs": Array(JOB, 1)},
                             {"problem": Constant("jobshop"), "name": String(), "comment": String()})

    def read_text(text: Text, name: str = "") -> JobShopInstance:
        return read_object(text, lambda field: _instance(field, name))

    def _instance(field: Field, name: str) -> JobShopInstance:
        given = field.record(INSTANCE)
        name, comment = heading(given, "jobshop", name)
        machines = given["machines"].integer()
        for job in given["jobs"].entries():                       # job.place is "jobs[3]"
            facts = job.record()
            release = facts.get("release", 0).integer()
            pairs = facts["operations"].integers(None, 2)         # int64 [any length, 2]
            ...

Ranges and lengths that depend on other fields are arguments of the call, and replace the declared ones. The reader raises other
faults as `job.error("...; accepted: ...")`. A key with the value null counts as missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from corl import fields, options
from corl.errors import InputError, UsageError, hint
from corl.fields import Integer, Kind, Number
from corl.files.json_values import FLAT, from_json, is_number
from corl.files.text import Text, quoted

__all__ = ["Field", "Record", "generated", "heading", "plain", "read_object"]

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Kind)
_N = TypeVar("_N", bound=Number)
_ANYTHING = fields.Anything()
_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")  # of a place such as jobs[3].operations[2].machine
_BETWEEN = re.compile(r"[\s,:]*")  # the characters that may precede a key or a value of a JSON text


def read_object(text: Text, read: Callable[[Field], _T]) -> _T:
    """Return `read` of the JSON object in a text; its InputErrors get the file, and the line of their field."""
    try:
        value = from_json(text.content, file=text.file)
    except InputError as error:
        cause = error.__cause__
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        raise text.error(error.reason, line=line) from None
    if not isinstance(value, dict):
        raise text.error("accepted: a JSON object", line=text.first_line)
    try:
        return read(Field(value))
    except InputError as error:
        raise text.error(error.reason, line=_line(text, error.field or ""), field=error.field) from None


def plain(value: Any) -> Any:
    """Return a Python value as JSON would represent it: arrays and tuples as lists, NumPy's numbers as Python's, at any depth."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return value
    return list(value) if FLAT.issuperset(map(type, value)) else [plain(item) for item in value]


def heading(record: Record, problem: str, name: str = "") -> tuple[str, str]:
    """Return the name of an instance (`name` if the record has none) and its comment. Raises InputError for another problem."""
    record.get("problem", problem).choice((problem,))
    return record.get("name", "").text() or name, record.get("comment", "").text()


def generated(field: Field, generators: Mapping[str, Callable[..., Any]], problem: str, name: str = "") -> Any:
    """Return the instance of a generator call: {"problem":, "name":, "comment":, "generator":, "parameters": {...}}."""
    record = field.record(fields.generator_call(problem, generators))
    name, comment = heading(record, problem, name)
    kind, parameters = record["generator"].choice(), record.get("parameters", {})
    if not isinstance(parameters.value, dict):
        raise parameters.error("accepted: an object")
    try:
        made = options.call(generators[kind], parameters.value)
    except UsageError as error:
        raise parameters.error(str(error)) from None
    return replace(made, name=name, comment=comment or made.comment)


class Field:
    """A value of a JSON text with its place and its kind; each method returns it as the type in its name, or raises InputError.

    A range, a length or keys that a method is not given are those that the kind declares.
    """

    __slots__ = ("_step", "_where", "kind", "value")
    value: Any
    """None if it is missing."""
    kind: Kind
    """The declared kind of the value."""

    def __init__(
        self, value: Any, where: str | Field | Record = "", step: int | str | None = None, kind: Kind = _ANYTHING
    ) -> None:
        """Create a field; `where`: its place, or with `step` (a key, or an index of a list) the value that it is an entry of."""
        self.value, self._where, self._step, self.kind = value, where, step, kind

    @property
    def place(self) -> str:
        """Such as `jobs[3].operations[2].machine`; "" for the whole text. (It is built only for errors.)"""
        base = self._where if isinstance(self._where, str) else self._where.place
        if self._step is None:
            return base
        if isinstance(self._step, int):
            return f"{base}[{self._step}]"
        return f"{base}.{self._step}" if base else self._step

    def error(self, message: str) -> InputError:
        """Return the InputError for a fault in this value."""
        return InputError(message, field=self.place or None)

    def record(self, kind: fields.Object | None = None) -> Record:
        """Return an object, which may have only the keys of `kind`, or of the declared kind."""
        kind = kind or self._declared(fields.Object) or fields.Object({})
        keys = kind.keys
        if not isinstance(self.value, dict):
            raise self._refusal(kind.words)
        record = Record(self.value, self, keys)
        for key in self.value:
            if key in kind.refused and key not in keys:
                raise record[key].error(f"{kind.refused[key]}: not supported")
            if key not in keys and not kind.open:
                raise self.error(f"there is no key {quoted(key)}{hint(key, keys)}; accepted: {', '.join(keys)}")
        return record

    def entries(self, count: int | None = None, least: int | None = None) -> list[Field]:
        """Return the entries of a list, `count` or `least` of them."""
        kind, value = self.kind, self.value
        if count is None and least is None:
            count, least = kind.lengths
        if not isinstance(value, list) or len(value) < (least or 0) or count not in (None, len(value)):
            raise self._refusal(f"a list{_counted(count, least or 0)}")
        for row in kind.rows:
            if len(row.of) == len(value):
                return [Field(entry, self, k, of) for k, (entry, of) in enumerate(zip(value, row.of))]
        of = kind.entries
        return [Field(entry, self, k, of) for k, entry in enumerate(value)]

    def _declared(self, kind: type[_K]) -> _K | None:
        """Return the alternative of that class that is declared, if there is one."""
        if type(self.kind) is kind:
            return self.kind
        return next((each for each in self.kind.alternatives if type(each) is kind), None)

    def text(self) -> str:
        """Return a text, which may be empty."""
        if not isinstance(self.value, str):
            raise self._refusal("a text")
        return self.value

    def flag(self) -> bool:
        """Return a boolean."""
        if not isinstance(self.value, bool):
            raise self._refusal("true or false")
        return self.value

    def choice(self, accepted: Collection[str] | None = None) -> str:
        """Return one of the accepted words."""
        if accepted is None:
            declared = self._declared(fields.Choice)
            accepted = declared.of if declared else ()
        if isinstance(self.value, str) and self.value in accepted:
            return self.value
        near = hint(self.value, accepted) if isinstance(self.value, str) else ""
        raise self._refusal(", ".join(accepted), near)

    def integer(self, low: float | None = None, high: float | None = None) -> int:
        """Return an integer in low..high."""
        value = self.value
        if type(value) is not int or not self._within(value, Integer, low, high):
            raise self._refusal(self._range(Integer, low, high).words)
        return value

    def number(self, low: float | None = None, high: float | None = None) -> float:
        """Return a finite float64 in low..high."""
        if not is_number(self.value) or not self._within(self.value, Number, low, high):
            raise self._refusal(self._range(Number, low, high).words)
        return float(self.value)

    def _within(self, value: float, kind: type[Number], low: float | None, high: float | None) -> bool:
        """Return whether a number is in the given range, or in the declared one."""
        if low is not None and high is not None:
            return low <= value <= high
        declared = self.kind if type(self.kind) is kind and low is None and high is None else self._range(kind, low, high)
        assert isinstance(declared, Number)
        return declared.holds(value)

    def _range(self, kind: type[_N], low: float | None, high: float | None) -> _N:
        """Return the accepted kind of number: in the given range, else the declared kind, else any number."""
        if low is None and high is None:
            return self._declared(kind) or kind()
        return _ranged(kind, low, high)

    def numbers(self, *shape: int | None, low: float | None = None, high: float | None = None) -> NDArray[np.float64]:
        """Return nested lists of finite numbers in low..high as float64 of this shape; None: any length from 1."""
        return self._array(Field.number, np.float64, shape, self._inside(Number, len(shape), low, high))

    def integers(self, *shape: int | None, low: int | None = None, high: int | None = None) -> NDArray[np.int64]:
        """Return nested lists of integers in low..high as int64 of this shape; None: any length from 1."""
        return self._array(Field.integer, np.int64, shape, self._inside(Integer, len(shape), low, high))

    def _inside(self, kind: type[_N], depth: int, low: float | None, high: float | None) -> _N:
        """Return the accepted kind of the numbers within `depth` levels of lists, as `_range`."""
        if low is None and high is None:
            return _inside(self.kind, depth, kind) or kind()
        return _ranged(kind, low, high)

    def _array(self, read: Callable[..., Any], dtype: Any, shape: tuple[int | None, ...], kind: Number) -> NDArray[Any]:
        low, high = kind.low, kind.high
        found = self._at_once(dtype, shape, low, high)
        if found is not None:
            return found
        lists, lengths = [self], list[int]()
        for level, count in enumerate(shape):
            if level:
                lists = [entry for each in lists for entry in each.entries(least=0)]
            lengths.append(len(lists[0].entries(least=1)) if count is None else count)
            for each in lists:
                each.entries(lengths[-1])
        return np.array([read(entry, low, high) for each in lists for entry in each.entries(least=0)], dtype).reshape(lengths)

    def _at_once(self, dtype: Any, shape: tuple[int | None, ...], low: Any, high: Any) -> NDArray[Any] | None:
        """Return the array if it is valid; None if the entries must be examined one by one to find the fault."""
        rows = [self.value]
        for level, count in enumerate(shape):
            if level:
                rows = list(chain.from_iterable(rows))
            if set(map(type, rows)) != {list} or len(lengths := set(map(len, rows))) != 1 or 0 in lengths:
                return None
            if count is not None and lengths != {count}:
                return None
        kinds = {int} if dtype is np.int64 else {int, float}
        if not set(map(type, chain.from_iterable(rows))) <= kinds:
            return None
        try:
            found = np.array(self.value, dtype)
        except OverflowError:
            return None
        return found if found.size and low <= found.min() and found.max() <= high and np.isfinite(found).all() else None

    def _refusal(self, accepted: str, near: str = "") -> InputError:
        given = "missing" if self.value is None else f"{_shown(self.value)} is not accepted{near}"
        return self.error(f"{given}; accepted: {accepted}")


class Record:
    """A JSON object whose keys were checked to be accepted ones."""

    __slots__ = ("_kinds", "_where", "values")

    def __init__(self, values: Mapping[str, Any], where: str | Field = "", kinds: Mapping[str, Kind] | None = None) -> None:
        """Create a record; `where`: its place, or the field whose value it is; `kinds`: key -> declared kind."""
        self.values, self._where, self._kinds = values, where, kinds or {}

    @property
    def place(self) -> str:
        """See Field.place."""
        return self._where if isinstance(self._where, str) else self._where.place

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def __getitem__(self, key: str) -> Field:
        return self.get(key)

    def get(self, key: str, default: Any = None) -> Field:
        """Return the value of a key, `default` if it is missing or null (None: reading it then raises)."""
        value = self.values.get(key)
        return Field(default if value is None else value, self, key, self._kinds.get(key, _ANYTHING))


def _counted(count: int | None, least: int) -> str:
    if count is not None:
        return f" of {count:,}"
    return f" of at least {least:,}" if least else ""


def _ranged(kind: type[_N], low: float | None, high: float | None) -> _N:
    bounds: dict[str, Any] = {"low": low, "high": high}
    return kind(**{key: bound for key, bound in bounds.items() if bound is not None})


def _inside(kind: Kind, depth: int, wanted: type[_N]) -> _N | None:
    """Return the kind of numbers declared within `depth` levels of lists; None if there is none."""
    if not depth:
        return next((each for each in kind.alternatives if type(each) is wanted), None)
    inner = (_inside(each.of, depth - 1, wanted) for each in kind.alternatives if isinstance(each, fields.Array))
    return next((each for each in inner if each is not None), None)


def _shown(value: Any) -> str:
    """Return a value of the file as text for a message of one line."""
    if isinstance(value, (list, dict)):
        return f"a list of {len(value):,}" if isinstance(value, list) else "an object"
    return quoted(value) if isinstance(value, str) else json.dumps(value, default=repr)[:40]


def _line(text: Text, place: str) -> int | None:
    """Return the line of the value at a place, or of the innermost enclosing value that exists; None if there is none."""
    at, found = _between(text.content, 0), None
    for step in _STEP.findall(place):
        entry = _entry(text.content, at, step)
        if entry is None:
            break
        at = found = entry
    return None if found is None else text.line_at(found)


def _entry(content: str, at: int, step: str) -> int | None:
    """Return the position of the value of entry `step` (a key, or "[3]") of the object or list at a position; None if missing."""
    decoder, found, keyed = json.JSONDecoder(), None, content[at] == "{"
    if not keyed and content[at] != "[":
        return None
    count, at = 0, _between(content, at + 1)
    while content[at] not in "]}":
        key = f"[{count}]"
        if keyed:
            key, at = decoder.raw_decode(content, at)
            at = _between(content, at)
        if key == step:
            found = at  # of a repeated key the last one counts
        at, count = _between(content, decoder.raw_decode(content, at)[1]), count + 1
    return found


def _between(content: str, at: int) -> int:
    """Return the position of the next key, value or bracket."""
    match = _BETWEEN.match(content, at)
    return match.end() if match else at
