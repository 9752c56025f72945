"""Line-numbered text: values, places of faults, and what is refused at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corl.errors import InputError
from corl.files.text import Text, keyword_parts, quoted

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FINITE), st.sampled_from([" ", "\n", "\t", " \n ", "\r\n", "\r", "  \t"]))
def test_numbers_read_back_to_the_bit(values, blank):
    """Numbers written by repr are read back bit for bit, however they are wrapped and whatever ends the lines."""
    read = Text(blank.join(map(repr, values))).numbers("x")
    assert read.tobytes() == np.array(values, np.float64).tobytes()


@given(st.lists(st.tuples(FINITE, FINITE)), st.sampled_from(["\n", "\r\n", "\n\n", "\n \t\n"]))
def test_table_reads_rows(rows, line_end):
    """A table has a row for every line that is not blank."""
    read = Text(line_end.join(f"  {a!r}\t{b!r} " for a, b in rows)).table("x", 2)
    assert read.shape == (len(rows), 2) and read.tolist() == [list(row) for row in rows]


def test_parts_are_read_in_chunks(monkeypatch):
    """The fast path cuts a long text at blanks only, and finds the same numbers."""
    monkeypatch.setattr("corl.files.text._CHUNK", 7)
    values = np.random.default_rng(0).random((50, 3))
    text = Text("\n".join(" ".join(map(repr, row)) for row in values.tolist()))
    assert np.array_equal(text.table("x", 3), values) and np.array_equal(text.numbers("x"), values.ravel())


@pytest.mark.parametrize(
    "token", ["nan", "inf", "-Infinity", "1e999", "1_000", "0x10", "１", "1,5", "--1", "1d", "1p5", "abc", "1.2.3"]
)
@pytest.mark.parametrize("method", ["numbers", "table"])
def test_fault_is_found_in_its_line(token, method):
    """What `float` may take but is no finite decimal number is refused with its line, by the fast path and the slow one."""
    text = Text(f"1 2\n3 4\n\n5 {token}\n6 7\n", "f.txt")
    with pytest.raises(InputError) as error:
        text.numbers("X") if method == "numbers" else text.table("X", 2)
    assert (error.value.file, error.value.line, error.value.field) == ("f.txt", 4, "X")
    assert str(error.value).startswith("f.txt:4: X: ") and "accepted: a number" in str(error.value)


@pytest.mark.parametrize("row", ["1", "1 2 3", "1 2 3 4"])
def test_short_and_long_rows(row):
    """A line with too few or too many numbers is named, even where the count over all lines would fit."""
    with pytest.raises(InputError) as error:
        Text(f"1 2\n{row}\n1 2\n1\n").table("X", 2)
    assert error.value.line == 2


def test_line_numbers_of_parts():
    """A part, its rows and its tokens know their lines in the file."""
    text = Text("a\n\nb c\nd\n")
    part = text.part(3, len(text.content))
    assert list(part.lines()) == [(3, "b c"), (4, "d")]
    assert [part.token_line(i) for i in range(3)] == [3, 3, 4] and [part.row_line(i) for i in range(2)] == [3, 4]
    assert part.last_line == 4 and part.row_line(99) == 4


@pytest.mark.parametrize(
    ("token", "low", "high", "expected"),
    [("7", 1, 9, 7), ("+7", 1, 9, 7), ("-7", -9, 9, -7), ("0", 1, 9, None), ("10", 1, 9, None), ("7.0", 1, 9, None)]
    + [("", 1, 9, None), ("9" * 100, 1, 9, None), ("1_0", 1, 99, None), ("٣", 1, 9, None)],
)
def test_integer(token, low, high, expected):
    """Integers are plain digits in range; anything else is refused with the range."""
    if expected is not None:
        assert Text("x").integer(token, "F", 3, low, high) == expected
        return
    with pytest.raises(InputError, match=rf"F: .*accepted: an integer from {low} to {high}"):
        Text("x").integer(token, "F", 3, low, high)


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", 1, "empty"),
        (b"\xef\xbb\xbf \r\n", 1, "empty"),
        (b"abc\n\xff\xfe", 2, "not UTF-8"),
        (b"abc\n\nab\0c", 3, "zero byte"),
        (b"x" * 101, None, "too large; accepted: text of at most 100 bytes"),
    ],
)
def test_files_that_are_no_text(tmp_path, data, line, message):
    """Empty, binary, wrongly encoded and too large files are refused in one line."""
    path = tmp_path / "f"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as error:
        Text.read(path, largest=100)
    assert error.value.line == line and "\n" not in str(error.value)


def test_byte_order_mark_and_line_ends(tmp_path):
    """A byte-order mark is dropped, and LF, CRLF and CR all end a line."""
    path = tmp_path / "f"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n d \n")
    assert list(Text.read(path).lines()) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@pytest.mark.parametrize(("token", "value"), [("1.0D+02", 100), ("-.5d-1", -0.05), ("2.D0", 2), ("3d4", 30000)])
def test_numbers_as_fortran_writes_them(token, value):
    """D stands for E, in single numbers, in runs of them, and in tables."""
    text = Text(f"1 {token}\n3 4\n")
    assert text.number(token, "x", 1) == value
    assert text.numbers("x").tolist() == [1, value, 3, 4] and text.table("x", 2).tolist() == [[1, value], [3, 4]]


def test_quoted_is_short_and_on_one_line():
    """What is quoted in a message is cut and escaped."""
    assert len(quoted("x" * 10**6)) < 50 and "\n" not in quoted("a\nb")


def parts(content, repeatable=("COMMENT",)):
    return keyword_parts(
        Text(content, "f"), ("NAME", "COMMENT", "A_SECTION", "B_SECTION", "EOF"), {"BAD": "not here"}, repeatable
    )


def test_keyword_parts():
    """Header values, repeated comments, sections with their lines; nothing after EOF counts."""
    header, sections = parts("name: x y\nCOMMENT : a\n\nCOMMENT b\nA_SECTION\n1 2\n nan\n-1\nB_SECTION : \n3\nEOF\nrubbish 1")
    assert (header["NAME"].value, header["NAME"].line) == ("x y", 1)
    assert (header["COMMENT"].value, header["COMMENT"].line) == ("a\nb", 2)
    assert list(sections["A_SECTION"].lines()) == [(6, "1 2"), (7, "nan"), (8, "-1")]
    assert list(sections["B_SECTION"].lines())[-1] == (10, "3")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("NAME : a\nNAME : b\n", 2, "NAME: given twice, first in line 1"),
        ("A_SECTION\n1\nA_SECTION\n", 3, "A_SECTION: given twice, first in line 1"),
        ("NAME : a\nBAD : 1\n", 2, "BAD: not here"),
        ("NAME : a\nCOMENT : 1\n", 2, "COMENT: not a known keyword; the most similar are: COMMENT, "),
        ("NAME : a\nB : 1\n", 2, "B: not a known keyword"),
        ("NAME : a\nOTHER 1\n", 2, "OTHER: not a known keyword"),
        ("NAME : a\nOTHER_SECTION : 1\n", 2, "OTHER_SECTION: not a known keyword"),
        ("NAME : a\nOTHER : 1\n3 4\n", 3, "'3 4' is not accepted"),
        ("NAME : a\n1 2 3\n", 2, "'1 2 3' is not accepted"),
        ("\n@#\nNAME : a\n", 2, "'@#' is not accepted"),
    ],
)
def test_keyword_faults(content, line, message):
    """Keywords given twice, refused or unknown, and data outside a section, are named with their line."""
    with pytest.raises(InputError) as error:
        parts(content)
    assert error.value.line == line and message in str(error.value)


def test_remarks_in_keyword_files():
    """Lines that begin with # are comments, in the header and in sections; lines keep their numbers."""
    header, sections = parts("# first\nNAME : a # b\n  # COMMENT : c\nA_SECTION\n# d\n1 2\n#3\n")
    assert [*header] == ["NAME"] and header["NAME"].value == "a # b" and list(sections["A_SECTION"].lines()) == [(6, "1 2")]


def test_headers_of_others_are_skipped(caplog):
    """A line `KEYWORD : value` of somebody's own is skipped, given twice or empty, with a warning that names it and its line."""
    header, sections = parts("NAME : a\nTSPSOL : 6773\nBest known : 5\nTSPSOL :\nA_SECTION\n1\nUNITS : km\n")
    assert set(header) == {"NAME"} and list(sections["A_SECTION"].lines()) == [(6, "1")]
    said = [record.getMessage() for record in caplog.records]
    assert said == [f"f:{k}: {key}: not a known keyword; the line is skipped" for k, key in
                    ((2, "TSPSOL"), (3, "BEST"), (4, "TSPSOL"), (7, "UNITS"))]  # fmt: skip


@given(st.text("0123456789- \n\t.", max_size=60))
def test_whole_numbers_are_read_as_all_others(content):
    """The short way for digits and signs alone gives the bits of `float`, and what is no number is refused as ever."""
    try:
        expected = [float(token) for token in content.split()]
    except ValueError:
        with pytest.raises(InputError):
            Text(content).numbers("X")
        return
    found = Text(content).numbers("X")
    assert found.tobytes() == np.array(expected, np.float64).tobytes()
