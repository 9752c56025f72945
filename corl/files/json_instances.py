"""Instances in JSON, read field by field: every fault names file, line and field, and what is accepted there.

The following lines are an example of a reader, to which `read_object` passes the whole text as a Field. Keys, ranges and lengths
are declared once, as kinds of values (corl.fields), from which the JSON schema is made as well.

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

Ranges and lengths that depend on other fields are passed as arguments, such as `integer(0, machines - 1)`; they replace the
declared ones. For other faults the reader raises `job.error("...; accepted: ...")`. A key with the value null counts as missing.
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
_STEP = re.compile(r"[^.\[\]]+|\[\d+\]")  # one step of a place such as jobs[3].operations[2].machine: a key or an index
_BETWEEN = re.compile(r"[\s,:]*")  # the characters that may precede a key or a value in a JSON text


def read_object(text: Text, read: Callable[[Field], _T]) -> _T:
    """Return the result of `read` for the JSON object in a text. InputErrors that it raises get the file and the field's line."""
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
    """Return a Python value as JSON values: arrays and tuples become lists, NumPy's numbers Python's, at any depth."""
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
    """Return the generated instance that an object describes.

    The object is {"problem": ..., "name": ..., "comment": ..., "generator": ..., "parameters": {...}}. Raises InputError.

    Args:
        field: The object.
        generators: Name -> generator.
        problem: The name of the problem.
        name: The name of the instance if the object has none.
    """
    record = field.record(fields.generator_call(problem, generators))
    name, comment = heading(record, problem, name)
    generator, parameters = record["generator"].choice(), record.get("parameters", {})
    if not isinstance(parameters.value, dict):
        raise parameters.error("accepted: an object")
    try:
        with options.named(generator):
            instance = options.call(generators[generator], parameters.value)
    except UsageError as error:
        raise parameters.error(str(error)) from None
    return replace(instance, name=name, comment=comment or instance.comment)


class Field:
    """A value of a JSON text with its place and its kind. `integer`, `text`, ... return it as this type or raise InputError.

    If a method is called without a range, a length or keys, those that the kind declares apply.
    """

    __slots__ = ("_step", "_where", "kind", "value")
    value: Any
    """The value; None if it is missing."""
    kind: Kind
    """The declared kind of the value."""

    def __init__(
        self, value: Any, where: str | Field | Record = "", step: int | str | None = None, kind: Kind = _ANYTHING
    ) -> None:
        """Create a field.

        Args:
            value: The value.
            where: The place of the value; with `step`, the object or list that has the value.
            step: The key or the index of the value there.
            kind: The declared kind of the value.
        """
        self.value, self._where, self._step, self.kind = value, where, step, kind

    @property
    def place(self) -> str:
        """The place, such as `jobs[3].operations[2].machine`; "" for the whole text. It is computed only for errors."""
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
        """Return an object, which may have only the keys of `kind`, or of the declared kind if `kind` is None."""
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
        """Return the entries of a list, which must have exactly `count` or at least `least` of them."""
        kind, value = self.kind, self.value
        if count is None and least is None:
            count, least = kind.lengths
        if not isinstance(value, list) or len(value) < (least or 0) or count not in (None, len(value)):
            raise self._refusal(f"a list{_counted(count, least or 0)}")
        for row in kind.rows:  # the declared lists of fixed length, with a kind for each entry (fields.Row)
            if len(row.of) == len(value):
                return [Field(entry, self, k, of) for k, (entry, of) in enumerate(zip(value, row.of))]
        of = kind.entries
        return [Field(entry, self, k, of) for k, entry in enumerate(value)]

    def _declared(self, kind: type[_K]) -> _K | None:
        """Return the declared kind if it is of the class `kind`, otherwise its first alternative that is, or None."""
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
        """Return the value, which must be one of the accepted words."""
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
        if type(value) is not int or not self._in_range(value, Integer, low, high):
            raise self._refusal(self._accepted_number(Integer, low, high).words)
        return value

    def number(self, low: float | None = None, high: float | None = None) -> float:
        """Return a finite float64 in low..high."""
        if not is_number(self.value) or not self._in_range(self.value, Number, low, high):
            raise self._refusal(self._accepted_number(Number, low, high).words)
        return float(self.value)

    def _in_range(self, value: float, kind: type[Number], low: float | None, high: float | None) -> bool:
        """Return whether a number is in the given range, or in the declared range if none is given."""
        if low is not None and high is not None:
            return low <= value <= high
        declared = (
            self.kind if type(self.kind) is kind and low is None and high is None else self._accepted_number(kind, low, high)
        )
        assert isinstance(declared, Number)
        return declared.holds(value)

    def _accepted_number(self, kind: type[_N], low: float | None, high: float | None) -> _N:
        """Return the accepted kind of number: in low..high if given, otherwise the declared kind, otherwise any number."""
        if low is None and high is None:
            return self._declared(kind) or kind()
        return _ranged(kind, low, high)

    def numbers(self, *shape: int | None, low: float | None = None, high: float | None = None) -> NDArray[np.float64]:
        """Return nested lists of finite numbers in low..high as an array, float64 [shape]; None in `shape`: any length from 1."""
        return self._array(Field.number, np.float64, shape, self._accepted_entry(Number, len(shape), low, high))

    def integers(self, *shape: int | None, low: int | None = None, high: int | None = None) -> NDArray[np.int64]:
        """Return nested lists of integers in low..high as an array, int64 [shape]; None in `shape`: any length from 1."""
        return self._array(Field.integer, np.int64, shape, self._accepted_entry(Integer, len(shape), low, high))

    def _accepted_entry(self, kind: type[_N], depth: int, low: float | None, high: float | None) -> _N:
        """Return the accepted kind of the numbers in lists that are nested `depth` levels deep, as `_accepted_number` does."""
        if low is None and high is None:
            return _declared_entry(self.kind, depth, kind) or kind()
        return _ranged(kind, low, high)

    def _array(self, read: Callable[..., Any], dtype: Any, shape: tuple[int | None, ...], kind: Number) -> NDArray[Any]:
        """Return nested lists as an array; `read` returns one entry, or raises InputError at the first fault."""
        low, high = kind.low, kind.high
        array = self._valid_array(dtype, shape, low, high)
        if array is not None:
            return array
        lists, lengths = [self], list[int]()
        for level, count in enumerate(shape):
            if level:
                lists = [entry for each in lists for entry in each.entries(least=0)]
            lengths.append(len(lists[0].entries(least=1)) if count is None else count)
            for each in lists:
                each.entries(lengths[-1])
        return np.array([read(entry, low, high) for each in lists for entry in each.entries(least=0)], dtype).reshape(lengths)

    def _valid_array(self, dtype: Any, shape: tuple[int | None, ...], low: Any, high: Any) -> NDArray[Any] | None:
        """Return the array if all entries are valid; None if they must be examined one by one to find the fault."""
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
        """Return the error that says what is accepted; `near`: a similar accepted word, for a typing error."""
        given = "missing" if self.value is None else f"{_shown(self.value)} is not accepted{near}"
        return self.error(f"{given}; accepted: {accepted}")


class Record:
    """A JSON object that has only accepted keys."""

    __slots__ = ("_kinds", "_where", "values")

    def __init__(self, values: Mapping[str, Any], where: str | Field = "", kinds: Mapping[str, Kind] | None = None) -> None:
        """Create a record.

        Args:
            values: Key -> value.
            where: The place of the object, or the field whose value it is.
            kinds: Key -> declared kind of the value.
        """
        self.values, self._where, self._kinds = values, where, kinds or {}

    @property
    def place(self) -> str:
        """The place, as `Field.place`."""
        return self._where if isinstance(self._where, str) else self._where.place

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def __getitem__(self, key: str) -> Field:
        return self.get(key)

    def get(self, key: str, default: Any = None) -> Field:
        """Return the value of a key, or `default` if the key is missing or null.

        With the default None, the methods of the returned Field that read a value, such as `integer`, raise InputError.
        """
        value = self.values.get(key)
        return Field(default if value is None else value, self, key, self._kinds.get(key, _ANYTHING))


def _counted(count: int | None, least: int) -> str:
    if count is not None:
        return f" of {count:,}"
    return f" of at least {least:,}" if least else ""


def _ranged(kind: type[_N], low: float | None, high: float | None) -> _N:
    bounds: dict[str, Any] = {"low": low, "high": high}
    return kind(**{key: bound for key, bound in bounds.items() if bound is not None})


def _declared_entry(kind: Kind, depth: int, wanted: type[_N]) -> _N | None:
    """Return the declared kind, of class `wanted`, of the entries of lists nested `depth` levels deep; None if there is none."""
    if not depth:
        return next((each for each in kind.alternatives if type(each) is wanted), None)
    inner = (_declared_entry(each.of, depth - 1, wanted) for each in kind.alternatives if isinstance(each, fields.Array))
    return next((each for each in inner if each is not None), None)


def _shown(value: Any) -> str:
    """Return a value of the file as text for a message of one line."""
    if isinstance(value, (list, dict)):
        return f"a list of {len(value):,}" if isinstance(value, list) else "an object"
    return quoted(value) if isinstance(value, str) else json.dumps(value, default=repr)[:40]


def _line(text: Text, place: str) -> int | None:
    """Return the line of the value at a place, or of the innermost enclosing value that exists; None if there is none."""
    at, found = _next_start(text.content, 0), None
    for step in _STEP.findall(place):
        entry = _entry(text.content, at, step)
        if entry is None:
            break
        at = found = entry
    return None if found is None else text.line_at(found)


def _entry(content: str, at: int, step: str) -> int | None:
    """Return the position in `content` of an entry's value; None if the entry is missing.

    Args:
        content: The JSON text.
        at: The position of the object or list.
        step: The entry: a key, or an index such as "[3]".
    """
    decoder, found, is_object = json.JSONDecoder(), None, content[at] == "{"
    if not is_object and content[at] != "[":
        return None
    count, at = 0, _next_start(content, at + 1)
    while content[at] not in "]}":
        key = f"[{count}]"
        if is_object:
            key, at = decoder.raw_decode(content, at)
            at = _next_start(content, at)
        if key == step:
            found = at  # the last one, if the key is repeated
        at, count = _next_start(content, decoder.raw_decode(content, at)[1]), count + 1
    return found


def _next_start(content: str, at: int) -> int:
    """Return the position of the next key, value or bracket from `at` on."""
    match = _BETWEEN.match(content, at)
    return match.end() if match else at
