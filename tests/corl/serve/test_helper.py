"""The process that reads requests: it may be killed, and it leaves nothing behind."""

from __future__ import annotations

import threading
import time

import pytest

from corl.errors import UsageError
from corl.serve.helper import WARM_UP, Helper
from corl.serve.limits import Limits
from corl.serve.tools import make
from support.serving import cities


@pytest.fixture
def helper(tmp_path):
    """A helper that solves, in a folder of its own."""
    (tmp_path / "server").mkdir()
    with Helper(Limits(), str(tmp_path / "server" / "tools"), 120.0, make) as found:
        yield found


def test_a_task_after_a_kill_is_done(helper):
    """If the process was killed between two tasks, the next one does not fail."""
    helper.ask(WARM_UP)
    before = helper._child
    before.kill()
    while not before.ended:
        time.sleep(0.01)
    assert helper.ask(("info", {"instance": cities(5), "problem": ""}))["dimension"] == 5
    assert helper._child is not before


def test_a_task_can_be_stopped(helper):
    """Its call ends, and the next task is done."""
    asked = threading.Event()

    def stop() -> None:
        asked.wait()
        helper.stop()

    threading.Thread(target=stop).start()
    helper.ask(WARM_UP)
    send = helper._child.send

    def sent(payload) -> None:
        send(payload)
        asked.set()

    helper._child.send = sent
    with pytest.raises(UsageError):
        helper.ask(("solve", {"instance": cities(60), "solver": "ils", "time_limit": 60}))
    assert helper.ask(WARM_UP) is None


def test_a_killed_server_leaves_no_folder(helper, tmp_path):
    """The process removes its folder, and that of the server, when its parent is gone."""
    helper.ask(WARM_UP)
    assert (tmp_path / "server" / "tools").is_dir()
    helper._child.close()
    helper._child.reap()
    assert not (tmp_path / "server").exists()
