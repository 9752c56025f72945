"""Generators of instances: networks of layers, random graphs of operations, and programs from files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from corl.errors import UsageError, shortened
from corl.problems.memory.formats import read_instance
from corl.problems.memory.instance import Machine, MappingInstance, Op, from_program

__all__ = ["GENERATORS", "dag", "layered", "machine_with", "mixed", "model", "traced"]

_MAX_OPS = 20_000
_SHIPPED_SUFFIX = ".json.gz"


def layered(
    *,
    layers: int = 12,
    width: int = 1024,
    batch: int = 512,
    fast_mib: float = 4.0,
    skip: int = 2,
    state: float = 0.2,
    seed: int = 0,
) -> MappingInstance:
    """Return a network of `layers` blocks: a matrix product, an elementwise operation and, at random, normalisation or pooling.

    The number of channels varies by factors of two around `width`; a number has two bytes. Every `skip`-th block adds an earlier
    activation (0: no block does). With probability `state` a block has a state that it updates in place: the old and the new
    state are an alias group.
    """
    _check("layers", layers, 1, _MAX_OPS // 4)
    _check("width", width, 1, 2**20)
    _check("batch", batch, 1, 2**20)
    _check("skip", skip, 0, layers)
    _check("state", state, 0.0, 1.0)
    random = np.random.default_rng(seed)
    ops: list[Op] = []
    tensors: list[tuple[str, int, str]] = [("x", 2 * batch * width, "input")]
    aliases, current, channels, activations = [], 0, width, [0]  # current: the tensor that the next block reads

    def add(name: str, elements: int, kind: str = "activation") -> int:
        tensors.append((name, 2 * elements, kind))
        return len(tensors) - 1

    def run(name: str, matrix: bool, flops: float, reads: list[int], *written: int) -> None:
        accesses = [[(t, tensors[t][1]) for t in part] for part in (dict.fromkeys(reads), written)]
        ops.append(Op(name, matrix, flops, *accesses))

    for k in range(layers):
        out = max(1, int(width * 2.0 ** random.integers(-1, 2)))
        weight, product = add(f"w{k}", channels * out, "weight"), add(f"h{k}", batch * out)
        run(f"matmul{k}", True, 2.0 * batch * channels * out, [current, weight], product)
        reads = [product, add(f"b{k}", out, "weight")]
        if skip and k % skip == skip - 1:
            same_size = [t for t in activations if tensors[t][1] == 2 * batch * out]
            reads += [same_size[int(random.integers(len(same_size)))]] if same_size else []
        final = k == layers - 1
        current, channels = add(f"a{k}", batch * out, "output" if final else "activation"), out
        run(f"activation{k}", False, 4.0 * batch * out, reads, current)
        activations.append(current)
        if random.random() < state:
            old, new = add(f"s{k}", batch * out // 2, "input"), add(f"t{k}", batch * out // 2, "output")
            run(f"update{k}", False, 2.0 * batch * out, [current, old], new)
            aliases.append([old, new])
    name, parameters = f"layered-{layers}", {"layers": layers, "width": width, "batch": batch, "skip": skip, "state": state}
    comment = _comment("layered", parameters | {"fast_mib": fast_mib}, seed)
    return from_program(ops, tensors, machine_with(fast_mib), aliases=aliases, name=name, comment=comment)


def dag(
    *, ops: int = 40, fast_mib: float = 4.0, largest_mib: float = 4.0, reach: int = 8, weights: float = 0.5, seed: int = 0
) -> MappingInstance:
    """Return a random graph of operations. Each writes one tensor and reads one to three, mostly of the `reach` latest ones.

    Sizes of tensors are log-uniform from `largest_mib` / 64 to `largest_mib`. With probability `weights` an operation also reads
    a weight. The number of floating-point operations is log-uniform around the number that takes as long as the operation's
    traffic with the slow memory.
    """
    _check("ops", ops, 1, _MAX_OPS)
    _check("largest_mib", largest_mib, 2.0**-14, 2.0**14)
    _check("reach", reach, 1, _MAX_OPS)
    _check("weights", weights, 0.0, 1.0)
    random, machine = np.random.default_rng(seed), machine_with(fast_mib)
    sizes = (2**20 * largest_mib * 2.0 ** random.uniform(-6, 0, 2 * ops + 2)).astype(np.int64).tolist()
    tensors: list[tuple[str, int, str]] = [("x0", sizes.pop(), "input"), ("x1", sizes.pop(), "input")]
    readable, program, ever_read = [0, 1], [], set()  # readable: inputs and activations so far
    for i in range(ops):
        reads = {readable[-1 - min(len(readable) - 1, int(random.integers(reach)))] for _ in range(int(random.integers(1, 4)))}
        if random.random() < 0.1:
            reads.add(int(random.choice(readable)))
        ever_read |= reads
        if random.random() < weights:
            tensors.append((f"w{i}", sizes.pop(), "weight"))
            reads.add(len(tensors) - 1)
        tensors.append((f"a{i}", sizes.pop(), "activation"))
        readable.append(len(tensors) - 1)
        traffic = sum(tensors[t][1] for t in reads) + tensors[-1][1]
        matrix = bool(random.random() < 0.5)
        rate = machine.matrix_flops if matrix else machine.vector_flops
        flops = float(round(rate * traffic / machine.slow_bandwidth * 2.0 ** random.uniform(-4, 1)))
        program.append(Op(f"op{i}", matrix, flops, [(t, tensors[t][1]) for t in sorted(reads)], [(readable[-1], tensors[-1][1])]))
    outputs = set(readable[2:]) - ever_read
    tensors = [(name, size, "output" if t in outputs else kind) for t, (name, size, kind) in enumerate(tensors)]
    parameters = {"ops": ops, "fast_mib": fast_mib, "largest_mib": largest_mib, "reach": reach, "weights": weights}
    return from_program(program, tensors, machine, name=f"dag-{ops}", comment=_comment("dag", parameters, seed))


def model(*, file: str, fast_mib: float = 8.0, seed: int = 0) -> MappingInstance:
    """Return the program in a file, on the file's machine with `fast_mib` MiB of fast memory.

    `file` is a path relative to the folder that the environment variable CORL_DATA names.
    """
    folder = os.environ.get("CORL_DATA")
    if not folder:
        raise UsageError("file: it is relative to the folder that the environment variable CORL_DATA names; CORL_DATA is not set")
    path = (Path(folder) / file).resolve()
    if not path.is_relative_to(Path(folder).resolve()):
        raise UsageError(f"file: {shortened(file)!r} is outside the folder CORL_DATA; accepted: a path relative to it")
    others = {name: make for name, make in GENERATORS.items() if make is not model}  # so that no file calls `model` on itself
    instance = read_instance(path, others)
    machine = replace(instance.machine, fast_bytes=machine_with(fast_mib).fast_bytes)
    return instance.with_machine(machine, f"{instance.name}-{fast_mib:g}")


def traced(*, program: str = "bert-b8", fast_mib: float = 8.0, seed: int = 0) -> MappingInstance:
    """Return a shipped program, traced from a model (`corl trace`), on the default machine with `fast_mib` MiB of fast memory."""
    from importlib import resources

    folder = resources.files("corl.instances") / "memory"
    names = sorted(file.name.removesuffix(_SHIPPED_SUFFIX) for file in folder.iterdir() if file.name.endswith(_SHIPPED_SUFFIX))
    if program not in names:
        raise UsageError(f"program: {program!r} is not shipped; accepted: {', '.join(names)}")
    with resources.as_file(folder / f"{program}{_SHIPPED_SUFFIX}") as path:
        return read_instance(path, GENERATORS).with_machine(machine_with(fast_mib), f"{program}-{fast_mib:g}")


def mixed(*, size: int = 12, seed: int = 0) -> MappingInstance:
    """Return a program of about `size` operations for training, by `layered` or `dag` with random parameters.

    The fast memory has 0.5 to 16 MiB.
    """
    _check("size", size, 2, _MAX_OPS)
    random = np.random.default_rng(seed)
    fast, inner = float(2.0 ** random.uniform(-1.0, 4.0)), int(random.integers(2**31))
    if random.random() < 0.35:
        largest, reach = float(2.0 ** random.uniform(0.0, 3.5)), int(random.integers(2, 12))
        made = dag(ops=size, fast_mib=fast, largest_mib=largest, reach=reach, weights=float(random.uniform(0, 0.6)), seed=inner)
    else:
        width, batch = (int(2 ** random.integers(*span)) for span in ((7, 12), (6, 12)))
        layers = max(1, round(size / 2.2))
        skip, state = int(random.integers(0, min(5, layers))), float(random.uniform(0.0, 0.4))
        made = layered(layers=layers, width=width, batch=batch, fast_mib=fast, skip=skip, state=state, seed=inner)
    return replace(made, name=f"mixed-{size}", comment=_comment("mixed", {"size": size}, seed))


def machine_with(fast_mib: float) -> Machine:
    """Return the default machine with `fast_mib` MiB of fast memory. Raises UsageError."""
    _check("fast_mib", fast_mib, 0.0, 2.0**20)
    return Machine(fast_bytes=int(fast_mib * 2**20))


def _comment(generator: str, parameters: dict[str, Any], seed: int) -> str:
    """Return the command that generates an instance, for its comment."""
    given = " ".join(f"--option {key}={value}" for key, value in parameters.items())
    return f"corl generate memory {generator} {given} --seed {seed}"


def _check(field: str, value: float, low: float, high: float) -> None:
    """Raise UsageError if a parameter is not in low..high."""
    if not low <= value <= high:
        raise UsageError(f"{field}: {value} is not accepted; accepted: {low:g} to {high:g}")


GENERATORS: dict[str, Callable[..., Any]] = {
    "layered": layered,
    "dag": dag,
    "mixed": mixed,
    "model": model,
    "traced": traced,
}
