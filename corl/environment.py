"""Environment: a problem as a Markov decision process over a pool of states.

The pool is a NamedTuple of arrays. The data of all instances are concatenated and indexed by offsets, so that instances may
differ in size; the data of states have a leading axis of rows, one row for each state. Greedy decoding, sampling, beam search and
tree search all work on these rows: from Python through the methods below, from compiled kernels through `corl.hooks`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl import hooks
from corl.deprecation import renamed_members
from corl.errors import UsageError
from corl.jit import kernel

__all__ = ["Environment", "View"]


@renamed_members({"seen": "derived"})
class View:
    """R states in which a decision is made.

    A view is created once per decision and shared by all policies that observe the states. The observation is computed only once,
    at the first request. A view is valid until its rows are stepped.
    """

    rows: NDArray[np.int64]
    """[R] rows of the environment's pool. Policies only receive rows whose episodes are not over."""
    actions: NDArray[np.int32]
    """[R, K] the legal actions that the environment lists, -1 after the last. A column is called a slot."""

    def __init__(
        self, environment: Environment, rows: NDArray[np.int64], actions: NDArray[np.int32], observe: Callable[..., Any]
    ) -> None:
        """Create a view; `observe` is the environment's function from rows and actions to the observation."""
        self.environment, self.rows, self.actions, self._observe = environment, rows, actions, observe
        self._arrays: Mapping[str, NDArray[Any]] | None = None
        self._derived: dict[Hashable, Mapping[str, NDArray[Any]]] = {}

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The observation of the states (Environment.observe)."""
        if self._arrays is None:
            self._arrays = self._observe(self.rows, self.actions)
        return self._arrays

    def derived(self, key: Hashable, compute: Callable[[View], Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
        """Return `compute(self)`, arrays with a leading axis R, such as features; computed once for each `key`."""
        if key not in self._derived:
            self._derived[key] = compute(self)
        return self._derived[key]

    def part(self, chosen: slice) -> View:
        """Return a view of some of the states. Its observation is a slice of this view's, so all states are observed at once."""
        return _Part(self, chosen)


class _Part(View):
    """Some states of a view."""

    def __init__(self, whole: View, chosen: slice) -> None:
        super().__init__(whole.environment, whole.rows[chosen], whole.actions[chosen], lambda rows, actions: self.arrays)
        self._whole, self._chosen = whole, chosen

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        return {name: array[self._chosen] for name, array in self._whole.arrays.items()}

    def derived(self, key: Hashable, compute: Callable[[View], Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
        return {name: array[self._chosen] for name, array in self._whole.derived(key, compute).items()}


class Environment(abc.ABC):
    """A pool of `rows` states over some instances of one problem.

    Every episode, from `reset` until no action is legal, ends after finitely many steps. Its base value, which `reset` returns,
    plus the sum of its rewards is the objective value of its `solution` (the negative when minimising).
    """

    instances: list[Any]
    """The instances that `reset` creates states of."""
    state: Any
    """The pool: a NamedTuple of arrays to whose class the problem's kernels are attached."""
    rows: int
    """The number of states in the pool."""
    width: int
    """K, the greatest number of actions that `actions` lists."""
    kinds: ClassVar[int] = 0
    """The number of different actions, if action a means the same in every state of every instance; otherwise 0."""
    compiled: ClassVar[bool] = True
    """Whether compiled kernels can step it through `corl.hooks`. If False (a step calls an engine), the class implements
    `actions` and `_step` in Python, nothing is random, and only searches that step from Python work.
    """

    def __init__(self, instances: Sequence[Any], rows: int, width: int, fewest: int = 1) -> None:
        """Set `instances`, `rows` and `width`. Raises UsageError if `width` is below `fewest`.

        A subclass then sets `state`, in which every row is an initial state of instance 0, and reduces `width` if no state has
        that many actions.
        """
        if not instances or rows < 1 or width < fewest:
            listed = "one listed action" if fewest == 1 else f"{fewest} listed actions"
            raise UsageError(f"an environment takes at least one instance, one row and {listed}")
        self.instances, self.rows, self.width = list(instances), rows, width

    def reset(self, rows: ArrayLike, which: ArrayLike, keys: ArrayLike | None = None) -> NDArray[np.float64]:
        """Set rows to initial states of instances.

        Args:
            rows: Integers [R].
            which: Integers [R] or one for all, indices into `instances`.
            keys: uint64 [R] or one for all; None: 0. All random numbers of a row depend on its key alone.

        Returns:
            The base values, float64 [R].

        Raises:
            UsageError: Unknown rows or instances, or malformed keys. No row is changed then.
        """
        at, instances = self._checked(rows), _indices(which, len(self.instances), "instances")
        given = np.asarray(0 if keys is None else keys)
        if given.size and (given.dtype.kind not in "iu" or given.min() < 0):
            raise UsageError("keys are integers from 0 to 2**64 - 1")
        if not {instances.shape, given.shape} <= {(), (1,), at.shape}:
            raise UsageError(f"reset takes an instance and a key for each of {len(at)} rows, or one for all")
        return self._reset(at, np.resize(instances, at.shape), np.resize(given.astype(np.uint64), at.shape))

    @abc.abstractmethod
    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Implement `reset`, for checked arguments, all [R]."""

    def view(self, rows: ArrayLike, actions: NDArray[np.int32] | None = None) -> View:
        """Return the view of the states of `rows` [R], for policies; `actions` [R, K], if given, are their listed actions."""
        at = self._checked(rows)
        return View(self, at, self.actions(at) if actions is None else actions, self._observe)

    def observe(self, rows: ArrayLike) -> Mapping[str, NDArray[Any]]:
        """Return the observation of `rows` [R], arrays with a leading axis R; slot k belongs to `actions(rows)[:, k]`."""
        return self.view(rows).arrays

    @abc.abstractmethod
    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Implement `observe`, for checked rows [R] and the actions [R, K] that are listed for them."""

    def instance_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each of `rows` [R] the index into `instances` of its instance, int64 [R].

        By default from the state's field `instance`, int [rows].
        """
        return self.state.instance[rows].astype(np.int64)  # type: ignore[no-any-return]

    @abc.abstractmethod
    def solution(self, row: int) -> Any:
        """Return the solution of a row whose episode is over, in the problem's own form. Raises UsageError before its end."""

    def actions(self, rows: ArrayLike) -> NDArray[np.int32]:
        """Return the legal actions of `rows` [R]: int32 [R, K], -1 after the last; all -1 if the episode is over."""
        at = self._checked(rows)
        out = np.full((len(at), self.width), -1, np.int32)
        _actions(self.state, at, out)
        return out

    def step(self, src: ArrayLike, dst: ArrayLike, actions: ArrayLike) -> NDArray[np.float64]:
        """Take an action in each of R states, and write the successor states to other rows or to the same rows.

        Args:
            src: Integers [R], the rows of the states.
            dst: Integers [R], the rows that the successors are written to; src[i] == dst[i] steps in place.
            actions: Integers [R].

        Returns:
            The rewards, float64 [R].

        Raises:
            UsageError: A row is not in the pool, or is the dst of one step and takes part in another (so that the result would
                depend on the order of the steps); no row is changed then. Or an action is not legal; the other steps are made.
        """
        sources, targets = self._checked(src), self._checked(dst)
        chosen = np.atleast_1d(np.asarray(actions, np.int64))
        if not len(sources) == len(targets) == len(chosen):
            raise UsageError(f"step takes as many src as dst and actions, not {len(sources)}, {len(targets)}, {len(chosen)}")
        if (clash := _first_clash(sources, targets, self.rows)) >= 0:
            raise UsageError(f"row {targets[clash]} is the dst of a step and takes part in another of the same call")
        rewards = np.empty(len(sources))
        self._step(sources, targets, chosen, rewards)
        if (illegal := np.isnan(rewards)).any():
            i = int(illegal.argmax())
            raise UsageError(f"action {chosen[i]} is not legal in row {sources[i]}")
        return rewards

    def _step(
        self, src: NDArray[np.int64], dst: NDArray[np.int64], actions: NDArray[np.int64], rewards: NDArray[np.float64]
    ) -> None:
        """Make the R steps in order and write their rewards, NaN for an illegal action. No dst takes part in another step."""
        _step(self.state, src, dst, actions, rewards)

    def _checked(self, rows: ArrayLike) -> NDArray[np.int64]:
        """Return `rows` as int64 [R], all in the pool."""
        return _indices(rows, self.rows, "rows")


def _indices(given: ArrayLike, count: int, what: str) -> NDArray[np.int64]:
    """Return `given` as int64 [R]. Raises UsageError, naming `what`, unless they are integers from 0 to count - 1."""
    at = np.atleast_1d(np.asarray(given))
    if at.ndim != 1 or (len(at) and (at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= count)):
        raise UsageError(f"{what} are integers from 0 to {count - 1}, in one dimension")
    return at.astype(np.int64)


@kernel
def _actions(state: Any, rows: Any, out: Any) -> None:
    """Call the hook for each of `rows`, in order."""
    for i in range(len(rows)):
        hooks.actions(state, rows[i], out[i])


@kernel
def _step(state: Any, src: Any, dst: Any, actions: Any, rewards: Any) -> None:
    """Call the hook for each step, in order."""
    for i in range(len(src)):
        rewards[i] = hooks.step(state, src[i], dst[i], actions[i])


@kernel
def _first_clash(src: Any, dst: Any, rows: Any) -> Any:
    """Return the first step whose dst is the dst of an earlier step or the src of another step; -1 if there is none."""
    used = np.full(rows, -1, np.int64)
    for i in range(len(dst)):
        if used[dst[i]] >= 0:
            return i
        used[dst[i]] = i
    for i in range(len(src)):
        if used[src[i]] >= 0 and used[src[i]] != i:
            return used[src[i]]
    return -1
