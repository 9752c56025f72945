"""`corl info FILE`"""

from __future__ import annotations

import argparse
import json

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--problem", metavar="NAME")
    parser.add_argument("--json", action="store_true")


def execute(args: argparse.Namespace) -> int:
    from corl.solving import load

    problem, instance = load(args.file, args.problem)
    facts = {"problem": problem.name, "name": instance.name, **problem.describe(instance)}
    if args.json:
        print(json.dumps(facts))
    else:
        width = max(map(len, facts)) + 2
        print("\n".join(f"{key:<{width}}{fact}" for key, fact in facts.items()))
    return 0
