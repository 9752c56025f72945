"""The queue of jobs: what a killed server leaves, and the order of states."""

from __future__ import annotations

import os

import pytest

from corl.errors import InputError, UsageError
from corl.serve.limits import Limits, limit_memory
from corl.serve.queue import Queue
from corl.serve.worker import Worker

FACTS = {"problem": "tsp", "instance": "x", "sense": "min", "solver": "ils", "time_limit": 1.0}


@pytest.fixture
def queue(tmp_path):
    with Queue(tmp_path / "jobs.db", Limits(keep=2)) as found:
        yield found


def test_a_new_server_continues_what_a_killed_one_left(tmp_path):
    """What was running is queued again, in its place; results and events are kept. The file is not closed, as after a kill."""
    path = tmp_path / "jobs.db"
    with Queue(path, Limits()) as first:
        jobs = [first.add("c", b"body", FACTS).id for _ in range(3)]
        for _ in range(2):
            first.take(0)
        first.start(jobs[0])
        first.finish(jobs[0], "done", result='{"x": 1}', objective=3.0)
        first.start(jobs[1])
        with pytest.raises(UsageError, match="another corl serve"):
            Queue(path, Limits())
    with Queue(path, Limits()) as second:
        assert second.result(jobs[0]) == b'{"x": 1}' and second.job(jobs[0]).objective == 3
        assert second.counts() | {"done": 1, "queued": 2} == second.counts()
        assert second.events(jobs[1])[-1].values == {"state": "queued", "reason": "the server was ended"}
        assert (second.take(0).id, second.take(0).id) == (jobs[1], jobs[2])
        assert second.request(jobs[1]) == b"body"


def test_a_job_whose_workers_are_lost_fails_at_last(queue):
    """After three attempts; an attempt that was ended on purpose does not count."""
    job = queue.add("c", b"", FACTS).id
    queue.take(0)
    queue.release(job, "the server was ended", counted=False)
    for _ in range(3):
        assert queue.take(0).id == job
        queue.improve(job, 0.5, 7.0, None, "[1, 2]")
        queue.release(job, "its worker ended by SIGKILL")
    found = queue.job(job)
    assert (found.state, found.reason) == ("failed", "its worker ended by SIGKILL, after 3 attempts")
    assert queue.solution(job) == "[1, 2]" and queue.take(0) is None


def test_the_oldest_ended_jobs_are_deleted(queue):
    """Beyond `keep`, with their events; open jobs are not counted."""
    jobs = [queue.add("c", b"", FACTS).id for _ in range(4)]
    for job in jobs[:3]:
        queue.cancel(job)
    assert [queue.job(job) is None for job in jobs] == [True, False, False, False]
    assert queue._rows("SELECT count(*) FROM events WHERE job = 1") == [(0,)]
    assert queue.result(jobs[0]) is None and queue.solution(jobs[0]) is None
    with pytest.raises(UsageError, match="no such job any more"):
        queue.request(jobs[0])


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_others_cannot_read_the_file(queue):
    """It holds data of clients."""
    assert queue.path.stat().st_mode & 0o077 == 0


def test_the_clock_of_a_job_that_has_ended_does_not_start(tmp_path):
    """The server would take the message for one about the next job."""
    sent: list[tuple] = []
    worker = Worker(sent.append, tmp_path)
    worker._clock_started()
    assert not sent
    worker._busy = True
    worker._clock_started()
    worker._clock_started()
    assert sent == [("started",)]


def test_other_files_are_refused(tmp_path):
    """A store of benchmarks is no queue."""
    from corl.store import Store

    with Store(tmp_path / "store.db", create=True):
        pass
    with pytest.raises(InputError, match="of another program; accepted: a queue made by corl serve"):
        Queue(tmp_path / "store.db", Limits())


def test_memory_is_limited():
    """Allocations beyond the limit fail, and the process continues."""
    limit_memory(64)
    try:
        with pytest.raises(MemoryError):
            bytearray(2**28)
    finally:
        limit_memory(None)
    assert len(bytearray(2**28)) == 2**28
