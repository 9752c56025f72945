"""The mallocGame: rewards add up to what the judge says, games end, alias groups are dropped."""

from __future__ import annotations

import numpy as np
import pytest

from corl.errors import UsageError
from corl.problems.memory.environment import MappingEnvironment
from corl.problems.memory.evaluation import run_plan
from corl.problems.memory.generators import dag, layered
from corl.problems.memory.instance import Machine, Op, from_program
from corl.problems.memory.packing import pack
from corl.problems.memory.pool import COPY, COPY_KEEP, KEEP, PASS
from corl.problems.memory.problem import Mapping

MAPPING = Mapping()


@pytest.fixture(scope="module")
def programs(tiny):
    """Tiny programs with alias groups of all sorts, and a few generated ones."""
    generated = [layered(layers=6, state=0.6, seed=s, fast_mib=2.0) for s in range(3)] + [dag(ops=20, seed=s) for s in range(3)]
    return [tiny(seed, ops=3 + seed % 6, fast=6 + seed % 12) for seed in range(80)] + generated


def test_base_and_rewards_are_the_objective(programs):
    """Random legal games of mixed sizes, stepped in place or into other rows, end within one step an access, and their base and
    rewards add up to minus the judged time; some alias groups end in fast memory, some are dropped on the way.
    """
    m = len(programs)
    environment = MappingEnvironment(programs, 2 * m)
    random, fast_groups, dropped, copies = np.random.default_rng(0), 0, 0, 0
    for eager in (0.5, 0.95):
        here = np.arange(m)
        total, steps = environment.reset(here, here), np.zeros(m, int)
        while (live := np.flatnonzero(environment.actions(here)[:, 0] >= 0)).size:
            offered = environment.actions(here[live])
            chosen = [row[0] if random.random() < eager else random.choice(row[row >= 0]) for row in offered]
            there = np.where(random.random(len(live)) < 0.5, here[live], live + m * (here[live] < m))
            total[live] += environment.step(here[live], there, chosen)
            here[live] = there
            steps[live] += 1
        for k, instance in enumerate(programs):
            plan = environment.solution(here[k])
            assert steps[k] <= len(instance.access_tensor)
            assert MAPPING.evaluate(instance, plan) == pytest.approx(-total[k], rel=1e-9)
            fast_groups += bool((instance.group[plan.residencies[:, 0]] >= 0).any())
            dropped += bool(environment.state.banned[here[k]].any())
            copies += len(plan.copies)
    assert fast_groups > 5 and dropped > 5 and copies > 100


def test_copies_that_are_hidden_cause_no_stalls(programs):
    """Where nothing has to be copied out, a game whose prefetches are all shown as moved by idle bandwidth has no stall; one with
    others has."""
    hidden = stalled = 0
    for instance in programs:
        for eager in (False, True):
            environment, shown = MappingEnvironment([instance], 1), False
            while (actions := environment.actions([0])[0])[0] >= 0:
                left = environment.observe([0])["slots"][0, 0, 2]
                takes = actions[0] in (COPY, COPY_KEEP) and (eager or left == 0.0)
                shown |= takes and left > 0.0
                environment.step([0], [0], [actions[0] if takes else PASS])
            plan = environment.solution(0)
            if len(plan.copies) and (plan.copies[:, 1] == 0).all():
                timeline = run_plan(instance, plan)
                hidden, stalled = hidden + (not shown), stalled + shown
                assert (timeline.stall.sum() <= 1e-12 * timeline.total) == (not shown)
    assert hidden > 20 and stalled > 20


def test_a_tensor_stays_until_it_is_copied_out(programs):
    """Where everything written goes to fast memory only to be copied out, or is released at once, that is awaited by nobody but
    those that have no room."""
    spilled = 0
    for instance in programs:
        environment = MappingEnvironment([instance], 1)
        while (actions := environment.actions([0])[0])[0] >= 0:
            writes = bool(instance.access_write[environment.state.current_access[0]])
            environment.step([0], [0], [COPY if writes and COPY in actions else PASS])
        plan = environment.solution(0)
        spilled += len(plan.copies)
        assert (plan.copies[:, 1] == 1).all() and len(plan.copies) == len(plan.residencies)
    assert spilled > 50


def test_offsets_are_chosen_at_the_end():
    """Rectangles that first fit does not place in the order of time, because what the first leaves is in two parts."""
    rects = np.array([(0, 2, 0, 4), (0, 4, 0, 4), (0, 2, 0, 4), (2, 4, 0, 8)], np.int64)
    assert pack(rects, np.full(4, -1), 4, 12) == 0
    assert _apart(rects, 12)
    assert pack(rects, np.full(4, -1), 4, 11) == 1 and rects[3, 2] >= 0  # at operation 0 one is too much


def test_packing_of_random_rectangles():
    """In a memory that they fill: what is said to have room lies within it and apart."""
    random, left = np.random.default_rng(0), 0
    for _ in range(200):
        low = random.integers(0, 8, 10)
        rects = np.stack([low, low + random.integers(1, 6, 10), np.zeros(10, int), random.integers(1, 9, 10)], 1).astype(np.int64)
        load = max(rects[(rects[:, 0] <= i) & (rects[:, 1] > i), 3].sum() for i in range(14))
        found = pack(rects, np.full(10, -1), 10, int(load))
        left += found > 0
        assert (rects[:, 2] < 0).sum() == found and _apart(rects[rects[:, 2] >= 0], int(load))
    assert 0 < left < 60


def test_what_finds_no_offset_is_taken_back():
    """In games that fill small memories some rectangles are gone in the end; rewards still add up to what the judge says."""
    random, gone = np.random.default_rng(1), 0
    for seed in range(40):
        instance = dag(ops=60, seed=seed, fast_mib=float(random.choice([0.5, 1.0, 2.0])))
        environment = MappingEnvironment([instance], 1)
        total, before = environment.reset([0], [0])[0], 0
        while (actions := environment.actions([0])[0])[0] >= 0:
            before = environment.state.rect_count[0]
            chosen = actions[0] if random.random() < 0.9 else random.choice(actions[actions >= 0])
            total += environment.step([0], [0], [chosen])[0]
        gone += int(environment.state.rect_count[0]) < before
        assert MAPPING.evaluate(instance, environment.solution(0)) == pytest.approx(-total, rel=1e-9)
    assert gone > 3


def _apart(rects, capacity):
    """Whether rectangles lie within a memory and none overlaps another."""
    inside = (rects[:, 2] >= 0).all() and (rects[:, 2] + rects[:, 3] <= capacity).all()
    pairs = ((a, b) for k, a in enumerate(rects) for b in rects[:k])
    return inside and not any(a[0] < b[1] and b[0] < a[1] and a[2] < b[2] + b[3] and b[2] < a[2] + a[3] for a, b in pairs)


@pytest.fixture
def update():
    """a: x -> s; b: s -> y; c: y, s -> t in place of s; d: t -> z. The machine is slow enough that copies are hidden."""
    tensors = [("x", 4, "input"), ("s", 8, "activation"), ("y", 8, "activation"), ("t", 8, "activation"), ("z", 4, "output")]
    ops = [
        Op("a", True, 40.0, [(0, 4)], [(1, 8)]),
        Op("b", True, 1.0, [(1, 8)], [(2, 8)]),
        Op("c", True, 1.0, [(1, 8), (2, 8)], [(3, 8)]),
        Op("d", True, 1.0, [(3, 8)], [(4, 4)]),
    ]
    return from_program(ops, tensors, Machine(16, 4.0, 1.0, 1.0, 1.0, 1.0), aliases=[[1, 3]])


def test_an_update_in_place_needs_no_room(update):
    """With everything kept, t lies where s lay, beside y, in a memory of two tensors."""
    environment = MappingEnvironment([update], 1)
    while (actions := environment.actions([0])[0])[0] >= 0:
        environment.step([0], [0], actions[:1])
    plan = environment.solution(0)
    places = {update.tensor_names[t]: (low, high, offset) for t, low, high, offset in plan.residencies.tolist()}
    assert places["s"] == (0, 3, 0) and places["t"] == (2, 4, 0) and places["y"] == (1, 3, 8)


def test_a_contradiction_drops_the_whole_group(update):
    """s is kept, then t is left in slow memory: both are in slow memory, the rest of the game stands, and the reward tells."""
    environment = MappingEnvironment([update], 1)
    state, total = environment.state, environment.reset([0], [0])[0]
    for _ in range(20):
        actions = environment.actions([0])[0]
        if actions[0] < 0:
            break
        access = int(state.current_access[0])
        wanted = PASS if update.access_tensor[access] == 3 and update.access_write[access] else actions[0]
        total += environment.step([0], [0], [wanted])[0]
    assert state.banned[0].tolist() == [True]
    plan = environment.solution(0)
    assert set(plan.residencies[:, 0].tolist()) & {1, 3} == set() and 2 in plan.residencies[:, 0]
    assert MAPPING.evaluate(update, plan) == pytest.approx(-total, rel=1e-12)


def test_widths(programs, update):
    """A width of 2 lists the first action and PASS; a smaller one has no room for PASS."""
    for program in programs[-6:]:
        narrow, wide = (MappingEnvironment([program], 1, width) for width in (2, 4))
        assert narrow.actions([0])[0].tolist() == [wide.actions([0])[0, 0], PASS]
    with pytest.raises(UsageError, match="2 listed actions"):
        MappingEnvironment([update], 1, width=1)


def test_features(update):
    """Tokens have the promised shapes; what is occupied and kept shows."""
    from corl.problems.memory.features import FEATURES, SPANS, UPCOMING

    environment = MappingEnvironment([update], 1)
    kept = False
    while (actions := environment.actions([0])[0])[0] >= 0:
        seen = environment.observe([0])
        assert MAPPING.features["game"](seen).x.shape == (1, environment.width + UPCOMING + SPANS, FEATURES)
        assert (seen["times"][0, 0, 3:11].sum() > 0) == kept
        kept = kept or actions[0] == KEEP
        environment.step([0], [0], actions[:1])
    assert kept
