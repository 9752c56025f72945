"""The judge: times worked out by hand, and what is feasible against a checker that paints every byte at every operation."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import Infeasible
from corl.problems.memory.evaluation import run_plan
from corl.problems.memory.instance import Machine, MappingPlan, Op, from_program
from corl.problems.memory.problem import Mapping

MAPPING = Mapping()


def plan(residencies=(), copies=()):
    return MappingPlan(np.array(residencies, np.int64).reshape(-1, 4), np.array(copies, np.int64).reshape(-1, 4))


@pytest.fixture
def chain():
    """x (8 bytes) -> a: y (8) -> b: z (4), b with a weight of 16 bytes; a computes 30 s, b is at 1 and 4 bytes a second."""
    tensors = [("x", 8, "input"), ("w", 16, "weight"), ("y", 8, "activation"), ("z", 4, "output")]
    ops = [Op("a", True, 30.0, [(0, 8)], [(2, 8)]), Op("b", False, 1.0, [(1, 16), (2, 8)], [(3, 4)])]
    machine = Machine(24, fast_bandwidth=4.0, slow_bandwidth=1.0, copy_bandwidth=1.0, matrix_flops=1.0, vector_flops=1.0)
    return from_program(ops, tensors, machine)


@pytest.mark.parametrize(
    ("residencies", "copies", "seconds", "stall"),
    [
        ([], [], 30 + 28, 0),  # b moves 16 + 8 + 4 bytes at one a second
        ([[2, 0, 2, 0]], [], 30 + 20 + 2, 0),  # y written and read in fast memory
        ([[1, 0, 2, 8]], [[1, 0, 0, 1]], 30 + 12 + 4, 2),  # 14 idle seconds for a copy of 16 bytes
        ([[1, 0, 2, 8], [2, 0, 2, 0]], [[1, 0, 0, 1]], 30 + 4 + 6, 0),  # 22, as y does not go to slow memory
        ([[2, 0, 2, 0], [3, 1, 2, 8]], [[3, 1, 1, 2]], None, 0),  # z cannot be copied out while it is written
    ],
)
def test_times_by_hand(chain, residencies, copies, seconds, stall):
    """Rooflines, copies in idle bandwidth, and stalls are what can be worked out on paper."""
    given = plan(residencies, copies)
    if seconds is None:
        with pytest.raises(Infeasible):
            MAPPING.evaluate(chain, given)
        return
    timeline = run_plan(chain, given)
    assert timeline.total == pytest.approx(seconds + stall, rel=1e-12)
    assert timeline.stall.sum() == pytest.approx(stall, abs=1e-12)
    assert MAPPING.evaluate(chain, given) == 1e6 * timeline.total


def test_first_due_first_served(chain):
    """The copy that must end first goes first, whatever their order in the plan, and waits count for the operation that waits."""
    ops = [Op(f"op{i}", True, 4.0, [], []) for i in range(3)] + [Op("end", True, 1.0, [(0, 4), (1, 6)], [])]
    program = from_program(ops, [("a", 4, "input"), ("b", 6, "input")], Machine(10, 4.0, 1.0, 1.0, 1.0, 1.0))
    residencies = [[0, 0, 4, 0], [1, 0, 4, 4]]
    for copies in ([[0, 0, 0, 1], [1, 0, 0, 3]], [[1, 0, 0, 3], [0, 0, 0, 1]]):
        timeline = run_plan(program, plan(residencies, copies))
        ends = dict(zip([row[0] for row in copies], timeline.copy_end))
        assert ends == {0: pytest.approx(4.0), 1: pytest.approx(10.0)}
        assert timeline.copied.tolist() == [4.0, 4.0, 2.0, 0.0] and not timeline.stall.any()
    late = run_plan(program, plan(residencies, [[0, 0, 0, 3], [1, 0, 0, 1]]))
    assert late.stall.tolist() == [0.0, 2.0, 0.0, 0.0, 0.0]


def reference(instance, given):
    """Seconds of a plan, or None if it breaks a rule: every byte painted at every operation, copies moved in tiny slices.

    Written for tiny programs, from README's rules alone.
    """
    sizes, n, made = instance.sizes.tolist(), instance.ops, instance.definition.tolist()
    residencies, copies = given.residencies.tolist(), given.copies.tolist()
    painted: dict[tuple[int, int], int] = {}
    reads = [instance.access_tensor[instance.access_first[i] : instance.access_first[i + 1]].tolist() for i in range(n)]
    for t, low, high, offset in residencies:
        if offset < 0 or offset + sizes[t] > instance.machine.fast_bytes:
            return None
        for i in range(low, high):
            for byte in range(offset, offset + sizes[t]):
                other = painted.setdefault((i, byte), t)
                if other == t:
                    continue
                group = instance.group[t] if instance.group[t] == instance.group[other] else -1
                spans = {row[0]: row for row in residencies if row[0] in (t, other) and row[1] <= i < row[2]}
                if group < 0 or spans[t][3] != spans[other][3]:
                    return None
                old, new = (t, other) if made[other] == i else (other, t)
                if made[new] != i or spans[new][1] != i or spans[old][2] != i + 1 or old not in reads[i]:
                    return None
    cells = [(t, i) for t, low, high, _ in residencies for i in range(low, high)]
    if len(set(cells)) < len(cells):
        return None
    held, holds = {}, {t: (0 if kind in ("input", "weight") else made[t] + 1) for t, kind in enumerate(instance.kinds)}
    used = []
    for t, low, high, _ in residencies:
        copy = [c for c in copies if c[:3] == [t, 0, low]]
        if low == made[t]:
            if copy:
                return None
            holds[t] = n + 1
            held[t, low] = (low, high)
        else:
            if len(copy) != 1 or copy[0][3] >= high:
                return None
            used += copy
            held[t, low] = (copy[0][3], high)
    out = [c for c in copies if c[1] == 1]
    if len({c[0] for c in out}) < len(out):
        return None
    for t, _, low, high in out:
        if holds[t] != n + 1 or low <= made[t] or not any(k[0] == t and v[0] <= low and high <= v[1] for k, v in held.items()):
            return None
    for t, _, _, high in out:
        holds[t] = high
    if any(c[1] == 0 and (c not in used or holds[c[0]] > c[2]) for c in copies):
        return None
    where, op = [], instance.access_op.tolist()
    for a, t in enumerate(instance.access_tensor.tolist()):
        fast = any(k[0] == t and v[0] <= op[a] < v[1] for k, v in held.items())
        if not fast and not instance.access_write[a] and holds[t] > op[a]:
            return None
        where.append(fast)
    if any(kind == "output" and holds[t] > n for t, kind in enumerate(instance.kinds)):
        return None
    for g in set(instance.group.tolist()) - {-1}:
        if len({where[a] for a, t in enumerate(instance.access_tensor.tolist()) if instance.group[t] == g}) > 1:
            return None
    return _seconds(instance, copies, where, op)


def _seconds(instance, copies, where, op):
    """The time, with copies moved a thousandth of a byte at a time."""
    machine, clock, slice_ = instance.machine, 0.0, 1e-3
    left = [round(instance.sizes[c[0]] / slice_) for c in copies]
    for i in range(instance.ops + 1):
        due = sum(left[k] for k, c in enumerate(copies) if c[3] <= i)
        left = [0 if c[3] <= i else left[k] for k, c in enumerate(copies)]
        clock += due * slice_ / min(machine.copy_bandwidth, machine.slow_bandwidth, machine.fast_bandwidth)
        if i == instance.ops:
            return clock
        amounts = [sum(int(b) for a, b in enumerate(instance.access_bytes) if op[a] == i and where[a] == fast) for fast in (0, 1)]
        rate = machine.matrix_flops if instance.matrix[i] else machine.vector_flops
        memory = amounts[0] / machine.slow_bandwidth + amounts[1] / machine.fast_bandwidth
        seconds = machine.overhead + max(instance.flops[i] / rate, memory)
        room = min(
            seconds * machine.copy_bandwidth,
            seconds * machine.slow_bandwidth - amounts[0],
            seconds * machine.fast_bandwidth - amounts[1],
        )
        budget = round(room / slice_)
        for k in sorted(range(len(copies)), key=lambda k: copies[k][3]):
            moved = min(budget, left[k]) if copies[k][2] <= i else 0
            budget, left[k] = budget - moved, left[k] - moved
        clock += seconds


def test_judge_against_painting(tiny, random_plan):
    """On thousands of random plans the judge accepts what the painting checker accepts, and gives the same time."""
    feasible = groups = 0
    for seed in range(60):
        instance, random = tiny(seed), np.random.default_rng(seed)
        for _ in range(60):
            given = random_plan(instance, random)
            expected = reference(instance, given)
            try:
                value = MAPPING.evaluate(instance, given) / 1e6
            except Infeasible:
                value = None
            assert (value is None) == (expected is None), (seed, given)
            if value is not None:
                assert value == pytest.approx(expected, abs=0.02)
                feasible += bool(len(given.residencies))
                fast = instance.group[given.residencies[:, 0]]
                groups += bool((fast >= 0).any())
    assert feasible > 100 and groups > 3


@pytest.mark.parametrize(
    ("residencies", "copies", "message"),
    [
        ([[9, 0, 1, 0]], [], "there is no tensor 9"),
        ([[2, 1, 1, 0]], [], "no span"),
        ([[2, 0, 2, 20]], [], "not within 0 to 24"),
        ([[2, 0, 2, 0], [1, 0, 2, 4]], [[1, 0, 0, 1]], "overlap in fast memory at operation 0"),
        ([[2, 0, 2, 0], [2, 1, 2, 12]], [[2, 0, 1, 2]], "two places"),
        ([[1, 0, 2, 0]], [], "filled by neither"),
        ([], [[1, 0, 0, 1]], "has no residency to fill"),
        ([[3, 1, 2, 0]], [], "output z of operation 1 is not in slow memory"),
        ([[2, 0, 1, 0]], [], "operation 1 reads y, which is then in neither memory"),
        ([], [[1, 1, 0, 1]], "not in fast memory alone"),
        ([], [[1, 2, 0, 1]], "no direction 2"),
        ([[0.5, 0, 1, 0]], [], "arrays of integers"),
    ],
)
def test_broken_rules_are_named(chain, residencies, copies, message):
    """The first broken rule stands in the message."""
    given = MappingPlan(np.array(residencies).reshape(-1, 4), np.array(copies).reshape(-1, 4))
    if not residencies or residencies[0][0] != 0.5:
        given = MappingPlan(*(part.astype(np.int64) for part in given))
    with pytest.raises(Infeasible, match=message):
        MAPPING.evaluate(chain, given)


def test_output_written_over_an_input():
    """An alias of an input may take its place in the operation that reads it last, and all of a group is in one memory."""
    tensors = [("x", 8, "input"), ("y", 8, "activation"), ("z", 8, "activation")]
    ops = [Op("a", True, 9.0, [(0, 8)], [(1, 8)]), Op("b", True, 9.0, [(1, 8)], [(2, 8)]), Op("c", True, 1.0, [(2, 8)], [])]
    program = from_program(ops, tensors, Machine(8, 4.0, 1.0, 1.0, 1.0, 1.0), aliases=[[1, 2]])
    together = plan([[1, 0, 2, 0], [2, 1, 3, 0]])
    assert MAPPING.evaluate(program, together) == pytest.approx(1e6 * (10 + 9 + 2))
    apart = from_program(ops, tensors, program.machine)
    with pytest.raises(Infeasible, match="overlap"):
        MAPPING.evaluate(apart, together)
    with pytest.raises(Infeasible, match="alias group 0"):
        MAPPING.evaluate(program, plan([[1, 0, 2, 0]]))
