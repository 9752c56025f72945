"""`corl mcp`: serve tools for agents on standard input and output."""

from __future__ import annotations

import argparse

from corl.cli.serve import add_limits, limits_of

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    add_limits(parser, ("max_seconds", "max_memory", "max_workers"))


def execute(args: argparse.Namespace) -> int:
    from corl.serve.agents import serve_agents

    serve_agents(limits_of(args))
    return 0
