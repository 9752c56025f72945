"""Routes with breaks, rests and several windows, which no segment tells: they are walked along, all ways to pause at once."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

from corl.jit import kernel

__all__ = ["keeps_pauses"]

_EASE = 1e-9  # relative, of a time that a pause must have begun by


@kernel(borrow=True)
def keeps_pauses(data, plan, terms, slot, count, ways):
    """Whether a vehicle can visit the first `count` nodes of `segments.sequence` in time, with its breaks and rests.

    ways: float64 [count + 1], how long each way takes. Ways to pause are (time, breaks to come, driven since the last rest); of
    two, one that is not better in anything is dropped, and those for which there is no room.
    """
    kind, depot, labels = plan.type[slot], data.clients + slot, plan.segments.labels
    sequence, here = plan.segments.sequence, 0
    first_break, last_break = terms.breaks_from[kind], terms.breaks_from[kind + 1]
    labels[0, 0, 0] = max(terms.earliest[depot], _release(data, terms, sequence, 0, count))
    if labels[0, 0, 0] > terms.leave_by[kind]:
        return False
    labels[0, 0, 1], labels[0, 0, 2], alive = float(last_break - first_break), 0.0, 1
    for i in range(count):
        node = sequence[i]
        alive = _drive(terms, labels, here, alive, kind, ways[i])
        alive = _pause(terms, labels, here, alive, kind, last_break)
        opens = terms.earliest[node]
        if node >= terms.real:
            opens = max(opens, _release(data, terms, sequence, i + 1, count))
        kept = 0
        for k in range(alive):
            time = _opened(terms, node, max(opens, labels[here, k, 0]))
            if time <= terms.latest[node]:
                labels[here, kept, 0] = time + terms.service[node]
                labels[here, kept, 1], labels[here, kept, 2] = labels[here, k, 1], labels[here, k, 2]
                kept += 1
        alive = _pause(terms, labels, here, kept, kind, last_break)
        if alive == 0:
            return False
    alive = _drive(terms, labels, here, alive, kind, ways[count])
    for k in range(alive):
        back, due = max(labels[here, k, 0], terms.back_from[kind]), False
        for b in range(last_break - int(labels[here, k, 1]), last_break):
            due |= back > terms.breaks[b, 1] * (1.0 + _EASE)
        if not due and back <= terms.latest[depot]:
            return True
    return False


@kernel(borrow=True)
def _release(data, terms, sequence, begin, count):
    """When the trip whose first client is sequence[begin] may leave."""
    release = -math.inf
    for k in range(begin, count):
        if sequence[k] >= terms.real:
            break
        release = max(release, terms.release[sequence[k]])
    return release


@kernel(borrow=True)
def _opened(terms, node, time):
    """The first time from this one on at which no window of the client is closed."""
    for k in range(terms.closed_from[node], terms.closed_from[node + 1]):
        if terms.closed[k, 0] < time < terms.closed[k, 1]:
            time = terms.closed[k, 1]
    return time


@kernel(borrow=True)
def _drive(terms, labels, here, alive, kind, way):
    """All ways drive on; those that may not are dropped."""
    kept = 0
    for k in range(alive):
        driven = labels[here, k, 2] + way
        if driven <= terms.driving[kind]:
            labels[here, kept, 0], labels[here, kept, 1] = labels[here, k, 0] + way, labels[here, k, 1]
            labels[here, kept, 2] = driven
            kept += 1
    return kept


@kernel(borrow=True)
def _pause(terms, labels, here, alive, kind, last_break):
    """Add what pausing here makes of each way, and drop what is no better than another; how many there are then."""
    seen = 0
    while seen < alive:
        time, left, driven = labels[here, seen, 0], labels[here, seen, 1], labels[here, seen, 2]
        seen += 1
        if left > 0.0:
            b = last_break - int(left)
            if time <= terms.breaks[b, 1] * (1.0 + _EASE):
                long = terms.breaks[b, 2]
                since = 0.0 if long >= terms.rest[kind] else driven
                alive = _add(labels, here, alive, max(time, terms.breaks[b, 0]) + long, left - 1.0, since)
        if terms.rest[kind] < math.inf and driven > 0.0:
            alive = _add(labels, here, alive, time + terms.rest[kind], left, 0.0)
    return _undominated(labels, here, alive)


@kernel(borrow=True)
def _add(labels, here, alive, time, left, driven):
    """One way more, where there is room and none of them is as good in everything."""
    if alive == labels.shape[1]:
        return alive
    for k in range(alive):
        if labels[here, k, 0] <= time and labels[here, k, 1] <= left and labels[here, k, 2] <= driven:
            return alive
    labels[here, alive, 0], labels[here, alive, 1], labels[here, alive, 2] = time, left, driven
    return alive + 1


@kernel(borrow=True)
def _undominated(labels, here, alive):
    """Keep those that no other is as good as in everything."""
    kept = 0
    for k in range(alive):
        worse = False
        for other in range(alive):
            if other != k:
                as_good = True
                alike = True
                for place in range(3):
                    as_good &= labels[here, other, place] <= labels[here, k, place]
                    alike &= labels[here, other, place] == labels[here, k, place]
                worse |= as_good and (not alike or other < k)
        labels[1, k, 0] = 1.0 if worse else 0.0
    for k in range(alive):
        if labels[1, k, 0] == 0.0:
            for place in range(3):
                labels[here, kept, place] = labels[here, k, place]
            kept += 1
    return kept
