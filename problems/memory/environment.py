"""The mallocGame: memory mapping as a Markov decision process (README.md, "The game")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.memory.features import FEATURES, SPANS, UNIT, UPCOMING, observe, potential
from corl.problems.memory.instance import IN, OUT, MappingInstance, MappingPlan
from corl.problems.memory.pool import ACTIONS, new_pool
from corl.problems.memory.transitions import reset_rows

__all__ = ["MappingEnvironment"]


class MappingEnvironment(Environment):
    """A pool of games. Accesses are decided in schedule order; those without a choice are skipped.

    Actions: KEEP (0) a tensor in fast memory to its next use, COPY_KEEP (1) or COPY (2) it there for this use, PASS (3): leave
    it in slow memory, or release it. COPY of a written tensor writes it to fast memory and copies it out by idle bandwidth.
    The reward is the reduction of the program's run time in microseconds, if all undecided accesses stay in slow memory; the base
    value is minus its run time with nothing in fast memory.
    """

    kinds: ClassVar[int] = ACTIONS

    def __init__(self, instances: Sequence[MappingInstance], rows: int, width: int = ACTIONS) -> None:
        super().__init__(instances, rows, min(width, ACTIONS), fewest=2)
        self.state = new_pool(self.instances, rows)
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values: minus the run time with everything in slow memory, in microseconds."""
        bases = np.empty(len(rows))
        reset_rows(self.state, rows, which, bases)
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the observations (features.py defines the numbers).

        action: int32 [R, K], as `actions` lists them, -1 in empty slots; mask: bool [R, K], True if the slot is used.
        slots: float32 [R, K, F], of the listed actions; upcoming: float32 [R, U, F], of the accesses that follow.
        times: float32 [R, W, F], of spans of operations from the present one on: occupied shares of the bands, idle bandwidth.
        remaining: int32 [R], undecided accesses; scale: float64 [R], the unit of values, in microseconds.
        """
        widths = (actions.shape[1], UPCOMING, SPANS)
        slots, upcoming, times = (np.zeros((len(rows), width, FEATURES), np.float32) for width in widths)
        observe(self.state, rows, actions, slots, upcoming, times)
        instance = self.state.instance[rows]
        remaining = (self.state.accesses[instance] - self.state.at[rows]).astype(np.int32)
        observation = {"action": actions, "mask": actions >= 0, "slots": slots, "upcoming": upcoming, "times": times}
        left = np.empty(len(rows))
        potential(self.state, rows, left)
        return observation | {"remaining": remaining, "scale": 1e6 * UNIT * left}

    def solution(self, row: int) -> MappingPlan:
        """Return the plan of a row. Raises UsageError while accesses are not decided."""
        at = int(self._checked(row)[0])
        state = self.state
        which = int(state.instance[at])
        if state.at[at] < state.accesses[which]:
            raise UsageError(f"row {at} has {state.accesses[which] - state.at[at]} accesses to decide")
        made, output, last = (part[int(state.tensors_start[which]) :] for part in (state.made, state.output, state.last))
        residencies, copies = [], []
        for r in range(int(state.places[at])):
            t, fill = state.held[at, r].tolist()
            low, high, offset, _ = state.rects[at, r].tolist()
            residencies.append((t, low, high, offset))
            if low != made[t]:
                copies.append((t, IN, low, fill))
            elif output[t] or last[t] >= high:
                copies.append((t, OUT, low + 1, high))
        return MappingPlan(*(np.array(rows, np.int64).reshape(-1, 4) for rows in (residencies, copies)))
