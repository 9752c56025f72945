"""Child processes: messages, their ends in words, and that nothing is left behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from corl.processes.child import Child, end

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


@pytest.fixture
def start(monkeypatch) -> Iterator:
    """A function that starts child_of_tests.py."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    children: list[Child] = []

    def begin(**keywords) -> Child:
        children.append(Child("child_of_tests", **keywords))
        return children[-1]

    yield begin
    end(children)
    for child in children:
        child.close()


def gone(process: int) -> bool:
    """Whether a process ends within 20 s (a zombie has ended)."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        state = Path(f"/proc/{process}/stat")
        try:
            os.kill(process, 0)
            if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_messages(start):
    """Any value goes both ways; what the child prints is not among them."""
    child = start()
    for value in ({"a": [1, None]}, b"x" * 1_000_000, ""):
        child.send(("echo", value))
        assert child.receive() == value


def test_threads(start, monkeypatch):
    """The threads of numerical libraries are set where asked for, and otherwise as they are here."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    for threads, found in ((1, "1"), (None, "7")):
        child = start(threads=threads)
        child.send(("threads", None))
        assert child.receive() == found


@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize(
    ("message", "words", "code"),
    [(("exit", 7), "ended with exit code 7", 7), (("kill", 0), "ended by SIGKILL (out of memory?)", -9)],
)
def test_the_end_in_words(start, message, words, code, group):
    """EOFError where a child is gone; its exit code and what it says in words, before and after it is reaped."""
    child = start(group=group)
    child.send(message)
    with pytest.raises(EOFError):
        child.receive()
    seconds = child.reap()
    assert (child.ending(), child.exit_code) == (words, code) and (seconds is not None) == group


def test_a_group_ends_with_its_leader(start):
    """What a child has started ends with it: when it is killed, when it ends by itself, and when its parent is gone."""
    for finish in (lambda child: child.kill(), lambda child: child.send(("exit", 0)), lambda child: child.close()):
        child = start(group=True)
        child.send(("start", None))
        grandchild = child.receive()
        os.kill(grandchild, 0)
        finish(child)
        child.reap()
        assert gone(grandchild)


def test_the_last_act_of_a_child(start, tmp_path):
    """What it has registered is done when its parent is gone."""
    child = start()
    child.send(("file", str(tmp_path / "file")))
    assert Path(child.receive()).exists()
    child.close()
    child.reap()
    assert not (tmp_path / "file").exists()


def test_an_end_is_noticed_before_it_is_reaped(start):
    """Also that of a leader of a group, which only `reap` may reap."""
    for group in (False, True):
        child = start(group=group)
        assert not child.ended
        child.send(("exit", 0))
        with pytest.raises(EOFError):
            child.receive()
        while not child.ended:
            time.sleep(0.01)
        assert child._process.returncode is None
        child.reap()
        assert child.ended


def test_killing_what_is_gone(start):
    """A child that is reaped is not killed once more: its number may be somebody else's."""
    child = start(group=True)
    child.send(("exit", 3))
    child.reap()
    child.kill()
    assert child.exit_code == 3
