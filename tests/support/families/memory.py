"""Tiny programs and random plans."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl import registry
from corl.problems.memory.instance import Machine, MappingPlan, Op, from_program

CHEAP = "greedy-keep"
LARGE = {"memory": ("dag", {"ops": 5000})}
LESS_LARGE = {"memory-28": ("dag", {"ops": 28})}

BUSY = ("traced", {"program": "gpt2-b8"})
HELD: list[Any] = []  # files, Models and modules alone
PAGE = ("dag", {})
COMPILATION = 57
RECORDED = ("annealing",)
GOLDENS = {
    "dag": ("dag", {"ops": 14, "seed": 1}),
    "large": ("dag", {"ops": 40, "reach": 12, "fast_mib": 3.0, "seed": 3}),
    "layered": ("layered", {"layers": 5, "seed": 2}),
    "traced": ("traced", {"program": "alphatensor-b1", "fast_mib": 1.0}),
}
GOLDEN_SOLVES = """
all-slow dag -
annealing dag 20000
annealing large 20000
annealing traced 1000
cp-sat dag - engine +ortools
greedy-keep traced -
learned-priority dag 60
learned-priority traced 6
muzero dag 100 +torch
policy dag 200 decoder=sample policy=memory-alphazero +torch
policy traced 100 +torch
tree-search dag 300 +torch
xla-like dag -
xla-like traced -
"""


def tiny(seed: int, ops: int = 4, fast: int = 12, aliases: bool = True):
    """A program of a few operations whose tensors have one to eight bytes; bandwidths are small whole numbers."""
    random = np.random.default_rng(seed)
    tensors = [("x", int(random.integers(1, 9)), "input"), ("w", int(random.integers(1, 9)), "weight")]
    program, groups = [], []
    for i in range(ops):
        reads = random.choice(len(tensors), min(len(tensors), int(random.integers(1, 4))), replace=False).tolist()
        kind = "output" if random.random() < 0.3 or i == ops - 1 else "activation"
        tensors.append((f"t{i}", int(random.integers(1, 9)), kind))
        new = len(tensors) - 1
        if aliases and random.random() < 0.3 and not any(reads[0] in group for group in groups):
            groups.append([reads[0], new])
        accesses = [[(t, tensors[t][1]) for t in part] for part in (reads, [new])]
        program.append(Op(f"op{i}", bool(random.random() < 0.5), float(random.integers(0, 20)), *accesses))
    quick, copy = float(random.integers(2, 9)), float(random.choice([0.5, 1.0]))
    machine = Machine(fast, quick, 1.0, copy, matrix_flops=4.0, vector_flops=1.0, overhead=float(random.integers(0, 2)))
    return from_program(program, tensors, machine, aliases=groups, name=f"tiny-{seed}")


def random_plan(instance, random) -> MappingPlan:
    """A plan that is often, not always, possible: residencies from a definition or with a copy, copies out of defined tensors."""
    residencies, copies = [], []
    for t in random.permutation(instance.tensors)[: random.integers(0, 4)].tolist():
        made, n = int(instance.definition[t]), instance.ops
        low = made if made >= 0 and random.random() < 0.7 else int(random.integers(0, n))
        high = int(random.integers(low + 1, n + 1))
        offset = int(random.integers(0, max(1, instance.machine.fast_bytes - instance.sizes[t] + 1)))
        residencies.append([t, low, high, offset])
        if low != made or random.random() < 0.05:
            copies.append([t, 0, low, int(random.integers(low + 1, n + 1))])
        if made >= 0 and random.random() < 0.6 and made + 1 < n:
            first = int(random.integers(made + 1, n))
            copies.append([t, 1, first, int(random.integers(first + 1, n + 1))])
    return MappingPlan(np.array(residencies, np.int64).reshape(-1, 4), np.array(copies, np.int64).reshape(-1, 4))


def sample(seed: int):
    """A program of up to eight operations and a memory by the seed."""
    return tiny(seed, ops=3 + seed % 6, fast=6 + seed // 100 % 12)


def smallest() -> list[Any]:
    """Short programs, and fast memories that hold nothing, or everything."""
    return [tiny(seed, ops=ops, fast=fast) for seed, ops, fast in ((0, 1, 1), (1, 2, 1), (2, 2, 99), (3, 3, 6))]


def kernel_samples() -> list[Any]:
    """Small instances of the kinds that the solvers have kernels for."""
    make = registry.problem("memory").generators
    return [make["layered"](layers=4), make["dag"](ops=6)]
