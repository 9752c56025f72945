"""Agents: a server of the Model Context Protocol on standard input and output (extra "mcp"), with corl's tools."""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any, Protocol, TypeVar

from corl import registry
from corl.errors import CorlError, UsageError, unknown
from corl.result import Result
from corl.serve.helper import Helper
from corl.serve.limits import Limits
from corl.serve.tools import make
from corl.version import __version__

__all__ = ["agent_server", "serve_agents"]

_PREPARATION = 900.0  # seconds for imports and compilation, and for reading the instance
_INSTRUCTIONS = """corl solves combinatorial problems: routes, schedules, packing, mixed-integer programs, memory allocation.
An instance is an object in the JSON form of its problem, or the text of a file in a format of the field; paths are not accepted.
Read corl://problems for the problems and their solvers, corl://schemas/PROBLEM/instance for the JSON form, and
corl://formats/PROBLEM for the text formats. Solutions are in the JSON form corl://schemas/PROBLEM/solution."""
_JSON = "application/json"
_CLOSED = {"additionalProperties": False}
_Instance = dict[str, Any] | str
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Decorator(Protocol):
    """A decorator that registers a function, and returns it."""

    def __call__(self, function: _Function, /) -> _Function: ...


def serve_agents(limits: Limits) -> None:
    """Serve on standard input and output until the client closes them, or until Ctrl-C.

    Raises UsageError if the package is missing.
    """
    with (
        tempfile.TemporaryDirectory(prefix="corl-mcp-", ignore_cleanup_errors=True) as folder,
        Helper(limits, f"{folder}/tools", _PREPARATION + limits.max_seconds, make) as helper,
    ):

        def interrupted(number: int, frame: Any) -> None:
            """End at once: the server itself would first wait for the next line of standard input."""
            helper.stop()
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(130)

        server = agent_server(helper)
        signal.signal(signal.SIGINT, interrupted)  # corl's commands treat SIGTERM as Ctrl-C
        server.run()


def agent_server(helper: Helper) -> Any:
    """Return the server, an `mcp.server.MCPServer`, whose tools run in the process of `helper`, one at a time."""
    try:
        import anyio
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as error:
        raise UsageError(f'corl mcp needs the package mcp: in a checkout pip install ".[mcp]" ({error})') from error

    turn = anyio.Lock()

    async def ask(tool: str, **given: Any) -> dict[str, Any]:
        async with turn:
            try:
                return await anyio.to_thread.run_sync(helper.ask, (tool, given), abandon_on_cancel=True)
            except CorlError as error:
                raise ToolError(" ".join(str(error).split())) from error
            except anyio.get_cancelled_exc_class():
                helper.stop()
                raise

    server = _server_class()("corl", instructions=_INSTRUCTIONS, version=__version__)
    _add_tools(server.tool(), ask)
    _add_resources(server)
    return server


def _server_class() -> Any:
    """Return a subclass of MCPServer that refuses wrong arguments of a tool in one line; the package ignores unknown ones."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import ValidationError

    class Server(MCPServer):
        async def list_tools(self) -> list[Any]:
            """Return the tools; their schemas say that there are no other arguments."""
            found = await super().list_tools()
            return [tool.model_copy(update={"input_schema": tool.input_schema | _CLOSED}) for tool in found]

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            """Call a tool. Raises ToolError, which names a wrong, a missing or an unknown argument."""
            schemas = {tool.name: tool.input_schema for tool in await super().list_tools()}
            if name not in schemas:
                raise ToolError(unknown("no tool is called", name, schemas))
            accepted = schemas[name]["properties"]
            for argument in arguments:
                if argument not in accepted:
                    raise ToolError(unknown(f"{name} has no argument", argument, accepted))
            try:
                return await super().call_tool(name, arguments, context)
            except ToolError as error:
                if not isinstance(error.__cause__, ValidationError):
                    raise
                faults = error.__cause__.errors()
                wrong = faults[0]["loc"][0]
                reasons = dict.fromkeys(fault["msg"] for fault in faults if fault["loc"][0] == wrong)
                raise ToolError(f"{name}: {wrong}: {'; '.join(reasons)}") from error

    return Server


def _add_tools(tool: _Decorator, ask: Callable[..., Awaitable[dict[str, Any]]]) -> None:
    """Add the tools to a server by its decorator."""

    @tool
    async def solve(
        instance: _Instance,
        problem: str | None = None,
        solver: str = "auto",
        options: dict[str, Any] | None = None,
        time_limit: float | None = None,
        iterations: int | None = None,
        target: float | None = None,
        seed: int = 0,
        warm_start: dict[str, Any] | list[Any] | None = None,
    ) -> dict[str, Any]:
        """Search for a good solution of an instance until a limit ends the search. The solution is verified.

        Args:
            instance: An object in the problem's JSON form, or the text of a file.
            problem: The problem's name, if the content does not determine it.
            solver: A solver of the problem; "auto" chooses one.
            options: The solver's options.
            time_limit: Seconds; default 10. Compilation, which may take minutes when a solver first runs, is not included.
            iterations: A limit in the solver's own unit, instead of seconds.
            target: Stop at an objective value this good or better.
            seed: The seed of the random numbers.
            warm_start: A solution to start from.
        """
        given = {"instance": instance, "problem": problem, "solver": solver, "options": options, "time_limit": time_limit,
                 "iterations": iterations, "target": target, "seed": seed, "warm_start": warm_start}  # fmt: skip
        return await ask("solve", **given)

    @tool
    async def check(instance: _Instance, solution: Any, problem: str | None = None) -> dict[str, Any]:
        """Evaluate a solution, independently of any solver: whether it is feasible, its objective value, the first violation."""
        return await ask("check", instance=instance, solution=solution, problem=problem)

    @tool
    async def info(instance: _Instance, problem: str | None = None) -> dict[str, Any]:
        """Return facts about an instance: its problem, its size, and why it has no solution if that is obvious."""
        return await ask("info", instance=instance, problem=problem)

    @tool
    async def explain(instance: _Instance, solution: Any, problem: str | None = None) -> dict[str, Any]:
        """Return what a feasible solution leaves unserved, with a reason for each, and its objective value."""
        return await ask("explain", instance=instance, solution=solution, problem=problem)


def _add_resources(server: Any) -> None:
    """Add the list of problems, and the schemas and formats of each."""

    def add(address: str, name: str, about: str, kind: str, read: Callable[[], str]) -> None:
        server.resource(address, name=name, description=about, mime_type=kind)(read)

    about = "The problems, with their solvers and the endings of their files."
    add("corl://problems", "problems", about, _JSON, lambda: json.dumps([_summary(name) for name in registry.problems()]))
    add("corl://schemas/result", "result schema", "The JSON schema of results.", _JSON, lambda: json.dumps(Result.json_schema()))
    for name in registry.problems():
        for kind, schema in registry.problem(name).schemas().items():
            about = f"The JSON schema of {name}: {kind}."
            add(f"corl://schemas/{name}/{kind}", f"{name} {kind} schema", about, _JSON, _constant(json.dumps(schema)))
        if formats := _formats(name):
            about = f"The file formats of {name}."
            add(f"corl://formats/{name}", f"{name} formats", about, "text/markdown", _constant(formats))


def _summary(name: str) -> dict[str, Any]:
    problem = registry.problem(name)
    facts = {"name": name, "title": problem.title, "sense": problem.sense, "solvers": registry.solvers(name)}
    return facts | {"endings": list(problem.instance_suffixes)}


def _formats(name: str) -> str:
    """Return the page on a problem's formats, beside its module; "" if there is none."""
    folder = type(registry.problem(name)).__module__.rpartition(".")[0]
    if not folder:
        return ""
    page = resources.files(folder) / "formats.md"
    return page.read_text(encoding="utf-8") if page.is_file() else ""


def _constant(text: str) -> Callable[[], str]:
    """Return a function without arguments that returns the text."""
    return lambda: text
