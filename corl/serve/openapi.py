"""The description of a server's HTTP interface, in OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corl.result import Result
from corl.serve.limits import Limits
from corl.serve.queue import STATES
from corl.serve.request import request_kind
from corl.version import __version__

__all__ = ["description"]

_Values = dict[str, Any]
_TEXT: _Values = {"type": "string"}
_NUMBER_OR_NULL: _Values = {"type": ["number", "null"]}
_ERRORS = {
    400: "damaged data",
    401: "no token, or a wrong one",
    404: "there is no such job",
    408: "the request arrives too slowly",
    409: "the job has no such part yet",
    413: "the request is too large, perhaps after decompression",
    415: "another type or encoding than those accepted",
    421: "the header Host names another machine",
    422: "the request is invalid; `field` says where, and `accepted` what is accepted",
    429: "too many jobs have not ended",
    503: "the server cannot do this now",
}
_PARTS = ("events", "result", "solution", "page")
_ALWAYS = (401, 421, 503)
_JOB = (404, *_ALWAYS)
_FIELDS = {
    "instance": "the instance: its JSON form (`corl schema PROBLEM`), or the content of a file in any format that corl reads",
    "problem": "the problem's name, if the content does not determine it",
    "name": "the file's name, whose ending may help to recognise the format; it is never opened",
    "solver": "a solver's name; default: auto",
    "options": "the solver's options",
    "time_limit": "seconds on the solver's clock, which starts after compilation; default 10, or the most with iterations",
    "iterations": "a limit in the solver's own unit",
    "target": "stop at an objective value this good or better",
    "patience": "stop when there was no better solution or bound for these seconds",
    "seed": "the seed of the random numbers; default 0",
    "workers": "processes that search with different seeds; default 1",
    "warm_start": "a solution to start from: a result, or a solution in JSON",
}


def description(limits: Limits) -> _Values:
    """Return the OpenAPI document of a server with these limits."""
    request = request_kind(limits).schema
    request["properties"] = {key: {"description": _FIELDS[key], **kind} for key, kind in request["properties"].items()}
    schemas = {"Request": request, "Job": _job(), "Result": Result.json_schema(), "Error": _error()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "corl", "version": __version__, "description": "Solves combinatorial problems as jobs in a queue."},
        "paths": _paths(),
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}, {}],
    }


def _paths() -> _Values:
    number = {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}
    after = {"name": "after", "in": "query", "schema": number, "description": "number of the last event that is known"}
    submit = _operation("submit", "Submit a job.", 202, _json("Job"), (400, 408, 413, 415, 422, 429, *_ALWAYS))
    submit["requestBody"] = {"required": True, **_json("Request")}
    submit["responses"]["202"]["headers"] = {"Location": {"schema": _TEXT, "description": "the path of the job"}}
    named = {"id": "$response.body#/id"}
    submit["responses"]["202"]["links"] = {
        name: {"operationId": name, "parameters": named} for name in (*_PARTS, "job", "cancel")
    }
    cancel = _operation("cancel", "End a job early. Its best solution so far becomes its result.", 202, _json("Job"), _JOB)
    events = _operation("events", "Stream events until the job ends: state, note, improved.", 200, _content("text/event-stream"),
                        (422, *_JOB))  # fmt: skip
    counts = _object({"type": "object", "additionalProperties": {"type": "integer"}})
    solution = _object({"type": "object", "required": ["problem", "instance", "objective", "solution"]})
    health = _object({"type": "object", "required": ["status"]})
    reads = {
        "": _operation("job", "The state of a job.", 200, _json("Job"), _JOB),
        "/events": events,
        "/result": _operation("result", "The result of a job that has ended.", 200, _json("Result"), (409, *_JOB)),
        "/solution": _operation("solution", "The best solution so far.", 200, solution, (409, *_JOB)),
        "/page": _operation("page", "A web page with the best solution so far.", 200, _content("text/html"), (422, *_JOB)),
    }
    reads["/page"]["responses"]["304"] = {"description": "the page has the ETag that the request names"}
    paths: _Values = {f"/jobs/{{id}}{part}": {"get": read, "parameters": [_ID]} for part, read in reads.items()}
    events["parameters"] = [after]
    document = _object({"type": "object"})
    return {
        "/jobs": {"post": submit},
        **paths,
        "/jobs/{id}/cancel": {"post": cancel, "parameters": [_ID]},
        "/queue": {"get": _operation("queue", "The number of jobs in each state.", 200, counts, _ALWAYS)},
        "/openapi.json": {"get": _operation("openapi", "This description.", 200, document, _ALWAYS)},
        "/health": {"get": _operation("health", "Whether the server answers.", 200, health, ())},
    }


_ID = {"name": "id", "in": "path", "required": True, "schema": _TEXT, "description": "the id of a job"}


def _operation(name: str, summary: str, code: int, answer: Mapping[str, Any], errors: tuple[int, ...]) -> _Values:
    responses: _Values = {str(code): {"description": summary, **answer}}
    responses |= {str(each): {"description": _ERRORS[each], **_json("Error")} for each in sorted(errors)}
    return {"operationId": name, "summary": summary, "responses": responses}


def _json(name: str) -> _Values:
    return _object({"$ref": f"#/components/schemas/{name}"})


def _object(schema: Mapping[str, Any]) -> _Values:
    return _content("application/json", schema)


def _content(kind: str, schema: Mapping[str, Any] | None = None) -> _Values:
    return {"content": {kind: {"schema": dict(schema or _TEXT)}}}


def _job() -> _Values:
    texts = ("id", "problem", "instance", "sense", "solver", "reason")
    states = "; ".join(f"{state}: {meaning}" for state, meaning in STATES.items())
    properties: _Values = dict.fromkeys(texts, _TEXT)
    properties |= {"state": {"enum": list(STATES), "description": states}}
    properties |= {"time_limit": {"type": "number"}, "submitted": {"type": "number", "description": "seconds since 1970"}}
    properties |= dict.fromkeys(("started", "ended", "objective", "bound"), _NUMBER_OR_NULL)
    properties |= {"attempts": {"type": "integer"}, "cancelled": {"type": "boolean"}}
    properties |= {"links": {"type": "object", "additionalProperties": _TEXT}}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _error() -> _Values:
    properties: _Values = {"error": {**_TEXT, "description": "what is wrong, in one line"}}
    properties |= {"field": {"type": ["string", "null"]}, "line": {"type": ["integer", "null"]}}
    properties |= {"accepted": {"type": ["string", "null"]}}
    return {"type": "object", "properties": properties, "required": ["error"]}
