"""Threads: outcomes by number and as they come, waits that end, and that closing ends the lanes."""

from __future__ import annotations

import threading

from corl.processes.executor import Threads


def test_outcomes_by_number_and_as_they_come():
    """Outcomes are taken by number, or the first that is there; a payload may have several, in their order."""

    def lane(payloads):
        for number, payload in payloads:
            yield from ((number, ("said", word)) for word in payload)

    executor = Threads([lane], lambda: None)
    for number, payload in enumerate(("ab", "c", "de")):
        executor.submit(number, payload)
    taken = [executor.take(number) for number in (2, 1, None, None, None)]
    assert taken == [(n, ("said", word)) for n, word in ((2, "d"), (1, "c"), (0, "a"), (0, "b"), (2, "e"))]
    assert executor.take(timeout=0.0) is None and executor.take(0, timeout=0.0) is None
    executor.close()


def test_lanes_work_side_by_side_until_closed():
    """Each payload has a lane of its own while there are some; `close` ends what they wait for, and then them."""
    both, ended = threading.Barrier(3), threading.Event()

    def lane(payloads):
        for number, _ in payloads:
            both.wait(60)
            yield number, ("answer", ended.wait(60))
        both.wait(60)

    executor = Threads([lane, lane], ended.set)
    executor.submit(0, None)
    executor.submit(1, None)
    both.wait(60)
    assert executor.take(timeout=0.0) is None
    executor.close()
    both.wait(60)
    assert {executor.take(), executor.take()} == {(0, ("answer", True)), (1, ("answer", True))}
