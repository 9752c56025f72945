"""Environment: what corl supplies around a problem's two kernels, on a toy: count down from n by ones and twos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from corl import hooks
from corl.environment import Environment
from corl.errors import UsageError
from corl.hooks import attach
from corl.jit import kernel


class CountState(NamedTuple):
    left: np.ndarray
    cost: np.ndarray


class OtherState(NamedTuple):
    left: np.ndarray
    cost: np.ndarray


@attach(hooks.step, CountState)
def count_down(state, src, dst, action):
    if action < 1 or action > min(2, state.left[src]):
        return math.nan
    state.left[dst] = state.left[src] - action
    state.cost[dst] = state.cost[src] + action * action
    return -float(action * action)


@attach(hooks.actions, CountState)
def list_one_and_two(state, row, out):
    count = min(2, state.left[row])
    for k in range(count):
        out[k] = k + 1
    return count


@attach(hooks.actions, OtherState)
def list_99(state, row, out):
    out[0] = 99
    return 1


class Count(Environment):
    """An instance is the number to count down from; a key is what the counting costs to begin with."""

    def __init__(self, rows: int, state: Any = CountState, instances: Sequence[int] = range(8), width: int = 3) -> None:
        super().__init__(instances, rows, width)
        self.looks = 0
        self.state = state(np.zeros(rows, np.int64), np.zeros(rows, np.int64))

    def _reset(self, rows, which, keys):
        assert rows.dtype == which.dtype == np.int64 and keys.dtype == np.uint64 and rows.shape == which.shape == keys.shape
        self.state.left[rows], self.state.cost[rows] = np.array(self.instances)[which], keys
        return -self.state.cost[rows].astype(float)

    def _observe(self, rows, actions):
        self.looks += 1
        return {"left": self.state.left[rows]}

    def solution(self, row):
        return int(self.state.cost[row])


def test_actions_are_padded():
    """actions is int32 [R, K] with -1 after the last legal one, and all -1 at the end."""
    environment = Count(3)
    environment.reset([0, 1, 2], [0, 1, 5])
    found = environment.actions([2, 0, 1])
    assert found.dtype == np.int32 and found.tolist() == [[1, 2, -1], [-1, -1, -1], [1, -1, -1]]
    assert environment.actions([]).shape == (0, 3)


def test_a_view_is_observed_once():
    """However many look at it or at a part of it; what nobody looks at is not observed at all."""
    environment = Count(3)
    environment.reset([0, 1, 2], [4, 1, 5])
    view = environment.view([2, 0, 1])
    assert environment.looks == 0 and (view.actions == environment.actions([2, 0, 1])).all()
    made = []
    look = lambda shown: made.append(shown) or {"double": 2 * shown.arrays["left"]}  # noqa: E731
    part = view.part(slice(1, 3))
    assert part.derived("a", look)["double"].tolist() == [8, 2] and view.derived("a", look)["double"].tolist() == [10, 8, 2]
    assert part.rows.tolist() == [0, 1] and (part.actions == view.actions[1:]).all() and part.arrays["left"].tolist() == [4, 1]
    assert view.arrays["left"].tolist() == [5, 4, 1] and environment.looks == 1 and made == [view]
    assert environment.view([1], view.actions[2:]).arrays["left"].tolist() == [1] and environment.looks == 2


def test_steps_in_place_and_to_other_rows():
    """src == dst steps in place; otherwise src stays as it was; one src may have several successors."""
    environment = Count(4)
    environment.reset([0, 1], [5, 7])
    assert environment.step([0, 0, 1], [2, 3, 1], [1, 2, 2]).tolist() == [-1.0, -4.0, -4.0]
    assert environment.state.left.tolist() == [5, 5, 4, 3]


@pytest.mark.parametrize(
    ("src", "dst"), [([0, 0], [1, 1]), ([0, 0], [0, 1]), ([0, 1], [1, 2]), ([1, 0], [2, 1]), ([0, 1], [1, 0])]
)
def test_steps_that_would_depend_on_their_order_are_refused(src, dst):
    """A dst that another step reads or writes is refused, and nothing is changed."""
    environment = Count(3)
    environment.reset([0, 1, 2], 5)
    with pytest.raises(UsageError, match="takes part in another"):
        environment.step(src, dst, [1, 1])
    assert environment.state.left.tolist() == [5, 5, 5]


def test_illegal_actions_are_refused():
    """An action that is not legal raises and leaves its rows alone."""
    environment = Count(2)
    environment.reset([0, 1], [1, 5])
    with pytest.raises(UsageError, match="action 2 is not legal in row 0"):
        environment.step([0], [0], [2])
    assert environment.state.left.tolist() == [1, 5]


@pytest.mark.parametrize("rows", [[-1], [2], [0.5], [[0]], [10**12]])
def test_rows_outside_the_pool_are_refused(rows):
    """No row but the pool's own reaches a kernel."""
    with pytest.raises(UsageError, match="rows are integers from 0 to 1"):
        Count(2).actions(rows)


@pytest.mark.parametrize("options", [{"instances": []}, {"rows": 0}, {"width": 0}])
def test_empty_pools_are_refused(options):
    """No environment without an instance, a row and a listed action; one that must list more says how many."""
    with pytest.raises(UsageError, match="takes at least one instance, one row and one listed action"):
        Count(**{"rows": 1, **options})
    with pytest.raises(UsageError, match="one row and 2 listed actions"):
        Environment.__init__(Count(1), [5], 1, 1, fewest=2)


def test_reset_takes_one_for_all():
    """An instance and a key for each row, or one for all; no key is key 0."""
    environment = Count(3)
    assert environment.reset([2, 0], 5, np.uint64(7)).tolist() == [-7.0, -7.0]
    assert environment.reset([1], [4]).tolist() == [0.0]
    assert environment.state.left.tolist() == [5, 4, 5] and environment.reset([], 0).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3], 0), "rows are integers from 0 to 2"),
        (([0], 8), "instances are integers from 0 to 7"),
        (([0], [-1]), "instances are integers from 0 to 7"),
        (([0], 0.5), "instances are integers from 0 to 7"),
        (([0, 1], [1, 2, 3]), "an instance and a key for each of 2 rows"),
        (([0, 1, 2], 5, [1, 2]), "an instance and a key for each of 3 rows"),
        (([0, 1], [[1, 2]]), "in one dimension"),
        (([0], 5, [-1]), "keys are integers from 0"),
        (([0], 5, [2**64]), "keys are integers from 0"),
        (([0], 5, 0.5), "keys are integers from 0"),
    ],
)
def test_wrong_resets_are_refused(arguments, message):
    """What is not there says so, and no row is changed."""
    environment = Count(3)
    environment.reset([0, 1, 2], 6)
    with pytest.raises(UsageError, match=message):
        environment.reset(*arguments)
    assert environment.state.left.tolist() == [6, 6, 6]


def test_lengths_must_agree():
    """src, dst and actions are of one length."""
    with pytest.raises(UsageError, match="as many src as dst and actions"):
        Count(2).step([0], [1], [1, 2])


def test_hooks_are_chosen_by_the_class_of_the_state():
    """Two classes of state with the same fields have hooks of their own."""
    assert Count(1, OtherState).actions([0]).tolist() == [[99, -1, -1]]


@kernel
def greedy(state, row, out):
    """A search that plays the last action to the end."""
    total, count = 0.0, hooks.actions(state, row, out)
    while count:
        total += hooks.step(state, row, row, out[count - 1])
        count = hooks.actions(state, row, out)
    return total


def test_a_kernel_can_search():
    """Compiled code calls the hooks directly."""
    environment = Count(1)
    environment.reset([0], 5)
    assert greedy(environment.state, 0, np.zeros(3, np.int32)) == -9.0 and environment.solution(0) == 9


def test_hooks_are_for_compiled_code():
    """Called from Python, a hook says so."""
    with pytest.raises(NotImplementedError, match="only compiled code"):
        hooks.step(None, 0, 0, 0)
