"""Options: declared by `option`, read from texts, checked wherever they come from."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

import corl
from corl import registry
from corl.errors import UsageError
from corl.learning.recipe import recipe_class, recipe_names
from corl.options import Options, Row, build, call, declarations, option, option_table, parse_pairs, values

SMALL = corl.generate("knapsack", size=3)


@dataclass(frozen=True)
class Plain:
    """Fields without `option`, as a third party may have them."""

    count: int = 3
    share: float = 0.5
    most: int | None = None
    fast: bool = False
    mode: Literal["a", "b"] = "a"
    label: str = ""
    sizes: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class Ranged(Options):
    """Every kind of range."""

    count: int = option(0, "So many; 0: automatic.", low=2, special=0, scale="log")
    share: float = option(0.5, "A share.", low=0, high=1)
    rate: float = option(1e-3, "Of learning.", above=0, scale="log")
    discount: float = option(0.9, "Of rewards.", above=0, below=1)
    tail: float = option(0.5, "Above 0.", above=0, high=1)
    depth: int = option(5, "Of a tree.", high=9)
    most: int | None = option(None, "Or none.", low=1)
    mode: Literal["a", "b"] = option("a", "How.")
    rule: str = option("x", "Which.", choices=lambda: ("x", "y"))
    sizes: tuple[int, ...] = option((1, 2), "Of layers.", low=1)
    name: str = option("", "Any text.")


@dataclass(frozen=True)
class Dependent(Options):
    low: int = option(1, "The least.", low=0)
    high: int = option(2, "The greatest.", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            raise UsageError(f"option low is {self.low}; accepted: an integer up to high, {self.high}")


def test_texts_become_values():
    """Each field's type decides how its text is read."""
    texts = {"count": "7", "share": "1e-3", "most": "9", "fast": "yes", "mode": "b", "label": "x=y", "sizes": "5,3"}
    assert build(Plain, texts) == Plain(7, 1e-3, 9, True, "b", "x=y", (5, 3))
    assert build(Plain, {"most": "none"}).most is None


@pytest.mark.parametrize(
    ("key", "given", "shown", "accepted"),
    [
        ("count", "x", "'x'", "an integer"), ("count", 2.5, "2.5", "an integer"), ("count", None, "None", "an integer"),
        ("fast", "maybe", "'maybe'", "true or false"), ("mode", "c", "'c'", "a, b"), ("share", "nan", "'nan'", "a number"),
        ("share", 10**400, r"1000.*\.\.\.", "a number"), ("most", "1.5", "'1.5'", "none, or an integer"),
        ("label", 3, "3", "a text"), ("sizes", "1,x", "'1,x'", "integers, separated by commas"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(key, given, shown, accepted):
    """In a line that names the option, the value and what is accepted, whether it is a text or a value."""
    with pytest.raises(UsageError, match=f"^option {key} is {shown}; accepted: {accepted}$"):
        build(Plain, {key: given})


@pytest.mark.parametrize(
    ("key", "given", "accepted"),
    [
        ("count", 1, "0, or an integer from 2"), ("share", 1.5, "a number from 0 to 1"), ("share", -0.1, "a number from 0 to 1"),
        ("rate", 0.0, "a number above 0"), ("rate", float("inf"), "a number above 0"), ("rate", float("nan"), "a number above 0"),
        ("discount", 1.0, "a number above 0 and below 1"), ("discount", 0.0, "a number above 0 and below 1"),
        ("tail", 1.1, "a number above 0 and up to 1"), ("depth", 10, "an integer up to 9"),
        ("most", 0, "none, or an integer from 1"), ("mode", "c", "a, b"), ("rule", "z", "x, y"),
        ("sizes", (1, 0), "integers from 1, separated by commas"), ("name", 3, "a text"),
        ("count", 2.5, "0, or an integer from 2"),
    ],
)  # fmt: skip
def test_ranges_are_checked_wherever_a_value_comes_from(key, given, accepted):
    """Built from keywords or made directly, with the same line."""
    for make in (lambda: build(Ranged, {key: given}), lambda: Ranged(**{key: given})):
        with pytest.raises(UsageError, match=f"^option {key} is .*; accepted: {accepted}$"):
            make()


def test_values_at_the_ends_of_ranges_are_accepted():
    """low, high, `also` and none are values; texts are only where texts are read."""
    ends = {"count": 2, "share": 1.0, "tail": 1.0, "depth": 9, "most": 1, "rule": "y", "sizes": (1,)}
    assert Ranged(**ends) == build(Ranged, {key: str(value).strip("(),") for key, value in ends.items()})
    assert Ranged(count=0, share=0, most=None).count == 0
    with pytest.raises(UsageError, match="option count is '2'; accepted"):
        Ranged(count="2")


def test_options_that_depend_on_each_other():
    """A class's own check comes after the ranges."""
    for options, message in (({"low": 3}, "up to high, 2"), ({"low": -1}, "option low is -1; accepted: an integer from 0")):
        with pytest.raises(UsageError, match=message):
            Dependent(**options)


def test_a_class_that_checks_nothing_by_itself_is_checked_by_build():
    """A third party's `__post_init__` may leave out the base class's."""

    @dataclass(frozen=True)
    class Own(Options):
        share: float = option(0.5, "A share.", low=0, high=1)

        def __post_init__(self) -> None:
            pass

    Own.__annotations__["share"] = float
    with pytest.raises(UsageError, match=r"option share is 2\.0; accepted: a number from 0 to 1"):
        build(Own, {"share": "2"})


def test_unknown_options_are_answered_by_the_names():
    """And by the nearest one."""
    with pytest.raises(UsageError, match=r"^no option 'shar' \(did you mean 'share'\?\); there are: count, share"):
        build(Plain, {"shar": 3})


@pytest.mark.parametrize(
    ("owner", "call"),
    [
        ("greedy", lambda: corl.solve(SMALL, solver="greedy", speed=1)),
        ("dp", lambda: corl.solve(SMALL, speed=1)),  # the solver that auto chooses
        ("policy-gradient", lambda: corl.train("knapsack", recipe="policy-gradient", speed=1)),
        ("weakly-correlated", lambda: corl.generate("knapsack", "weakly-correlated", speed=1)),
        ("lazy", lambda: corl.dispatcher("lazy", corl.generate("vrp", "requests"), speed=1)),
        ("greedy", lambda: corl.tune("knapsack", "greedy", instances=".", budget=1, time_limit=1, speed=1)),
    ],
)
def test_messages_name_the_solver_and_no_class(owner, call):
    """By the name that a user gives, in one line: a solver, a recipe, a generator, an online policy."""
    with pytest.raises(UsageError, match=rf"^{owner}: no option 'speed'.*; there are: .+$"):
        call()


def test_a_wrong_value_is_named_with_the_solver():
    """In one line with the value and what is accepted."""
    with pytest.raises(UsageError, match=r"^policy: option temperature is 0\.0; accepted: a number above 0$"):
        corl.solve(SMALL, solver="policy", temperature=0)


def test_numpy_scalars_are_numbers():
    """A solver holds Python's numbers, whatever they came as, and checks their range."""
    made = Ranged(count=np.int64(4), share=np.float32(0.25), most=np.uint8(3))
    assert [type(each) for each in (made.count, made.share, made.most)] == [int, float, int]
    assert json.loads(json.dumps(values(made)))["share"] == 0.25
    with pytest.raises(UsageError, match="option count is 1; accepted"):
        Ranged(count=np.int64(1))
    with pytest.raises(UsageError, match="option share is of type ndarray; accepted"):
        Ranged(share=np.ones(2))


def test_pairs():
    """KEY=VALUE, dashes as underscores; anything else is a usage error."""
    assert parse_pairs(["a-b=1", "c = d=e"]) == {"a_b": "1", "c": "d=e"}
    with pytest.raises(UsageError):
        parse_pairs(["nothing"])


def test_functions_take_them_too():
    """A generator's keywords are converted alike, and a seed is no negative number."""

    def make(*, size: int, seed: int = 0) -> tuple[int, int]:
        return size, seed

    assert call(make, {"size": "5", "seed": 2}) == (5, 2)
    with pytest.raises(UsageError, match="size, seed"):
        call(make, {"length": "5"})
    with pytest.raises(UsageError, match=r"^option size is missing; accepted: an integer$"):
        call(make, {})
    with pytest.raises(UsageError, match="option seed is -1; accepted: an integer from 0"):
        call(make, {"size": 5, "seed": "-1"})


def test_the_table_lists_every_option():
    """`corl list solvers` has name, type and default of each, with what is accepted and the help of those declared."""
    plain, ranged = option_table(Plain), option_table(Ranged)
    assert Row("mode", "a | b", "a", "a, b", "") in plain
    assert Row("sizes", "int,...", "1,2", "integers, separated by commas", "") in plain
    assert Row("most", "int | none", "none", "none, or an integer", "") in plain
    assert ranged[0] == Row("count", "int", "0", "0, or an integer from 2", "So many; 0: automatic.")
    assert option_table(object) == []


def test_a_required_option_is_asked_for():
    """A field without default is named by the error and shown as required."""

    @dataclass(frozen=True)
    class Needy:
        level: Literal[1, 2]

    Needy.__annotations__["level"] = Literal[1, 2]
    assert option_table(Needy) == [Row("level", "1 | 2", "required", "1, 2", "")] and build(Needy, {"level": "2"}).level == 2
    with pytest.raises(UsageError, match=r"^option level is missing; accepted: 1, 2$"):
        build(Needy, {})


def registered() -> list[type]:
    """Every solver and every recipe, once."""
    kinds = [registry.solver(problem, name) for problem in registry.problems() for name in registry.solvers(problem)]
    kinds += [recipe_class(problem, name) for problem in registry.problems() for name in recipe_names(problem)]
    return sorted(set(kinds), key=lambda kind: (kind.__module__, kind.__qualname__))


@pytest.mark.parametrize("kind", registered(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_registered_option_is_declared(kind):
    """It has a help, a default in its range, and is checked where an object is made directly."""
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    for name, (_, known) in declarations(kind).items():
        assert known is not None, f"{name} has no help: declare it by corl.options.option"
        assert known.help.endswith(".") and len(known.help) <= 400, f"{name}: {known.help}"
        assert known.holds(defaults[name]), name
        if known.range.limits:
            with pytest.raises(UsageError, match=f"^option {name} is inf; accepted: "):
                kind(**{name: float("inf")})
