"""Options from texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from corl.errors import UsageError
from corl.options import build, call, option_table, parse_pairs


@dataclass(frozen=True)
class Sample:
    count: int = 3
    share: float = 0.5
    most: int | None = None
    fast: bool = False
    mode: Literal["a", "b"] = "a"
    label: str = ""
    sizes: tuple[int, ...] = (1, 2)


def test_texts_become_values():
    """Each field's type decides how its text is read."""
    texts = {"count": "7", "share": "1e-3", "most": "9", "fast": "yes", "mode": "b", "label": "x=y", "sizes": "5,3"}
    assert build(Sample, texts) == Sample(7, 1e-3, 9, True, "b", "x=y", (5, 3))
    assert build(Sample, {"most": "none"}).most is None


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("count", "x", "int"), ("fast", "maybe", "true | false"), ("mode", "c", "a | b"), ("size", "3", "count, share"),
        ("most", "1.5", "int | none"), ("count", 2.5, "int"), ("share", "nan", "float"), ("count", None, "int"),
        ("label", 3, "str"),
    ],
)  # fmt: skip
def test_bad_options_name_what_is_accepted(key, text, words):
    """An unknown name lists the names, a bad value its type; values from Python are checked like texts."""
    with pytest.raises(UsageError, match=words.replace("|", r"\|")):
        build(Sample, {key: text})


def test_pairs():
    """KEY=VALUE, dashes as underscores; anything else is a usage error."""
    assert parse_pairs(["a-b=1", "c = d=e"]) == {"a_b": "1", "c": "d=e"}
    with pytest.raises(UsageError):
        parse_pairs(["nothing"])


def test_functions_take_them_too():
    """A generator's keywords are converted alike."""

    def make(*, size: int, seed: int = 0) -> tuple[int, int]:
        return size, seed

    assert call(make, {"size": "5", "seed": 2}) == (5, 2)
    with pytest.raises(UsageError, match="size, seed"):
        call(make, {"length": "5"})
    with pytest.raises(UsageError, match="size"):
        call(make, {})


def test_the_table_lists_every_option():
    """`corl list solvers` has name, type and default of each."""
    assert ("mode", "a | b", "a") in option_table(Sample) and ("most", "int | none", "none") in option_table(Sample)
    assert ("sizes", "int,...", "1,2") in option_table(Sample)


def test_a_required_option_is_asked_for():
    """A field without default is named by the error and shown as required."""

    @dataclass(frozen=True)
    class Needy:
        level: Literal[1, 2]

    Needy.__annotations__["level"] = Literal[1, 2]
    assert option_table(Needy) == [("level", "1 | 2", "required")] and build(Needy, {"level": "2"}).level == 2
    with pytest.raises(UsageError, match="level"):
        build(Needy, {})
