"""`corl schema NAME [instance|solution]`: print a JSON schema."""

from __future__ import annotations

import argparse

__all__ = ["arguments", "execute"]

_KINDS = ("instance", "solution")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a problem's name; or result, for the output of corl solve --json")
    parser.add_argument("kind", choices=_KINDS, nargs="?", default="instance", help="which schema; default: instance")


def execute(args: argparse.Namespace) -> int:
    import json

    from corl import registry
    from corl.errors import UsageError
    from corl.result import Result

    if args.name == "result":
        schema = Result.json_schema()
    else:
        schemas = registry.problem(args.name).schemas()
        if args.kind not in schemas:
            raise UsageError(f"{args.kind}: {args.name} has no JSON schema of it; accepted: {', '.join(schemas) or 'nothing'}")
        schema = schemas[args.kind]
    print(json.dumps(schema, indent=1))
    return 0
