"""App: the HTTP interface of a server, an ASGI application. `corl.serve.openapi` describes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from corl.errors import CorlError, InputError, UsageError
from corl.formatting import value
from corl.serve.bodies import read_body
from corl.serve.guard import Guard
from corl.serve.helper import Helper
from corl.serve.limits import Limits
from corl.serve.openapi import description
from corl.serve.pool import Pool
from corl.serve.queue import ENDED, Job, Queue, QueueFull

if TYPE_CHECKING:
    from corl.serve.ray_pool import RayPool

__all__ = ["application"]

_EVENTS_EVERY = 0.2  # seconds between two looks for events
_COMMENT_EVERY = 15.0  # seconds after which a silent stream sends a comment, so that proxies keep it open
_SAFE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
_PAGE_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def application(queue: Queue, pool: Pool | RayPool, reader: Helper, painter: Helper, limits: Limits, token: str) -> Starlette:
    """Return the application.

    Args:
        queue: The jobs.
        pool: The workers.
        reader: Reads requests.
        painter: Renders pages.
        limits: The limits.
        token: The token that clients must send; "": none.
    """
    service = _Service(queue, pool, reader, painter, limits)
    routes = [
        Route("/jobs", service.submit, methods=["POST"]),
        Route("/jobs/{id}", service.show, methods=["GET"]),
        Route("/jobs/{id}/cancel", service.cancel, methods=["POST"]),
        Route("/jobs/{id}/events", service.events, methods=["GET"]),
        Route("/jobs/{id}/result", service.result, methods=["GET"]),
        Route("/jobs/{id}/solution", service.solution, methods=["GET"]),
        Route("/jobs/{id}/page", service.page, methods=["GET"]),
        Route("/queue", service.counts, methods=["GET"]),
        Route("/openapi.json", service.describe, methods=["GET"]),
        Route("/health", _health, methods=["GET"]),
    ]
    handlers: dict[Any, Any] = {HTTPException: _refused, CorlError: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers, middleware=[Middleware(Guard, token=token)])
    app.router.redirect_slashes = False
    return app


class _Service:
    """The functions behind the paths. What may wait runs in threads, so that the server answers others meanwhile."""

    def __init__(self, queue: Queue, pool: Pool | RayPool, reader: Helper, painter: Helper, limits: Limits) -> None:
        self._queue, self._pool, self._limits = queue, pool, limits
        self._reader, self._painter = reader, painter
        self._reading, self._painting = asyncio.Lock(), asyncio.Lock()
        self._description = description(limits)

    async def submit(self, request: Request) -> Response:
        """Read the request, and queue the job."""
        body = await read_body(request, self._limits.body_bytes)
        try:
            async with self._reading:
                facts = await run_in_threadpool(self._reader.facts, body)
            job = await run_in_threadpool(self._queue.add, request.client.host if request.client else "", body, facts)
        except (InputError, UsageError) as error:
            return _invalid(error)
        except QueueFull as error:
            return _json({"error": str(error)}, 429, {"Retry-After": "1"})
        return _json(_shown(job), 202, {"Location": f"/jobs/{job.id}"})

    async def show(self, request: Request) -> Response:
        return _json(_shown(await self._job(request)))

    async def cancel(self, request: Request) -> Response:
        """Ask the job to end; its best solution is kept."""
        job = await self._job(request)
        await run_in_threadpool(self._queue.cancel, job.id)
        await run_in_threadpool(self._pool.cancel, job.id)
        return _json(_shown(await self._job(request)), 202)

    async def result(self, request: Request) -> Response:
        job = await self._job(request)
        found = await run_in_threadpool(self._queue.result, job.id)
        if found is None:
            why = f": {job.reason}" if job.reason else ""
            raise HTTPException(409, f"the job is {job.state} and has no result{why}")
        return Response(found, media_type="application/json", headers=_SAFE)

    async def solution(self, request: Request) -> Response:
        """Answer with the best solution so far, in the form of a result file that `corl check` reads."""
        job = await self._job(request)
        found = await run_in_threadpool(self._queue.solution, job.id)
        if found is None and (result := await run_in_threadpool(self._queue.result, job.id)) is not None:
            found = json.dumps(json.loads(result)["solution"])
        if found in (None, "null"):
            raise HTTPException(409, f"the job is {job.state} and has no solution")
        facts = {"problem": job.problem, "instance": job.instance, "objective": job.objective}
        return Response(f'{json.dumps(facts)[:-1]}, "solution": {found}}}', media_type="application/json", headers=_SAFE)

    async def page(self, request: Request) -> Response:
        """Answer with the page of the job; before its end, of its best solution so far."""
        job = await self._job(request)
        last = await run_in_threadpool(self._queue.last_event, job.id)
        headers = _SAFE | {"Content-Security-Policy": _PAGE_POLICY, "ETag": f'"{last}"'}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        stored = await run_in_threadpool(self._stored, job)
        async with self._painting:
            html = await run_in_threadpool(self._painter.page, **stored)
        return HTMLResponse(html, headers=headers)

    def _stored(self, job: Job) -> dict[str, Any]:
        """Return the arguments of `Helper.page`."""
        result = self._queue.result(job.id)
        events = [] if result else [event.values for event in self._queue.events(job.id) if event.kind == "improved"]
        facts = {"state": job.state, "objective": value(job.objective), "bound": value(job.bound), "solver": job.solver}
        return {
            "request": self._queue.request(job.id),
            "result": None if result is None else result.decode(),
            "solution": self._queue.solution(job.id),
            "facts": facts | ({"reason": job.reason} if job.reason else {}),
            "live": job.state not in ENDED,
            "trace": [(each["seconds"], each["objective"], each["bound"]) for each in events],
        }

    async def events(self, request: Request) -> Response:
        """Stream the events of the job from a number on, until it ends."""
        job = await self._job(request)
        last = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        if not (last.isascii() and last.isdigit() and len(last) < 16):
            raise HTTPException(422, "after: accepted: the number of an event, from 0")
        return StreamingResponse(self._stream(job.id, int(last)), media_type="text/event-stream", headers=_SAFE)

    async def _stream(self, job: str, after: int) -> AsyncIterator[str]:
        silent = 0.0
        while True:
            now = await run_in_threadpool(self._queue.job, job)  # before its events, so that the last one is not missed
            found = await run_in_threadpool(self._queue.events, job, after)
            for after, kind, values in found:
                yield f"id: {after}\nevent: {kind}\ndata: {json.dumps(values)}\n\n"
            if now is None or now.state in ENDED:
                return
            silent = 0.0 if found else silent + _EVENTS_EVERY
            if silent >= _COMMENT_EVERY:
                silent = 0.0
                yield ": waiting\n\n"
            if not found:
                await asyncio.sleep(_EVENTS_EVERY)

    async def counts(self, request: Request) -> Response:
        return _json(await run_in_threadpool(self._queue.counts))

    async def describe(self, request: Request) -> Response:
        return _json(self._description)

    async def _job(self, request: Request) -> Job:
        """Return the job that the path names. Raises HTTPException 404."""
        job = await run_in_threadpool(self._queue.job, request.path_params["id"])
        if job is None:
            raise HTTPException(404, "there is no such job")
        return job


async def _health(request: Request) -> Response:
    return _json({"status": "ok"})


def _json(values: Any, status: int = 200, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse(values, status, _SAFE | (headers or {}))


def _shown(job: Job) -> dict[str, Any]:
    """Return a job as JSON values, with the addresses of its parts."""
    links = {part: f"/jobs/{job.id}/{part}" for part in ("events", "result", "solution", "page", "cancel")}
    return asdict(job) | {"links": {"self": f"/jobs/{job.id}", **links}}


def _invalid(error: InputError | UsageError) -> JSONResponse:
    """Return the answer to an invalid request: one line, and the field and line that it names."""
    field, line = (error.field, error.line) if isinstance(error, InputError) else (None, None)
    message = " ".join(str(error).split())
    return _json({"error": message, "field": field, "line": line, "accepted": message.partition("accepted: ")[2] or None}, 422)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json({"error": error.detail}, error.status_code, dict(error.headers or {}))


async def _failed(request: Request, error: Exception) -> Response:
    return _json({"error": " ".join(str(error).split())}, 503)
