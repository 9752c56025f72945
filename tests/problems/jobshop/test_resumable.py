"""Spans of resumable operations, against counting minutes."""

from __future__ import annotations

import numpy as np

from corl.problems.jobshop.evaluation_resumable import resumable_span, resumable_start, resumed_ends, worked_intervals
from corl.problems.jobshop.rules import FOREVER, SideConstraints


def _end(spells, start, length):
    """When an operation ends that starts at `start`; None if it may not start there."""
    if any(closes < start < opens or (length and start == closes) for closes, opens in spells):
        return None
    minute, worked = start, 0
    while worked < length:
        worked += not any(closes <= minute < opens for closes, opens in spells)
        minute += 1
    return minute


def test_spans():
    """Forwards the earliest start, backwards the latest, on random calendars; some breaks touch."""
    random = np.random.default_rng(0)
    for _ in range(300):
        a, b, c, d = np.sort(random.choice(20, 4, replace=False)).tolist()
        spells, length = [[a, b], [b if random.random() < 0.3 else c, d]], int(random.integers(0, 6))
        ends = {start: end for start in range(-10, 50) if (end := _end(spells, start, length)) is not None}
        for begin in range(22):
            start = min(each for each in ends if each >= begin)
            assert resumable_span(spells, begin, length) == (start, ends[start])
            latest = max(each for each, end in ends.items() if end <= begin + 10)
            assert resumable_start(spells, begin + 10, length) == latest
            rules = SideConstraints(unavailable=np.array([[0, *each] for each in spells]), resumable=np.array([True]))
            assert resumed_ends(rules, np.array([start]), np.zeros(1, np.int32), np.array([length])).tolist() == [ends[start]]
            worked = list(worked_intervals(rules, 0, 0, start, ends[start]))
            assert sum(stop - at for at, stop in worked) == length
            assert not any(at < opens and stop > closes for at, stop in worked for closes, opens in spells)


def test_a_machine_that_is_down_for_good():
    """What does not end before has no span."""
    assert resumable_span([[2, 4], [9, FOREVER]], 0, 7) == (0, 9)
    assert resumable_span([[2, 4], [9, FOREVER]], 0, 8) is None and resumable_span([[9, FOREVER]], 9, 1) is None
