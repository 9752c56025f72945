"""What a page shows of a sequence: a Gantt chart with the critical operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.flowshop.evaluation import check, completion
from corl.problems.flowshop.instance import FlowShopInstance
from corl.view.scene import Group, Scene

__all__ = ["scene_of"]


def scene_of(instance: FlowShopInstance, solution: Any) -> Scene | None:
    """A row a machine, a box an operation, a group a job; without a solution there is nothing to see."""
    if solution is None:
        return None
    sequence = check(instance, solution)
    end, duration = completion(instance, sequence), instance.duration[sequence]
    scene = Scene(f"{instance.name or 'flow shop'}: {instance.jobs:,} jobs on {instance.machines:,} machines", "time", "machine")
    scene.rows = [str(i) for i in range(instance.machines)]
    scene.marked = "a critical operation: were it later, so would be the last job that ends"
    scene.head, scene.steps_head = ("job", "place", "starts", "ends"), ("machine", "start", "end")
    marked, start = _critical(instance, sequence, end), end - duration
    for k, job in enumerate(sequence.tolist()):
        for i in range(instance.machines):
            text = f"{job}\njob {job} on machine {i}: {start[k, i]} to {end[k, i]}"
            scene.boxes.append((int(start[k, i]), i, int(duration[k, i]), 1, text, k, bool(marked[k, i])))
        steps = [(i, int(start[k, i]), int(end[k, i])) for i in range(instance.machines)]
        scene.groups.append(Group((f"job {job}", k + 1, int(start[k, 0]), int(end[k, -1])), steps))
    return scene


def _critical(instance: FlowShopInstance, sequence: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool [n, m]: the operations of one chain without a gap, but for set-ups, to the end of the last job."""
    found = np.zeros(end.shape, bool)
    k, i = instance.jobs - 1, instance.machines - 1
    while True:
        found[k, i] = True
        start = end[k, i] - instance.duration[sequence[k], i]
        if i and end[k, i - 1] == start:
            i -= 1
        elif k:
            k -= 1
        else:
            return found
