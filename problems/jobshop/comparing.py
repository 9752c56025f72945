"""The picture of a schedule beside another one: moved operations are marked, and their former places are outlined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from corl.problems.jobshop.change_costs import ChangeCosts, moved
from corl.problems.jobshop.drawing import scene
from corl.problems.jobshop.evaluation import check
from corl.problems.jobshop.instance import JobShopInstance, Schedule
from corl.view.scene import FORMER, Group, Scene

__all__ = ["comparison"]


def comparison(instance: JobShopInstance, solution: Any, other: Schedule) -> Scene:
    """Return the scene of a schedule in which the operations are marked that have moved since another one.

    Args:
        instance: The instance.
        solution: A feasible schedule.
        other: The other schedule, which may violate constraints; a start of -1: the operation is new.
    """
    schedule, found = check(instance, solution), scene(instance, solution)
    assert found is not None
    before = ChangeCosts(other.start, other.machine.astype(np.int64))
    elsewhere, later = moved(before, schedule)
    new, changed = before.start < 0, elsewhere | (later != 0)
    first_box = len(found.boxes) - instance.operations
    formers = []
    for i in range(instance.operations):
        x, row, width, height, text, group, _ = found.boxes[first_box + i]
        text += "\nnew" if new[i] else _was(instance, i, before, bool(elsewhere[i]), int(later[i])) if changed[i] else ""
        found.boxes[first_box + i] = x, row, width, height, text, group, bool(changed[i] or new[i])
        if changed[i]:
            formers.append(_former(instance, i, before, text.split("\n")[0]))
    found.boxes += [box for box in formers if box is not None]
    if found.play is not None:
        always = [(found.play.begin, None)] * (len(found.boxes) - len(found.play.boxes))
        found.play = replace(found.play, boxes=[*found.play.boxes, *always])
    found.marked = "an operation that has moved or is new; dashed: its former place"
    counts = f"{int(changed.sum())} of {int((~new).sum())} operations have moved, {int(elsewhere.sum())} to another machine"
    found.note = "; ".join(part for part in (counts, f"{int(new.sum())} are new" if new.any() else "", found.note) if part)
    _extend_tables(instance, found, before, changed, new)
    return found


def _was(instance: JobShopInstance, i: int, before: ChangeCosts, elsewhere: bool, later: int) -> str:
    """Return the words for a move: "was on 'saw' from 3", "3 later"."""
    place = f"was on {instance.machine_label(int(before.machine[i]))} from {before.start[i]}" if elsewhere else ""
    shift = f"{abs(later)} {'later' if later > 0 else 'earlier'}" if later else ""
    return "\n" + ", ".join(part for part in (place, shift) if part)


def _former(instance: JobShopInstance, i: int, before: ChangeCosts, label: str) -> tuple[Any, ...] | None:
    """Return the box of an operation's former place; None if its machine cannot process it any more."""
    durations = dict(instance.choices(i))
    machine = int(before.machine[i])
    if machine not in durations:
        return None
    text = f"{label}\nformer place of {instance.place_of(i)}: from {before.start[i]}"
    return int(before.start[i]), machine, durations[machine], 1, text, FORMER, False


def _extend_tables(instance: JobShopInstance, found: Scene, before: ChangeCosts, changed: Any, new: Any) -> None:
    """Add to the table of jobs the number of moved operations, and to those of operations the former machine and start."""
    found.head, found.steps_head = (*found.head, "moved"), (*found.steps_head, "former machine", "former start")
    groups = []
    for job, group in enumerate(found.groups):
        span = range(int(instance.first[job]), int(instance.first[job + 1]))
        former = [("", "") if new[i] else (_name(instance, int(before.machine[i])), int(before.start[i])) for i in span]
        steps = [(*step, *cells) for step, cells in zip(group.steps, former)]
        count = "new" if new[list(span)].all() else int(np.count_nonzero(changed[list(span)]))
        groups.append(Group([*group.cells, count], steps))
    found.groups = groups


def _name(instance: JobShopInstance, machine: int) -> str | int:
    return instance.machine_names[machine] if instance.machine_names else machine + instance.first_machine
