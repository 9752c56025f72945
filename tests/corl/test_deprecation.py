"""Renamed names: the old one is the new one, with a warning; others do not exist."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from corl.deprecation import renamed, renamed_members


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module whose `Square` was called `Box`."""
    module = ModuleType("shapes")
    module.Square = object()  # type: ignore[attr-defined]
    module.__getattr__ = renamed("shapes", {"Box": "Square"})  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "shapes", module)
    return module


def test_an_old_name_is_the_new_one_and_the_warning_says_which_where_it_is_used(shapes: ModuleType) -> None:
    with pytest.warns(DeprecationWarning, match=r"shapes\.Box is now called Square") as warned:
        found = shapes.Box
    assert found is shapes.Square and warned[0].filename == __file__


def test_an_unknown_name_raises_attribute_error(shapes: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'shapes' has no attribute 'Circle'"):
        _ = shapes.Circle


@renamed_members({"old": "new"})
class Base:
    """A class whose `new` was called `old`."""

    def new(self) -> str:
        return "base"


def test_the_old_name_of_a_member_resolves_to_the_new_one() -> None:
    with pytest.warns(DeprecationWarning, match=r"Base\.old is now called new") as warned:
        assert Base().old() == "base"  # type: ignore[attr-defined]
    assert warned[0].filename == __file__


def test_a_subclass_that_defines_the_old_name_overrides_the_new_one() -> None:
    with pytest.warns(DeprecationWarning, match=r"Plugin\.old is now called new"):

        class Plugin(Base):
            def old(self) -> str:
                return "plug-in"

    assert Plugin().new() == "plug-in"


def test_a_subclass_with_the_new_name_is_left_as_it_is(recwarn: pytest.WarningsRecorder) -> None:
    class Plugin(Base):
        def new(self) -> str:
            return "plug-in"

    assert Plugin().new() == "plug-in" and not recwarn
