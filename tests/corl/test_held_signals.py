"""corl.compilation.signals: signals wait for the innermost block, and then meet the handlers that there are outside of all."""

from __future__ import annotations

import contextlib
import signal
import sys

import pytest

from corl.cli.main import _terminable
from corl.compilation import signals

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
USED = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)


class Raised(Exception):
    """What a handler of these tests raises."""


@pytest.fixture(autouse=True)
def handlers():
    """Every test leaves the handlers that it met, and nothing waits."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    yield before
    left = {number: signal.getsignal(number) for number in signal.valid_signals()}
    for number in USED:
        signal.signal(number, before[number])
    assert left == before and not signals._waiting and not signals._holding


@pytest.fixture
def heard():
    """A list, and handlers of SIGINT, SIGTERM and SIGUSR1 that write into it; the user's signal also raises."""
    found: list[int] = []

    def note(number, frame):
        found.append(number)
        if number == signal.SIGUSR1:
            raise Raised

    before = [signal.signal(number, note) for number in USED]
    yield found
    assert all(signal.getsignal(number) is note for number in USED)
    for number, handler in zip(USED, before, strict=True):
        signal.signal(number, handler)


def send_within(depth, *numbers):
    """Raise signals inside so many blocks."""
    with contextlib.ExitStack() as blocks:
        for _ in range(depth):
            blocks.enter_context(signals.held())
        for number in numbers:
            signal.raise_signal(number)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_sigterm_that_asks_for_ctrl_c_s_handler(depth):
    """SIGTERM in the command, which calls SIGINT's handler: KeyboardInterrupt, however deep compilations nest."""
    with pytest.raises(KeyboardInterrupt), _terminable():
        send_within(depth, signal.SIGTERM)


def test_a_signal_waits_for_the_innermost_block(heard):
    """Where its handler returns, the block around goes on, and holds the next one."""
    with signals.held():
        with signals.held():
            signal.raise_signal(signal.SIGINT)
            assert heard == []
        assert heard == [signal.SIGINT]
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGINT]
    assert heard == [signal.SIGINT, signal.SIGTERM]


def test_a_signal_that_comes_twice_waits_once(heard):
    """As it does in the system; after it was delivered it can come again."""
    with signals.held():
        with signals.held():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert heard == [signal.SIGINT] * 2


@pytest.mark.parametrize("depth", [1, 2])
def test_all_handlers_are_called_though_one_raises(heard, depth):
    """What it raises comes out of the block, after the others have been called."""
    sent = [signal.SIGUSR1, signal.SIGTERM, signal.SIGINT]
    with pytest.raises(Raised):
        send_within(depth, *sent)
    assert heard == sent


def test_a_signal_while_an_exception_of_another_goes_up(heard):
    """The blocks that the exception passes still hold, and deliver."""
    between = []

    def blocks():
        with signals.held():
            try:
                send_within(1, signal.SIGUSR1)
            finally:
                signal.raise_signal(signal.SIGINT)
                between.extend(heard)

    with pytest.raises(Raised):
        blocks()
    assert between == [signal.SIGUSR1]
    assert heard == [signal.SIGUSR1, signal.SIGINT]


def test_handlers_see_and_change_the_handlers_outside():
    """A handler meets its neighbours, no stand-ins; what it puts in its own place stays there, and is held in turn."""
    seen, heard = [], []

    def second(number, frame):
        heard.append("second")

    def first(number, frame):
        seen.append(signal.getsignal(signal.SIGINT))
        signal.signal(signal.SIGTERM, second)

    before = signal.signal(signal.SIGTERM, first)
    try:
        with signals.held():
            with signals.held():
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            assert heard == []
        assert seen == [signal.getsignal(signal.SIGINT)] and heard == ["second"]
        assert signal.getsignal(signal.SIGTERM) is second
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_handler_that_was_kept_from_inside_a_block_works_outside(heard):
    """Code that puts back what it found there puts back what it stands for."""
    with signals.held():
        kept = signal.getsignal(signal.SIGINT)
    own = signal.signal(signal.SIGINT, kept)
    signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, own)
    assert heard == [signal.SIGINT]


def test_deliver_is_a_safe_point(heard):
    """In a block that waits for another process."""
    with signals.held():
        signal.raise_signal(signal.SIGTERM)
        signals.deliver()
        assert heard == [signal.SIGTERM]
        signal.raise_signal(signal.SIGUSR1)
        with pytest.raises(Raised):
            signals.deliver()
        signal.raise_signal(signal.SIGTERM)
        assert len(heard) == 2
    assert len(heard) == 3
