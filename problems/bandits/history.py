"""Reading logs of transitions: `from_history` starts an episode with what earlier ones have shown."""

from __future__ import annotations

import csv
import os
from pathlib import Path

from corl.files.text import Text, quoted
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.knowledge import Knowledge

__all__ = ["from_history"]

_COLUMNS = ("arm", "time", "state", "action", "next_state")


def from_history(instance: BanditInstance, path: str | os.PathLike[str]) -> Knowledge:
    """Return the knowledge at the beginning of an episode, with the transitions of a log; they are all that a posterior needs.

        dispatcher.knowledge = from_history(instance, "log.csv")

    Args:
        instance: The instance; its transition probabilities are not used.
        path: A CSV file with the columns arm, time, state, action (the arm's level, 0 without a pull) and next_state, all of them
            integers from 0. Columns and rows may be in any order, and rows of any number of episodes.

    Raises:
        InputError: With file, line and column of the first bad value.
    """
    arms, levels, states = instance.rewards.shape
    knowledge = Knowledge(arms, (arms, levels, states))
    text = Text.read(Path(path))
    lines = ((number, next(csv.reader([line]))) for number, line in text.lines())
    first, head = next(lines)
    head = [name.strip() for name in head]
    if missing := [name for name in _COLUMNS if name not in head]:
        raise text.error(f"there is no column {missing[0]}; accepted: {', '.join(_COLUMNS)}", line=first)
    at = [head.index(name) for name in _COLUMNS]
    for line, row in lines:
        values = [row[k].strip() if k < len(row) else "" for k in at]
        for name, value in zip(_COLUMNS, values):
            if not (value.isascii() and value.isdigit() and len(value) < 10):
                raise text.error(f"{name} is {quoted(value)}; accepted: an integer from 0", line=line)
        arm, _, state, level, following = map(int, values)
        size, most = (int(instance.states[arm]), int(instance.levels[arm])) if arm < arms else (0, 0)
        limits = (("arm", arm, arms), ("state", state, size), ("action", level, most), ("next_state", following, size))
        for name, number, limit in limits:
            if number >= limit:
                raise text.error(f"{name} is {number}; accepted: 0 to {limit - 1}", line=line)
        knowledge.logged[arm, level, state, following] += 1
    return knowledge
