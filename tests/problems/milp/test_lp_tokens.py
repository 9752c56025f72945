"""The tokens of LP files: shortcuts for runs of terms and whole lines read what single tokens say, and junk costs no time."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corl.errors import InputError
from corl.files.text import Text
from corl.problems.milp.formats import lp_reader, lp_tokens, read_text


def read(content):
    return read_text(Text(content, "f.lp"), "f")


@pytest.mark.parametrize("end", [" ", "\n"])
@pytest.mark.parametrize("junk", ["a b 3 : <= ]", "+ - + - + -", "3 4 5 6", "+ a + b + c ^ 2", "x1 >= + a - b + c ]"])
@pytest.mark.parametrize("section", ["minimize", "subject to", "bounds", "general"])
def test_lp_junk_is_refused_where_it_begins(section, junk, end, monkeypatch):
    """However much of it there is, on one line or on many, few tokens are cut."""
    cut, token = [], lp_tokens.Token
    monkeypatch.setattr(lp_tokens, "Token", lambda *parts: cut.append(parts) or token(*parts))
    before = "" if section == "minimize" else "minimize\nx\nsubject to\nx >= 1\n" if section != "subject to" else "minimize\nx\n"
    with pytest.raises(InputError) as error:
        read(f"{before}{section}\n" + (junk + end) * 10_000)
    assert error.value.line == before.count("\n") + 2
    assert len(cut) < 200


def test_lp_rows_without_names_are_counted_on():
    """A name that is taken is tried once, however many rows without a name follow."""
    taken = [f" c{i}: x >= 1\n" for i in range(1001, 2001)]
    reader = lp_reader._Reader(Text("minimize\n x\nsubject to\n" + "".join(taken) + " x >= 2\n" * 1000))
    tried = reader.build.row_names = _Tried()
    program = reader.read("f")
    assert list(program.row_names) == [f"c{i}" for i in range(1001, 3001)]
    assert tried.count < 5000


class _Tried(dict):
    """A dictionary that counts how often it is asked whether a key is there."""

    count = 0

    def __contains__(self, key):
        self.count += 1
        return super().__contains__(key)


def _outcome(content):
    """The instance that a text is read as, or the error."""
    try:
        program = read(content)
    except InputError as error:
        return str(error)
    fields = ("c", "first", "column", "value", "row_lower", "row_upper", "lower", "upper", "integer")
    return [getattr(program, name).tolist() for name in fields], program.names, program.row_names, program.offset


_PIECES = (
    "+ 3 x", "- 2.5 y ", "+1 z", "-w", "+ 3x", "- - 2 x", "+ 1e+5 x", "2e+5 z", "3e -4 y", "+ 1e999 x", "+ inf", "- nan",
    "+ 1_0 x", "+\u0663 x", "+ 3 4", "<= 3", ">= 4 ", "\n", " c1: ", "\n c2:", "-inf <= ", "[ x ]", "^2", " * ", "x", " -> ",
    "+", "<=", "+ 7", "\nbounds\n", "0 <= x <= 1\n", "-inf<=y<= +1e30\n", "z free\n", "1 <= x <= inf\n",
    "- INFINITY <= x <= 3\n", "\ngeneral\n", " x \n y\n", "\\ comment\n",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=24))
@example(["2e+5 z + 3 x - y >= 2"])  # a sign that belongs to a number
@example(["x >= + 3 y + z + w >= 2"])  # the next row begins in the middle of what looks like a run
@example(["- + 3 x - y + z - x <= 1"])  # two signs before a run; a variable twice
@example(["+ 3 x - 1e999 y + z <= 1"])
@example(["+inf +nan -x <= 2 \n bounds \n - 1 <= x <= 4\n -1 <=y<= inf\n general x y\n z"])
def test_lp_shortcuts_read_what_single_tokens_say(pieces):
    """Runs of terms and whole lines taken at once give the instance, or the fault and its line, that token by token gives."""
    content = "minimize\n x + y + 2 z\nsubject to\n" + " ".join(pieces) + "\nend\n"
    quick = _outcome(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lp_tokens, "_in_section", lambda section, content, line: lp_tokens.tokens_of(content, line))
        assert quick == _outcome(content)


@pytest.mark.parametrize("run", ["+1 x +2.5 y -z", "+ 1 x + 2.5 y - 1 z", "+x +2.5y - z", "+ 1 x+2.5 y - z"])
def test_lp_runs_of_terms(run):
    """However the parts of the terms are spaced, they are the same terms."""
    assert lp_tokens.term_parts(run) == ([1, 2.5, -1], ["x", "y", "z"])
