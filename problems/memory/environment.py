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
    """A pool of games: the accesses of a program are decided in the order in which they run.

    Accesses with only one legal action are skipped.

    KEEP (0): the tensor stays in fast memory up to its next use, and a tensor that is being written is written there.
    COPY_KEEP (1): the tensor is copied into fast memory for this use, and stays there up to the next one.
    COPY (2): the tensor is copied into fast memory for this use only; a tensor that is being written is written to fast memory
    and stays there until idle bandwidth has copied it to slow memory.
    PASS (3): the tensor stays in slow memory, or is released from fast memory.

    The reward is the reduction of the program's run time in microseconds, where undecided accesses count as served from slow
    memory. The base value is minus the run time with nothing in fast memory.
    """

    kinds: ClassVar[int] = ACTIONS  # each action means the same in every state

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
        """Return the observations. features.py defines F, U, W and the features.

        action: int32 [R, K], as `actions` lists them, -1 in empty slots; mask: bool [R, K], True if the slot is used.
        slots: float32 [R, K, F], features of the listed actions; upcoming: float32 [R, U, F], of the next U accesses.
        times: float32 [R, W, F], features of spans of operations from the present one on: occupied memory and idle bandwidth.
        remaining: int32 [R], the number of undecided accesses; scale: float64 [R], the unit of values, in microseconds.
        """
        widths = (actions.shape[1], UPCOMING, SPANS)
        slots, upcoming, times = (np.zeros((len(rows), width, FEATURES), np.float32) for width in widths)
        observe(self.state, rows, actions, slots, upcoming, times)
        instance = self.state.instance[rows]
        remaining = (self.state.accesses[instance] - self.state.current_access[rows]).astype(np.int32)
        observation = {"action": actions, "mask": actions >= 0, "slots": slots, "upcoming": upcoming, "times": times}
        possible_saving = np.empty(len(rows))
        potential(self.state, rows, possible_saving)
        return observation | {"remaining": remaining, "scale": 1e6 * UNIT * possible_saving}

    def solution(self, row: int) -> MappingPlan:
        """Return the plan of a row. Raises UsageError while accesses are not decided."""
        at = int(self._checked(row)[0])
        state = self.state
        instance = int(state.instance[at])
        if state.current_access[at] < state.accesses[instance]:
            raise UsageError(f"row {at} has {state.accesses[instance] - state.current_access[at]} accesses to decide")
        first_tensor = int(state.tensors_start[instance])
        definition, output, last_op = (part[first_tensor:] for part in (state.definition, state.output, state.last_op))
        residencies, copies = [], []
        for r in range(int(state.rect_count[at])):
            t, filled = state.contents[at, r].tolist()
            low, high, offset, _ = state.rects[at, r].tolist()
            residencies.append((t, low, high, offset))
            if low != definition[t]:
                copies.append((t, IN, low, filled))
            elif output[t] or last_op[t] >= high:
                copies.append((t, OUT, low + 1, high))
        return MappingPlan(*(np.array(rows, np.int64).reshape(-1, 4) for rows in (residencies, copies)))
