"""The tools and resources for agents, through the protocol's own client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import anyio
import pytest
from mcp import Client

from corl import registry
from corl.errors import UsageError
from corl.networks.checkpoints import SHIPPED_ONLY
from corl.serve import tools
from corl.serve.agents import agent_server
from corl.serve.limits import Limits
from support.serving import SQUARE

KNAPSACK = {"problem": "knapsack", "values": [6, 10, 12], "weights": [[1, 2, 3]], "capacities": [5]}


class Direct:
    """A Helper without a process."""

    def __init__(self, folder: str) -> None:
        self._answer = tools.make(folder, Limits(max_seconds=20))

    def ask(self, payload: tuple[str, Any]) -> Any:
        return self._answer(payload)


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "confine", lambda folder: tmp_path)
    monkeypatch.setattr(tools, "limit_memory", lambda mib: None)
    monkeypatch.setenv(SHIPPED_ONLY, "1")
    return agent_server(Direct(str(tmp_path)))


def called(server, tool: str, **given: Any) -> Any:
    """The answer of a tool; the message of its error as a text."""

    async def call() -> Any:
        async with Client(server) as client:
            return await client.call_tool(tool, given)

    found = anyio.run(call)
    if found.is_error:
        return found.content[0].text
    return found.structured_content


def test_an_agent_solves_and_checks(server):
    """A text or an object; the solution of one tool is accepted by the others, and so is the whole result."""
    result = called(server, "solve", instance=SQUARE, solver="exact")
    assert (result["status"], result["objective"], result["unserved"]) == ("optimal", 40, {})
    for solution in (result["solution"], {key: result[key] for key in ("problem", "solution", "objective")}):
        assert called(server, "check", instance=SQUARE, solution=solution) == {"feasible": True, "objective": 40, "reason": ""}
    assert called(server, "explain", instance=SQUARE, solution=result["solution"])["objective"] == 40
    verdict = called(server, "check", instance=SQUARE, solution=[1, 2, 3])
    assert not verdict["feasible"] and "is not visited" in verdict["reason"]
    assert called(server, "solve", instance=KNAPSACK, solver="dp")["objective"] == 22
    assert called(server, "info", instance=KNAPSACK)["problem"] == "knapsack"


@pytest.mark.parametrize(
    ("tool", "given", "message"),
    [
        (
            "solve",
            {"instance": SQUARE, "time_limit": 21},
            "time_limit: 21 is not accepted; accepted: a number above",
        ),
        ("solve", {"instance": "/etc/passwd"}, "not recognised as an instance of any problem"),
        ("check", {"instance": KNAPSACK | {"capacities": [-1]}, "solution": []}, "capacities[0]: -1 is not accepted"),
        ("explain", {"instance": SQUARE, "solution": [1]}, "is not visited"),
        ("info", {"instance": SQUARE, "problem": "tps"}, "did you mean 'tsp'?"),
        (
            "solve",
            {"instance": SQUARE, "time_limt": 1},
            "solve has no argument 'time_limt' (did you mean 'time_limit'?); there are: i",
        ),
        ("info", {"instance": SQUARE, "solver": "dp"}, "info has no argument 'solver'; there are: instance, problem"),
        ("check", {"instance": SQUARE}, "check: solution: Field required"),
        ("solve", {"instance": SQUARE, "seed": "one"}, "solve: seed: Input should be a valid integer"),
        ("improve", {}, "no tool is called 'improve'; there are: solve, check, info, explain"),
    ],
)
def test_faults_are_one_line(server, tool, given, message):
    """As for every client."""
    found = called(server, tool, **given)
    assert isinstance(found, str) and message in found and "\n" not in found


def test_schemas_of_tools_accept_no_other_arguments(server):
    """So that a client can check a call before it is made."""

    async def listed() -> list[Any]:
        async with Client(server) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(listed)
    assert [tool.name for tool in tools] == ["solve", "check", "info", "explain"]
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)


def test_a_cancelled_call_ends_its_task():
    """So that it does not delay the next one."""

    class Slow:
        def __init__(self) -> None:
            self.begun, self.stopped = threading.Event(), threading.Event()

        def ask(self, payload: Any) -> Any:
            self.begun.set()
            self.stopped.wait()
            raise UsageError("stopped")

        def stop(self) -> None:
            self.stopped.set()

    slow = Slow()

    async def call() -> None:
        async with Client(agent_server(slow)) as client:  # type: ignore[arg-type]
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "info", {"instance": SQUARE})
                await anyio.to_thread.run_sync(slow.begun.wait)
                group.cancel_scope.cancel()
            await anyio.to_thread.run_sync(slow.stopped.wait)

    anyio.run(call)
    assert slow.stopped.is_set()


def test_schemas_and_formats_are_resources(server):
    """Of every problem that has them, with the list of problems."""

    async def read() -> tuple[set[str], dict[str, str]]:
        async with Client(server) as client:
            listed = {str(each.uri) for each in (await client.list_resources()).resources}
            wanted = ("corl://problems", "corl://schemas/vrp/instance", "corl://formats/tsp", "corl://schemas/result")
            return listed, {uri: (await client.read_resource(uri)).contents[0].text for uri in wanted}

    listed, texts = anyio.run(read)
    for name in registry.problems():
        assert {f"corl://schemas/{name}/{kind}" for kind in registry.problem(name).schemas()} <= listed
        assert f"corl://formats/{name}" in listed
    assert [each["name"] for each in json.loads(texts["corl://problems"])] == registry.problems()
    assert json.loads(texts["corl://schemas/vrp/instance"]) == registry.problem("vrp").schemas()["instance"]
    assert "TSPLIB" in texts["corl://formats/tsp"]


@pytest.mark.long
def test_the_command_serves_on_standard_streams():
    """`corl mcp` as an agent starts it."""
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def call() -> Any:
        parameters = StdioServerParameters(command=sys.executable, args=["-P", "-m", "corl", "mcp"])
        async with Client(stdio_client(parameters)) as client:
            return (await client.call_tool("solve", {"instance": SQUARE, "solver": "exact"})).structured_content

    assert anyio.run(call)["objective"] == 40


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_command(tmp_path, number):
    """Also while the client keeps standard input open; nothing is left behind."""
    command = [sys.executable, "-P", "-m", "corl", "mcp"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None and process.stdout is not None
        facts = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": facts}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert b"result" in process.stdout.readline()
        process.send_signal(number)
        assert process.wait() == 130
    assert not list(tmp_path.glob("corl-mcp-*"))
