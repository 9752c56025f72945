"""`corl trace MODEL`: make an instance of memory mapping from a PyTorch model."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    model = "a name (resnet50, bert, ...), an .onnx file, or MODULE:FUNCTION, which returns a module and its inputs"
    add("model", metavar="MODEL", help=model)
    add(
        "--problem",
        metavar="NAME",
        default="memory",
        help="memory (the default), or memory-static: static allocation of buffers with the tensors' lifetimes",
    )
    add("--batch", metavar="N", type=int, help="batch size; default 1")
    add("--dtype", metavar="TYPE", help="float32, float16 or bfloat16")
    add(
        "--option",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="option of the tracer; an unknown KEY lists the options",
    )
    add("--output", metavar="FILE", type=Path, help="the file to write; default: standard output")


def execute(args: argparse.Namespace) -> int:
    from corl import options, registry
    from corl.cli.generate import write

    problem = registry.problem(args.problem)
    given = {key: getattr(args, key) for key in ("batch", "dtype") if getattr(args, key) is not None}
    instance = options.call(problem.tracer(), {"model": args.model, **given, **options.parse_pairs(args.option)})
    write(problem, instance, args.output)
    return 0
