"""The lessons that training draws decisions from: those of the latest schedules, each of one generated instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corl.problems.jobshop.generators import taillard
from corl.problems.jobshop.simulator import JobShopSimulator
from corl.rng import random_state
from corl.solvers.jobshop.cp_agent.forward import Weights, new_scratch
from corl.solvers.jobshop.cp_agent.network import Batch
from corl.solvers.jobshop.cp_agent.observation import NEXT, SLOTS, begin_view, new_view
from corl.solvers.jobshop.cp_agent.rollout import roll
from corl.solvers.jobshop.cp_agent.teacher import Lesson, copy_row, taught

__all__ = ["Lessons", "batch_of"]

_FROM_THE_START = 0.3  # share of the schedules that the teacher completes from the beginning
_LATEST = 0.8  # share of the operations that the agent may have fixed where it is cut


class Lessons:
    """The latest lessons, at most `size`; the decisions of a batch are drawn from all of them alike."""

    def __init__(self, sizes: Sequence[tuple[int, int]], size: int, moves: int, random: np.random.Generator) -> None:
        self._sizes, self._size, self._moves, self._random = sizes, size, moves, random
        self._lessons: list[Lesson] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self._lessons)

    def add(self, weights: Weights) -> tuple[float, float]:
        """A lesson on a new instance by the agent with these weights; the makespans of its own schedule and of the teacher's."""
        random = self._random
        jobs, machines = self._sizes[int(random.integers(len(self._sizes)))]
        instance = taillard(jobs=jobs, machines=machines, seed=int(random.integers(2**31)))
        simulator, view = JobShopSimulator([instance], 4), new_view([instance])
        state, scratch, draws = simulator.state, new_scratch(weights, view), random_state(int(random.integers(2**31)))
        cut = 0.0 if random.random() < _FROM_THE_START else _LATEST * random.random()
        begin_view(state, 0, view)
        roll(state, 0, view, weights, scratch, random.random(), draws, round((1.0 - cut) * instance.operations))
        copy_row(state, 0, 1)
        begin_view(state, 1, view)
        roll(state, 1, view, weights, scratch, 0.0, draws, 0)
        lesson, own, value = taught(simulator, view, self._moves, draws)
        if len(lesson.jobs):
            if len(self._lessons) < self._size:
                self._lessons.append(lesson)
            else:
                self._lessons[self._next] = lesson
            self._next = (self._next + 1) % self._size
        return own, value

    def draw(self, count: int, device: torch.device) -> Batch:
        """So many decisions."""
        sizes = np.array([len(lesson.jobs) for lesson in self._lessons])
        which = self._random.choice(len(sizes), count, p=sizes / sizes.sum())
        return batch_of([(self._lessons[i], int(self._random.integers(sizes[i]))) for i in which], device)

    def state_dict(self) -> dict[str, Any]:
        """For snapshots."""
        return {
            "lessons": [tuple(lesson) for lesson in self._lessons],
            "next": self._next,
            "random": self._random.bit_generator.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """From a snapshot."""
        self._lessons, self._next = [Lesson(*parts) for parts in state["lessons"]], state["next"]
        self._random.bit_generator.state = state["random"]


def batch_of(chosen: Sequence[tuple[Lesson, int]], device: torch.device) -> Batch:
    """The decisions (lesson, number) together."""
    ends = {id(lesson): (np.cumsum(lesson.jobs), np.cumsum(lesson.competitors)) for lesson, _ in chosen}
    x, there, token, own, begin, end, decision, wanted, waiting = ([] for _ in range(9))
    listed = competing = 0
    for d, (lesson, i) in enumerate(chosen):
        last, last_key = ends[id(lesson)]
        n, can, many = int(lesson.jobs[i]), int(lesson.can[i]), int(lesson.competitors[i])
        t, k = int(last[i]) - n, int(last_key[i]) - many
        keys = lesson.keys[k : k + many].astype(np.int64)
        x.append(lesson.x[t : t + n])
        there.append(lesson.there[t : t + n])
        token.append(keys + listed * SLOTS)
        place = np.zeros(can, np.int64)
        nexts = np.flatnonzero((keys % SLOTS == NEXT) & (keys // SLOTS < can))
        place[keys[nexts] // SLOTS] = nexts
        own.append(place + competing)
        begin.append(lesson.begin[t : t + can] + competing)
        end.append(lesson.end[t : t + can] + competing)
        decision.append(np.full(can, d))
        wanted.append(lesson.wanted[t : t + can])
        waiting.append(lesson.waiting[i])
        listed += n
        competing += many
    first, lengths = np.concatenate(begin), np.concatenate(end) - np.concatenate(begin)
    padded = np.arange(lengths.max())
    real = padded < lengths[:, None]
    positions = np.where(real, first[:, None] + padded, 0).astype(np.int64)

    def tensor(array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(device)

    return Batch(
        tensor(np.concatenate(x)), tensor(np.concatenate(there)), tensor(np.concatenate(token)), tensor(np.concatenate(own)),
        tensor(positions), tensor(real), tensor(np.concatenate(decision)), tensor(np.array(waiting)),
        tensor(np.concatenate(wanted)),
    )  # fmt: skip
