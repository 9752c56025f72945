"""Record which kernels solvers compile in `prepare`, for the processes that compile them ahead (corl.compilation.precompile).

    python -P tests/record_kernels.py                        # of every solver that `auto` takes and that has kernels
    python -P tests/record_kernels.py tsp.eax vrp            # of this one, and of all of a problem

What a kernel takes to compile, with what it calls, is estimated from the size of its machine code.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba.core.dispatcher import Dispatcher

from corl import registry
from corl.compilation import bitcode_only, precompile, signatures

TESTS = Path(__file__).resolve().parent
WRAPPER, BYTES_A_SECOND = 20_000, 78_000
"""How seconds follow from the bytes that are kept of a kernel: those of `tsp.eax`, compiled on one idle core, fit these."""


def described(problem_name: str) -> Any:
    """What the tests know of a family."""
    sys.path.insert(0, str(TESTS))
    from support.families import family

    return family(problem_name)


def instances(problem_name: str) -> list[Any]:
    """Small instances of the kinds that a problem's solvers have kernels for."""
    found: list[Any] = described(problem_name).kernel_samples()
    return found


def kernels() -> Iterator[Any]:
    """The kernels of all modules of corl that are loaded."""
    for name, module in list(sys.modules.items()):
        for value in list(vars(module).values()) if name.startswith("corl.") else ():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == name:
                yield value


def prepared(problem_name: str, short: str, kind: str) -> dict[str, Any]:
    """What Python calls while a solver prepares for the problem's samples of that kind, and shared kernels, the longest first."""
    solver = registry.solver(problem_name, short)()
    for instance in instances(problem_name):
        if not solver.accepts(instance) and solver.kind(instance) == kind:
            solver.prepare(instance)
    classes: dict[str, Any] = {}
    found = []
    for kernel in kernels():
        function = kernel.py_func
        for types, result in kernel.overloads.items():
            if bitcode_only.is_whole(result) or precompile.is_shared(kernel):
                size = precompile.stored_size(kernel, types)
                seconds = round(max(0.1, (size - WRAPPER) / BYTES_A_SECOND), 1)
                texts = [signatures.written(each, classes) for each in types]
                found.append([seconds, f"{function.__module__}:{function.__qualname__}", texts])
    found.sort(key=lambda entry: (-entry[0], entry[1], str(entry[2])))
    return {"kind": kind, "kernels": found, "classes": classes}


def kinds(problem_name: str, short: str) -> list[str]:
    """The kinds of the problem's samples that a solver accepts."""
    solver = registry.solver(problem_name, short)()
    return sorted({solver.kind(instance) for instance in instances(problem_name) if not solver.accepts(instance)})


def record(problem_name: str, short: str) -> None:
    """Write what a solver needs to the record of its module."""
    entries = []
    for kind in kinds(problem_name, short):
        command = [sys.executable, "-P", __file__, problem_name, short, kind]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        entries.append(json.loads(done.stdout.splitlines()[-1]))
    cls = registry.solver(problem_name, short)
    file = precompile.record_file(cls)
    found = defaultdict(list, json.loads(file.read_text(encoding="utf-8")) if file.exists() else {})
    found[cls.__name__] = entries
    file.write_text(text(found), encoding="utf-8")
    total = [round(sum(seconds for seconds, _, _ in entry["kernels"]), 1) for entry in entries]
    print(f"{problem_name}.{short}: {total} s", flush=True)


def text(found: dict[str, Any]) -> str:
    """JSON with a line a kernel and a line a class."""
    lines = []
    for solver, entries in sorted(found.items()):
        parts = []
        for entry in entries:
            kernels = ",\n".join(f"  {json.dumps(each)}" for each in entry["kernels"])
            classes = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in entry["classes"].items())
            parts.append(f'{{"kind": {json.dumps(entry["kind"])},\n "kernels": [\n{kernels}],\n "classes": {{\n{classes}}}}}')
        lines.append(f"{json.dumps(solver)}: [\n" + ",\n".join(parts) + "]")
    return "{" + ",\n".join(lines) + "}\n"


def main(arguments: list[str]) -> None:
    if len(arguments) == 3 and "." not in arguments[0]:
        print(json.dumps(prepared(*arguments)))
        return
    for name in registry.problems():
        for short in getattr(described(name), "RECORDED", ()):
            if not arguments or f"{name}.{short}" in arguments or name in arguments:
                record(name, short)


if __name__ == "__main__":
    main(sys.argv[1:])
