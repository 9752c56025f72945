"""The HTTP interface: jobs from submission to result, and what it refuses."""

from __future__ import annotations

import base64
import json
import os
import signal
import time

import pytest

from corl.errors import UsageError
from corl.result import Result
from corl.serve.limits import Limits
from corl.serve.openapi import description
from corl.serve.server import serve
from support.serving import SQUARE, cities, client, packed

TOKEN = "a-token-of-24-characters"


@pytest.fixture(scope="module")
def solving(tmp_path_factory):
    """A client of a server with one worker."""
    with client(tmp_path_factory.mktemp("solving"), workers=1) as found:
        yield found


@pytest.fixture
def idle(tmp_path):
    """A client of a server without workers, which solves nothing."""
    with client(tmp_path, Limits(max_waiting=3, max_per_client=2, max_body=1)) as found:
        yield found


def submitted(api, **request):
    """Submit a job; return its id."""
    answer = api.post("/jobs", json=request)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def reached(api, job, *states):
    """Wait until a job is in one of some states; return it."""
    while (found := api.get(f"/jobs/{job}").json())["state"] not in states:
        time.sleep(0.02)
    return found


def events(api, job, **headers):
    """The events of a job that has ended."""
    blocks = api.get(f"/jobs/{job}/events", headers=headers).text.strip().split("\n\n")
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks if block]


def test_a_job_from_submission_to_result(solving):
    """The result is that of `corl solve`; the events are those of the run; the page shows it."""
    job = submitted(solving, instance=SQUARE, solver="exact", time_limit=20)
    assert reached(solving, job, "done", "failed")["objective"] == 40
    result = Result.from_json(solving.get(f"/jobs/{job}/result").text)
    assert (result.status, result.objective, result.instance, result.verified) == ("optimal", 40, "square", True)
    assert solving.get(f"/jobs/{job}/solution").json()["solution"] == result.solution
    found = events(solving, job)
    states = [json.loads(each["data"])["state"] for each in found if each["event"] == "state"]
    assert states == ["queued", "preparing", "running", "done"]
    assert [each["event"] for each in events(solving, job, **{"Last-Event-ID": found[-2]["id"]})] == ["state"]
    page = solving.get(f"/jobs/{job}/page")
    assert "<title>square" in page.text and "default-src 'none'" in page.headers["content-security-policy"]


def test_a_cancelled_job_keeps_its_best_solution(solving):
    """Also if it would run for a minute; a cancelled job that waits never begins."""
    job = submitted(solving, instance=cities(60), solver="ils", time_limit=60)
    waiting = submitted(solving, instance=SQUARE)
    while solving.get(f"/jobs/{job}").json()["objective"] is None:
        time.sleep(0.02)
    assert "objective" in solving.get(f"/jobs/{job}/page").text  # while it runs
    assert solving.get(f"/jobs/{job}/result").status_code == 409
    assert solving.post(f"/jobs/{waiting}/cancel").json()["state"] == "cancelled"
    solving.post(f"/jobs/{job}/cancel")
    assert reached(solving, job, "cancelled", "failed")["state"] == "cancelled"
    result = Result.from_json(solving.get(f"/jobs/{job}/result").text)
    assert result.limit == "interrupted" and len(result.solution) == 60
    assert solving.post(f"/jobs/{job}/cancel").json()["state"] == "cancelled"


def test_the_job_of_a_killed_worker_is_solved_by_the_next(solving):
    """kill -9 of a worker: its job is begun again, and other jobs keep their results."""
    done = submitted(solving, instance=SQUARE, solver="exact", time_limit=20)
    reached(solving, done, "done")
    job = submitted(solving, instance=cities(50), solver="ils", time_limit=60)
    reached(solving, job, "running")
    os.kill(solving.pool._workers[0]._child._process.pid, signal.SIGKILL)
    while reached(solving, job, "running")["attempts"] == 1:
        time.sleep(0.02)
    solving.post(f"/jobs/{job}/cancel")
    assert reached(solving, job, "cancelled")["attempts"] == 2
    assert solving.get(f"/jobs/{done}/result").status_code == 200


def test_a_worker_killed_between_jobs_is_replaced(solving):
    """kill -9 of an idle worker: the next job does not pay for it."""
    worker = solving.pool._workers[0]
    while (before := worker._child) is None:
        time.sleep(0.02)
    before.kill()
    while worker._child in (before, None):
        time.sleep(0.02)
    job = submitted(solving, instance=SQUARE, solver="exact", time_limit=20)
    assert reached(solving, job, "done", "failed")["attempts"] == 1


def test_a_stream_has_the_last_event(idle):
    """Also if the job ends just after its events were read."""
    job = submitted(idle, instance=SQUARE)
    read = idle.queue.events

    def events_before_the_end(*given):
        found = read(*given)
        idle.queue.cancel(job)
        return found

    idle.queue.events = events_before_the_end
    assert [json.loads(each["data"])["state"] for each in events(idle, job, **{"Last-Event-ID": "1"})] == ["cancelled"]


REFUSED = {
    "{": (None, "not JSON"),
    "[1]": (None, "accepted: a JSON object"),
    "{}": ("instance", "missing; accepted: an object"),
    '{"instance": 3}': ("instance", "3 is not accepted; accepted: an object"),
    '{"instance": "NAME: x"}': (None, "instance: "),
    '{"instance": {"problem": "knapsack", "values": [1], "weights": [[-1]], "capacities": [3]}}': (
        "weights[0][0]",
        "-1 is not accepted; accepted: a number",
    ),
    '{"instance": {"problem": "knapsack", "generator": "uniform"}}': ("generator", "accepted: the data of an instance"),
    '{"instance": "x", "time_limit": 61}': ("time_limit", "61 is not accepted; accepted: a number above 0 and up to 60"),
    '{"instance": "x", "workers": 2}': ("workers", "accepted: an integer from 1 to 1"),
    '{"instance": "x", "name": "../x"}': ("name", "accepted: a file name"),
    '{"instance": "x", "warm_start": "x"}': ("warm_start", "accepted: a result, or a solution"),
    '{"instance": "x", "warm": "x"}': (None, "there is no key 'warm' (did you mean 'warm_start'?)"),
    '{"instance": "\\ud800"}': ("instance", "not a text of Unicode characters"),
}


@pytest.mark.parametrize("body", REFUSED)
def test_invalid_requests_are_refused_in_one_line(idle, body):
    """With the field, and what is accepted there."""
    field, message = REFUSED[body]
    answer = idle.post("/jobs", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    found = answer.json()
    assert found["field"] == field and message in found["error"] and "\n" not in found["error"]


def test_a_fault_in_a_files_text_names_its_line(idle):
    """As `corl solve` does with the file."""
    found = idle.post("/jobs", json={"instance": SQUARE.replace("2 0 10", "2 0 ten")}).json()
    assert found["line"] == 7 and "accepted: a number" in found["error"]


def test_bodies_are_limited(idle):
    """In bytes, also after decompression; in type and encoding."""
    plain = {"Content-Type": "application/json"}
    zipped = plain | {"Content-Encoding": "gzip"}
    assert idle.post("/jobs", content=packed({"instance": SQUARE}), headers=zipped).status_code == 202
    assert idle.post("/jobs", content=b" " * (2**20 + 1), headers=plain).status_code == 413
    assert idle.post("/jobs", content=iter([b" " * 2**19] * 3), headers=plain).status_code == 413
    bomb = packed(" " * 2**23)
    assert len(bomb) < 2**17 and idle.post("/jobs", content=bomb, headers=zipped).status_code == 413
    assert idle.post("/jobs", content=b"no gzip", headers=zipped).status_code == 400
    assert idle.post("/jobs", content=packed({})[:-4], headers=zipped).status_code == 400
    assert idle.post("/jobs", content=b"{}", headers=plain | {"Content-Encoding": "br"}).status_code == 415
    assert idle.post("/jobs", content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415


def test_jobs_of_a_client_are_limited(idle):
    """Further jobs are refused until others end."""
    jobs = [submitted(idle, instance=SQUARE) for _ in range(2)]
    refused = idle.post("/jobs", json={"instance": SQUARE})
    assert refused.status_code == 429 and "2 jobs of this client" in refused.json()["error"]
    idle.post(f"/jobs/{jobs[0]}/cancel")
    submitted(idle, instance=SQUARE)


def test_a_token_is_needed_where_there_is_one(tmp_path):
    """As a bearer token, or as a password."""
    with client(tmp_path, token=TOKEN, host="example.com") as api:
        assert api.get("/health").status_code == 200
        for wrong in (None, f"Bearer {TOKEN}x", "Bearer", f"Basic {TOKEN}", "Basic " + base64.b64encode(b"a:b").decode()):
            answer = api.get("/queue", headers={"Authorization": wrong} if wrong else {})
            assert answer.status_code == 401 and answer.headers["WWW-Authenticate"].startswith("Basic")
        for right in (f"Bearer {TOKEN}", "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()):
            assert api.get("/queue", headers={"Authorization": right}).status_code == 200


def test_without_a_token_only_this_machine_calls(tmp_path):
    """A server that others reach does not start; a page of another site cannot call it under its own name."""
    with client(tmp_path, host="attacker.example") as api:
        assert api.get("/queue").status_code == 421
    with pytest.raises(UsageError, match="CORL_TOKEN"):
        serve("0.0.0.0", 0, tmp_path / "other.db", Limits())
    with pytest.raises(UsageError, match="at least 16"):
        serve("0.0.0.0", 0, tmp_path / "other.db", Limits(), token="short")


def test_the_description_has_every_path(idle):
    """OpenAPI describes the routes, no more and no less."""
    limits = Limits(max_waiting=3, max_per_client=2, max_body=1)
    routes = {(route.path, method.lower()) for route in idle.app.routes for method in route.methods - {"HEAD"}}
    paths = description(limits)["paths"]
    assert routes == {(path, method) for path in paths for method in paths[path] if method != "parameters"}
    assert idle.get("/openapi.json").json() == json.loads(json.dumps(description(limits)))


def test_unknown_jobs_and_paths(idle):
    """404 in JSON; no job is found by a part of its id."""
    assert idle.get("/jobs/x").json() == {"error": "there is no such job"}
    assert idle.get("/jobs/", follow_redirects=False).status_code == 404
    assert idle.get("/nothing").status_code == 404 and idle.get("/jobs").status_code == 405
    job = submitted(idle, instance=SQUARE)
    assert idle.get(f"/jobs/{job[:-1]}").status_code == 404
    assert idle.get(f"/jobs/{job}/events?after=-1").status_code == 422
    assert idle.get("/queue").json()["queued"] == 1
