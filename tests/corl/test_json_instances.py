"""The reader of instances in JSON: what it gives, and that a fault names the file, its line, the field and what is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from corl import fields
from corl.errors import InputError
from corl.files.json_instances import Field, generated, heading, plain, read_object
from corl.files.text import Text


def keys(*names: str, **more: Any) -> fields.Object:
    """An object of anything under these keys."""
    return fields.Object({}, dict.fromkeys(names, fields.Anything()), **more)


CONTENT = """{"problem": "plants", "name": "garden", "beds": [
  {"row": 1, "open": true, "kind": "herb"},
  {"row": 2, "area": [1.5, 2],
   "pairs": [[1, 2],
             [3, 4]]}]}
"""
BED = keys("row", "open", "kind", "area", "pairs")
KEYS = keys("problem", "name", "comment", "beds")


def test_what_is_read():
    """Every kind of value, defaults for what is missing or null, and the dtypes and shapes of arrays."""

    def read(field: Field) -> list[Any]:
        record = field.record(KEYS)
        assert heading(record, "plants", "other") == ("garden", "")
        first, second = (bed.record(BED) for bed in record["beds"].entries(2))
        pairs, area = second["pairs"].integers(None, 2), second["area"].numbers(2, low=0.0)
        assert (pairs.dtype, pairs.tolist(), area.dtype) == (np.int64, [[1, 2], [3, 4]], np.float64)
        assert "open" not in second and first["row"].place == "beds[0].row"
        return [
            first["row"].integer(1, 2),
            first["open"].flag(),
            first["kind"].choice(("herb", "tree")),
            second.get("row", 5).number(),
        ]

    assert read_object(Text(CONTENT), read) == [1, True, "herb", 2.0]
    assert Field({"row": None}).record(BED).get("row", 7).integer() == 7
    assert Field([]).integers(0, 4).shape == (0, 4)


FAULTS: list[tuple[str, str, str, Callable[[Field], Any], str]] = [
    ('"row": 2', '"row": "2"', "row", lambda row: row.integer(1, 9), "'2' is not accepted; accepted: an integer from 1 to 9"),
    ('"row": 2, ', "", "row", lambda row: row.integer(0), "missing; accepted: an integer from 0"),
    ("", "", "row", lambda row: row.text(), "2 is not accepted; accepted: a text"),
    ("", "", "row", lambda row: row.record(keys("x", "y")), "2 is not accepted; accepted: an object with the keys x, y"),
    ("", "", "pairs", lambda pairs: pairs.integers(3, 2), "a list of 2 is not accepted; accepted: a list of 3"),
    ("3, 4", "3", "pairs[1]", lambda pairs: pairs.integers(None, None), "a list of 1 is not accepted; accepted: a list of 2"),
    ("3, 4", "3, 4.0", "pairs[1][1]", lambda pairs: pairs.integers(2, 2), "4.0 is not accepted; accepted: an integer"),
    ("3, 4", "3, true", "pairs[1][1]", lambda pairs: pairs.numbers(2, 2), "true is not accepted; accepted: a number"),
    ("3, 4", f"3, 1{'0' * 400}", "pairs[1][1]", lambda pairs: pairs.numbers(2, 2), f"1{'0' * 39} is not accepted"),
    ("1.5", "-1.5", "area[0]", lambda area: area.numbers(2, low=0, high=2.5), 
     "-1.5 is not accepted; accepted: a number from 0 to 2.5"),
    ("[1.5, 2]", "{}", "area", lambda area: area.entries(), "an object is not accepted; accepted: a list"),
    ("[1.5, 2]", "[]", "area", lambda area: area.numbers(None), "a list of 0 is not accepted; accepted: a list of at least 1"),
    ('"row": 2', '"open": 1', "open", lambda is_open: is_open.flag(), "1 is not accepted; accepted: true or false"),
    ('"row": 2', '"kind": "herbs"', "kind", lambda kind: kind.choice(("herb", "tree")),
     "'herbs' is not accepted (did you mean 'herb'?); accepted: herb, tree"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "place", "read", "message"), FAULTS)
def test_faults(old: str, new: str, place: str, read: Callable[[Field], Any], message: str):
    """The second bed, with one thing in it that the reader does not accept: the line is that where it stands."""
    key = place.partition("[")[0]
    with pytest.raises(InputError) as raised:
        read_object(
            Text(CONTENT.replace(old, new), "beds.json"),
            lambda field: read(field.record(KEYS)["beds"].entries()[1].record(BED)[key]),
        )
    line = {"pairs": 4, "pairs[1]": 5, "pairs[1][1]": 5}.get(place, 3)
    assert str(raised.value).startswith(f"beds.json:{line}: beds[1].{place}: {message}")


def test_faults_that_a_reader_finds():
    """Keys that are not known, or not supported; what the reader says of a field; a field that is not in the text."""
    for read, message in (
        (lambda bed: bed.record(keys("row", "area", "pears")),
         "beds.json:3: beds[1]: there is no key 'pairs' (did you mean 'pears'?); accepted: row, area, pears"),
        (lambda bed: bed.record(keys("row", "pairs", refused={"area": "areas"})),
         "beds.json:3: beds[1].area: areas: not supported"),
        (lambda bed: bed.error("too far; accepted: near"), "beds.json:3: beds[1]: too far; accepted: near"),
        (lambda bed: InputError("odd", field="elsewhere[3]"), "beds.json: elsewhere[3]: odd"),
    ):  # fmt: skip

        def reader(field: Field, read: Callable[[Field], Any] = read) -> None:
            found = read(field.record(KEYS)["beds"].entries()[1])
            assert isinstance(found, InputError)
            raise found

        with pytest.raises(InputError) as raised:
            read_object(Text(CONTENT, "beds.json"), reader)
        assert str(raised.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1,\n "b": }', "beds.json:2: not JSON"),
        ("\n[1]", "beds.json:1: accepted: a JSON object"),
        ('{"problem": "stones"}', "beds.json:1: problem: 'stones' is not accepted; accepted: plants"),
        ('{"name":\n 3}', "beds.json:2: name: 3 is not accepted; accepted: a text"),
    ],
)
def test_faults_of_the_whole(content: str, message: str):
    """What is no object of this problem."""
    with pytest.raises(InputError) as raised:
        read_object(Text(content, "beds.json"), lambda field: heading(field.record(KEYS), "plants"))
    assert str(raised.value).startswith(message)


@dataclass(frozen=True)
class Garden:
    """What a generator makes."""

    beds: int
    name: str = ""
    comment: str = "made"


def garden(beds: int, seed: int = 0) -> Garden:
    """A generator."""
    return Garden(beds + seed)


def test_calls_of_generators():
    """The generator's own instance, with the file's name and comment; its refusals name the parameters."""
    call = {"problem": "plants", "generator": "garden", "parameters": {"beds": 3}}
    assert generated(Field(call), {"garden": garden}, "plants", "file") == Garden(3, "file")
    assert generated(Field(call | {"name": "n", "comment": "c"}), {"garden": garden}, "plants") == Garden(3, "n", "c")
    for change, message in (
        ({"generator": "gardn"}, "generator: 'gardn' is not accepted (did you mean 'garden'?); accepted: garden"),
        ({"parameters": {"bed": 3}}, "parameters: "),
        ({"parameters": []}, "parameters: accepted: an object"),
        ({"seed": 1}, "there is no key 'seed'; accepted: generator, problem, name, comment, parameters"),
    ):
        with pytest.raises(InputError) as raised:
            generated(Field(call | change), {"garden": garden}, "plants")
        assert str(raised.value).startswith(message)


def test_plain_values_of_python():
    """What users hold in Python reads as JSON does; NaN is refused, as no file can hold it."""
    value = plain({"a": np.arange(2), "b": (np.float64(0.5), {"c": np.int32(3)})})
    assert value == {"a": [0, 1], "b": [0.5, {"c": 3}]} and type(value["b"][1]["c"]) is int
    with pytest.raises(InputError, match=r"a\[1\]: NaN is not accepted; accepted: a number"):
        Field([1.0, float("nan")], "a").numbers(None)


def test_a_matrix_is_looked_at_as_a_whole(monkeypatch):
    """Of a matrix without a fault no entry is looked at by itself: as many fields are made for 30 x 30 numbers as for 2 x 2."""
    made = []
    monkeypatch.setattr(Field, "__init__", lambda self, value, *where: made.append(value))
    for n in (2, 30):
        field = Field.__new__(Field)
        field.kind = fields.Anything()
        field.value = [[float(i * j) for i in range(n)] for j in range(n)]
        assert field.numbers(n, n).shape == (n, n)
    assert made == []


def test_lists_without_lists_are_taken_over(monkeypatch):
    """What is plain stays as it is, and an array's or a tuple's entries become Python's at any depth."""
    given = {"a": [1, 2.5, "x", None, True], "b": (np.int64(3), [np.float64(0.5)]), "c": [[1, 2], [np.int32(3), 4]]}
    found = plain(given)
    assert found == {"a": [1, 2.5, "x", None, True], "b": [3, [0.5]], "c": [[1, 2], [3, 4]]}
    assert type(found["b"][0]) is int and type(found["b"][1][0]) is float and type(found["c"][1][0]) is int


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([[1, 2], [3, "x"]], "[1][1]: 'x' is not accepted"),
        ([[1, 2], [3, True]], "[1][1]: true is not accepted"),
        ([[1, 2], [3]], "[1]: a list of 1 is not accepted"),
        ([[1, 2], 3], "[1]: 3 is not accepted"),
        ([[1, 2], [3, 10**400]], "[1][1]"),
        ([[1, -1], [3, 4]], "[0][1]: -1 is not accepted"),
        ([[1, 2], [3, None]], "[1][1]: missing"),
        ([], "a list of 0 is not accepted"),
        ([[], []], "[0]: a list of 0 is not accepted"),
    ],
)
def test_a_fault_in_a_matrix_is_named(value, message):
    """One wrong entry, row or length among right ones is named with its place."""
    with pytest.raises(InputError) as error:
        Field(value).numbers(2, 2, low=0.0)
    assert message in str(error.value)


def test_kinds_are_declared_once():
    """Ranges, lengths, words and keys are those of the declared kind, of entries too; what a call is told counts instead."""
    bed = fields.Object(
        {"row": fields.Integer(1, 9)}, {"area": fields.Either(fields.Number(0), fields.Array(fields.Number(0), 2))}
    )
    kind = fields.Object({"beds": fields.Array(bed, 1), "kind": fields.Choice(("herb", "tree"))})

    def read(**changes: Any) -> list[Any]:
        given = Field({"beds": [{"row": 3, "area": [1, 2]}], "kind": "herb"} | changes, kind=kind).record()
        first = given["beds"].entries()[0].record()
        area = first["area"]
        size = area.numbers(None).tolist() if isinstance(area.value, list) else area.number()
        return [first["row"].integer(), size, given["kind"].choice()]

    assert read() == [3, [1.0, 2.0], "herb"] and read(beds=[{"row": 1, "area": 5}]) == [1, 5.0, "herb"]
    for change, message in (
        ({"beds": []}, "beds: a list of 0 is not accepted; accepted: a list of at least 1"),
        ({"beds": [{"row": 10}]}, r"beds\[0\].area: missing; accepted: a number from 0"),
        ({"beds": [{"row": 10, "area": 1}]}, r"beds\[0\].row: 10 is not accepted; accepted: an integer from 1 to 9"),
        ({"beds": [{"row": 1, "area": [1, -2]}]}, r"beds\[0\].area\[1\]: -2 is not accepted; accepted: a number from 0"),
        ({"kind": "bush"}, "kind: 'bush' is not accepted; accepted: herb, tree"),
        ({"kinds": 1}, "there is no key 'kinds'"),
    ):
        with pytest.raises(InputError, match=message):
            read(**change)
    assert Field(12, kind=fields.Integer(1, 9)).integer(1, 20) == 12
