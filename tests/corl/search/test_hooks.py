"""Hooks: many classes behind one name, whenever they are attached."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel


class Early(NamedTuple):
    left: np.ndarray


class Late(NamedTuple):
    left: np.ndarray


@attach(hooks.actions, Early)
def one(state, row, out):
    return 1


def import_in_between():
    """Stands for reading a kernel from the disk cache, which imports the modules of the classes that it names."""
    raise NotImplementedError


@overload(import_in_between)
def attach_in_between():
    attach(hooks.actions, Late)(lambda state, row, out: 2)
    return lambda: None


@kernel
def both(early, late, out):
    first = hooks.actions(early, 0, out)
    import_in_between()
    return first + 10 * hooks.actions(late, 0, out)


def test_a_class_attached_in_the_middle_of_a_compilation():
    """The hook's numba type does not change: an overload for each class failed here with "Cannot unify"."""
    assert both(Early(np.zeros(1)), Late(np.zeros(1)), np.zeros(1, np.int32)) == 21


def test_the_more_classes_the_more_special():
    """A function for two classes goes before one for the first alone."""

    @hooks.hook
    def pair(first, second):
        raise NotImplementedError

    @attach(pair, Early)
    def general(first, second):
        return 1.0

    @attach(pair, Early, Late)
    def special(first, second):
        return 2.0

    @kernel
    def ask(first, second):
        return pair(first, second)

    early, late = Early(np.zeros(1)), Late(np.zeros(1))
    assert ask(early, early) == 1.0 and ask(early, late) == 2.0


def test_a_hook_has_two_overloads():
    """However many classes are attached."""
    from numba.core.registry import cpu_target

    templates = cpu_target.typing_context.resolve_value_type(hooks.actions)
    assert isinstance(templates, types.Function) and len(templates.templates) == 2
