"""Shared by the tests of the solvers of memory mapping: tiny programs, as the tests of the problem make them."""

from __future__ import annotations

import numpy as np
import pytest

from corl.problems.memory.instance import Machine, Op, from_program


def _tiny(seed: int, ops: int = 4, fast: int = 12, aliases: bool = True):
    """A chain of operations with random reads; sizes of one to eight bytes, small whole rates."""
    random = np.random.default_rng(seed)
    tensors = [("x", int(random.integers(1, 9)), "input"), ("w", int(random.integers(1, 9)), "weight")]
    program, groups = [], []
    for i in range(ops):
        count = min(len(tensors), int(random.integers(1, 4)))
        reads = sorted({len(tensors) - 1, *random.choice(len(tensors), count, replace=False).tolist()})
        tensors.append((f"t{i}", int(random.integers(1, 9)), "output" if i == ops - 1 else "activation"))
        if aliases and random.random() < 0.4 and not any(reads[0] in group for group in groups):
            groups.append([reads[0], len(tensors) - 1])
        accesses = [[(t, tensors[t][1]) for t in part] for part in (reads, [len(tensors) - 1])]
        program.append(Op(f"op{i}", bool(random.random() < 0.5), float(random.integers(0, 20)), *accesses))
    machine = Machine(fast, float(random.integers(2, 9)), 1.0, 1.0, matrix_flops=4.0, vector_flops=1.0)
    return from_program(program, tensors, machine, aliases=groups, name=f"tiny-{seed}")


@pytest.fixture(scope="session")
def tiny():
    """A function (seed, ops, fast, aliases) -> MappingInstance."""
    return _tiny
