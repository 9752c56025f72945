"""Renamed names: the old one is the new one, with a warning; others do not exist."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from corl.deprecation import renamed


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
