"""The rules of the game as kernels over a pool, which `corl.search` calls through `corl.hooks` (README, "The game").

All tensors of an alias group are in fast memory, or none is. If an action contradicts an earlier decision about a group, the
group is banned from fast memory, and the game so far is replayed with the group in slow memory. The kernels of one step:

    _step: _apply the action -- contradiction --> ban the group and _replay
      |
    _settle: _advance over accesses with a single legal action -- contradiction --> ban the group, _replay, _advance again
      |
    at an access with several legal actions the step ends; at the program's end _settle chooses the offsets
      |
    rectangles without an offset: _remove_unplaced; if one belongs to an alias group, ban the group, _replay and _advance again
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.problems.memory.capacity_checks import copied_out, copy_start, fits, is_resident, kept_until, next_use, rectangle_under
from corl.problems.memory.packing import pack
from corl.problems.memory.pool import ACTIONS, COPY, COPY_KEEP, FILLED, HELD_TENSOR, KEEP, PASS, State
from corl.problems.memory.timing import BYTES, HIGH, ISSUED, LOW, NEEDED, OFFSET, SIZE, serve

__all__ = ["reset_rows"]

_OPEN, _FAST, _SLOW = range(3)  # values of State.group_decision: undecided, in fast memory, in slow memory


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Start the game of instances[i] in rows[i], in place.

    bases: float64 [len(rows)], the base values, written in place: minus the run time in microseconds with everything in slow
    memory.
    """
    for i in range(len(rows)):
        row = rows[i]
        state.instance[row] = instances[i]
        state.banned[row, :] = False
        _begin(state, row)
        bases[i] = -1e6 * state.value[row]
        _settle(state, row)


@kernel
def _begin(state: Any, row: Any) -> None:
    """Reset a row to its first access, with all tensors in slow memory, in place; banned alias groups stay banned."""
    instance = state.instance[row]
    n, o, base = state.ops[instance], state.ops_start[instance], state.tensors_start[instance]
    state.current_access[row], state.rect_count[row] = 0, 0
    for i in range(n):
        state.slow[row, i], state.fast[row, i], state.load[row, i] = state.bytes[o + i], 0.0, 0
    for t in range(state.tensors[instance]):
        state.latest_rect[row, t] = -1
        state.earliest_copy[row, t] = state.definition[base + t] + 1
    for g in range(state.groups[instance]):
        state.group_decision[row, g] = _SLOW if state.banned[row, g] else _OPEN
    _simulate(state, row)


@kernel
def _simulate(state: Any, row: Any) -> None:
    """Update the run time `value` and the idle bytes `idle` of a row, in place."""
    instance = state.instance[row]
    n, o, base = state.ops[instance], state.ops_start[instance], state.tensors_start[instance]
    copies, copy_count = np.empty((state.rect_count[row], 3), np.int64), 0
    for r in range(state.rect_count[row]):
        low, high = state.rects[row, r, LOW], state.rects[row, r, HIGH]
        t = base + state.contents[row, r, HELD_TENSOR]
        if low != state.definition[t]:
            # FILLED: the operation from which on the rectangle holds the data.
            copies[copy_count, ISSUED], copies[copy_count, NEEDED] = low, state.contents[row, r, FILLED]
        elif state.output[t] or state.last_op[t] >= high:  # needed in slow memory: copied out before the rectangle ends
            copies[copy_count, ISSUED], copies[copy_count, NEEDED] = low + 1, high
        else:
            continue
        copies[copy_count, BYTES] = state.sizes[t]
        copy_count += 1
    compute, rates = state.compute[o : o + n], state.rates[instance]
    slow, fast, idle = state.slow[row][:n], state.fast[row][:n], state.idle[row][:n]
    state.value[row] = serve(compute, slow, fast, rates, copies, copy_count, idle)


@kernel
def _options(state: Any, row: Any, out: Any) -> Any:
    """Write the legal actions at the current access to `out`, int64 [ACTIONS], in place, and return their number.

    PASS is always legal.
    """
    instance = state.instance[row]
    a = state.accesses_start[instance] + state.current_access[row]
    t, op, base = state.tensor[a], state.op[a], state.tensors_start[instance]
    size, group, option_count = state.sizes[base + t], state.group[base + t], 0
    if group < 0 or state.group_decision[row, group] != _SLOW:
        high = kept_until(state, row, a)
        if state.write[a]:
            # A written tensor may take the place of an input that is read for the last time, its `rectangle_under`.
            if high >= 0 and fits(state, row, op, high, size, rectangle_under(state, row, a)):
                out[option_count] = KEEP
                option_count += 1
            use = next_use(state, row, a)  # a tensor to be copied out is kept until the operation `copied_out`, at most `use`
            may_copy_out = group < 0 and state.next_access[a] >= 0 and op + 2 <= use
            if may_copy_out and fits(state, row, op, copied_out(state, row, a, use), size, -1):
                out[option_count] = COPY
                option_count += 1
        elif is_resident(state, row, t, op):
            if high >= 0 and fits(state, row, state.rects[row, state.latest_rect[row, t], HIGH], high, size, -1):
                out[option_count] = KEEP
                option_count += 1
        else:
            start, _ = copy_start(state, row, t, op)
            if start < op:
                if high >= 0 and fits(state, row, start, high, size, -1):
                    out[option_count] = COPY_KEEP
                    option_count += 1
                if fits(state, row, start, op + 1, size, -1):
                    out[option_count] = COPY
                    option_count += 1
    out[option_count] = PASS
    return option_count + 1


@kernel
def _serve_from_fast(state: Any, row: Any, a: Any) -> None:
    """Serve access a (an index into the accesses of all instances) from fast memory, in place."""
    state.slow[row, state.op[a]] -= state.traffic[a]
    state.fast[row, state.op[a]] += state.traffic[a]


@kernel
def _apply(state: Any, row: Any, action: Any) -> Any:
    """Apply a legal action to the current access, in place, and return -1.

    If the action contradicts the decision about an alias group, nothing is changed, and the group is returned.
    """
    instance = state.instance[row]
    access = state.current_access[row]
    a, base = state.accesses_start[instance] + access, state.tensors_start[instance]
    t, op = state.tensor[a], state.op[a]
    group, resident = state.group[base + t], not state.write[a] and is_resident(state, row, t, op)
    if group >= 0 and not resident:
        if action == PASS and state.group_decision[row, group] == _FAST:
            return group
        state.group_decision[row, group] = _SLOW if action == PASS else _FAST
    state.actions_taken[row, access], state.current_access[row] = action, access + 1
    if action == PASS:
        if resident:
            _release(state, row, a)
        return -1
    size = state.sizes[base + t]
    if action == COPY:
        high = copied_out(state, row, a, next_use(state, row, a)) if state.write[a] else op + 1
    else:
        high = kept_until(state, row, a)
    if resident:
        r = state.latest_rect[row, t]
        low = state.rects[row, r, HIGH]
    else:
        r = state.rect_count[row]
        low = op if state.write[a] else copy_start(state, row, t, op)[0]
        under = rectangle_under(state, row, a) if state.write[a] else -1
        state.rects[row, r, LOW], state.rects[row, r, OFFSET], state.rects[row, r, SIZE] = low, 0, size
        state.same_offset_as[row, r] = under
        if under >= 0:
            state.load[row, low] -= min(size, state.rects[row, under, SIZE])
        state.contents[row, r, HELD_TENSOR], state.contents[row, r, FILLED] = t, op
        state.latest_rect[row, t], state.rect_count[row] = r, r + 1
        _serve_from_fast(state, row, a)
    for i in range(low, high):
        state.load[row, i] += size
    state.rects[row, r, HIGH], state.earliest_copy[row, t] = high, high
    if action != COPY and state.next_access[a] >= 0:
        _serve_from_fast(state, row, state.accesses_start[instance] + state.next_access[a])
    _simulate(state, row)
    return -1


@kernel
def _release(state: Any, row: Any, a: Any) -> None:
    """Extend the rectangle of a tensor that is released at access a, as long as this makes the program faster, in place.

    Only a tensor that must still be copied to slow memory is extended: more time for the copy can save a stall.
    """
    base, t = state.tensors_start[state.instance[row]], state.tensor[a]
    r, size = state.latest_rect[row, t], state.sizes[base + t]
    low, high = state.rects[row, r, LOW], state.rects[row, r, HIGH]
    if low != state.definition[base + t] or not (state.output[base + t] or state.last_op[base + t] >= high):
        return
    latest, end, before = next_use(state, row, a), high, state.value[row]
    while end < latest and fits(state, row, end, end + 1, size, -1):
        end += 1
        if state.idle[row, end - 1] > 0.0 or end == latest:
            state.rects[row, r, HIGH] = end
            _simulate(state, row)
            if state.value[row] >= before * (1.0 - 1e-12):
                state.rects[row, r, HIGH] = high
                _simulate(state, row)
                break
            for i in range(high, end):
                state.load[row, i] += size
            before, high = state.value[row], end
    state.rects[row, r, HIGH], state.earliest_copy[row, t] = high, high


@kernel
def _advance(state: Any, row: Any) -> Any:
    """Pass the accesses at which PASS is the only legal action, in place.

    Returns -1, or the alias group for which a PASS contradicts the earlier decision.
    """
    out = np.empty(ACTIONS, np.int64)
    while state.current_access[row] < state.accesses[state.instance[row]] and _options(state, row, out) == 1:
        group = _apply(state, row, PASS)
        if group >= 0:
            return group
    return -1


@kernel
def _replay(state: Any, row: Any) -> None:
    """Drop-backup: replay the game up to the current access with the banned groups in slow memory, in place.

    Actions that are no longer legal become PASS. If a PASS contradicts the decision about another group, that group is banned
    as well and the replay begins again; this ends because every group is banned at most once.
    """
    target, out = state.current_access[row], np.empty(ACTIONS, np.int64)
    actions_before = state.actions_taken[row][:target].copy()
    _begin(state, row)
    while state.current_access[row] < target:
        wanted = actions_before[state.current_access[row]]
        action = PASS
        for k in range(_options(state, row, out)):
            if out[k] == wanted:
                action = wanted
        group = _apply(state, row, action)
        if group >= 0:
            state.banned[row, group] = True
            _begin(state, row)


@kernel
def _settle(state: Any, row: Any) -> None:
    """Advance to the next access with several legal actions, banning the alias groups that are contradicted on the way, in place.

    At the end of the program, choose the offsets and remove the rectangles for which there is none.
    """
    group = _advance(state, row)
    while True:
        if group >= 0:
            state.banned[row, group] = True
        else:
            if state.current_access[row] < state.accesses[state.instance[row]]:
                return
            capacity = state.capacity[state.instance[row]]
            unplaced = pack(state.rects[row], state.same_offset_as[row], state.rect_count[row], capacity)
            if unplaced == 0 or not _remove_unplaced(state, row):
                return
        _replay(state, row)
        group = _advance(state, row)


@kernel
def _remove_unplaced(state: Any, row: Any) -> Any:
    """Remove the rectangles without an offset from a finished game, in place; return False.

    If some of these rectangles belong to alias groups, ban the groups instead, remove nothing, and return True: the game must be
    replayed.
    """
    instance, count, rects = state.instance[row], state.rect_count[row], state.rects[row]
    first, must_replay = state.accesses_start[instance], False
    for r in range(count):
        group = state.group[state.tensors_start[instance] + state.contents[row, r, HELD_TENSOR]]
        if rects[r, OFFSET] < 0 and group >= 0:
            state.banned[row, group] = must_replay = True
    if must_replay:
        return True
    kept, new_index = 0, np.full(count, -1)
    for r in range(count):
        low, high = rects[r, LOW], rects[r, HIGH]
        if rects[r, OFFSET] < 0:
            for a in range(first, first + state.accesses[instance]):
                if (
                    state.tensor[a] == state.contents[row, r, HELD_TENSOR]
                    and state.contents[row, r, FILLED] <= state.op[a] < high
                ):
                    state.slow[row, state.op[a]] += state.traffic[a]
                    state.fast[row, state.op[a]] -= state.traffic[a]
            for i in range(low, high):
                state.load[row, i] -= rects[r, SIZE]
            continue
        new_index[r] = kept
        rects[kept] = rects[r]
        state.contents[row, kept] = state.contents[row, r]
        state.same_offset_as[row, kept] = new_index[state.same_offset_as[row, r]] if state.same_offset_as[row, r] >= 0 else -1
        kept += 1
    state.rect_count[row] = kept
    _simulate(state, row)
    return False


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Take an action at the current access; the reward is the reduction of the run time, in microseconds; NaN if illegal."""
    out, legal = np.empty(ACTIONS, np.int64), False
    if state.current_access[src] < state.accesses[state.instance[src]]:
        for k in range(_options(state, src, out)):
            legal = legal or out[k] == action
    if not legal:
        return math.nan
    if src != dst:
        _copy(state, src, dst)
    before = state.value[dst]
    group = _apply(state, dst, action)
    if group >= 0:
        state.banned[dst, group] = True
        _replay(state, dst)
    _settle(state, dst)
    return 1e6 * (before - state.value[dst])


@kernel
def _copy(state: Any, src: Any, dst: Any) -> None:
    """Copy the game in row `src` to row `dst`, in place."""
    instance = state.instance[src]
    state.instance[dst], state.current_access[dst], state.value[dst] = instance, state.current_access[src], state.value[src]
    n, m, g, count = state.ops[instance], state.tensors[instance], state.groups[instance], state.rect_count[src]
    state.rect_count[dst] = count
    state.slow[dst, :n], state.fast[dst, :n], state.idle[dst, :n] = state.slow[src, :n], state.fast[src, :n], state.idle[src, :n]
    state.rects[dst, :count], state.contents[dst, :count] = state.rects[src, :count], state.contents[src, :count]
    state.same_offset_as[dst, :count], state.load[dst, :n] = state.same_offset_as[src, :count], state.load[src, :n]
    state.latest_rect[dst, :m], state.earliest_copy[dst, :m] = state.latest_rect[src, :m], state.earliest_copy[src, :m]
    state.group_decision[dst, :g], state.banned[dst, :g] = state.group_decision[src, :g], state.banned[src, :g]
    state.actions_taken[dst, : state.current_access[src]] = state.actions_taken[src, : state.current_access[src]]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the legal actions in the order KEEP, COPY_KEEP, COPY, PASS; none if the game is over.

    If `out` has fewer slots than there are legal actions, its last slot is PASS.
    """
    if state.current_access[row] >= state.accesses[state.instance[row]]:
        return 0
    legal = np.empty(ACTIONS, np.int64)
    count = _options(state, row, legal)
    shown = min(count, len(out))
    for k in range(shown):
        out[k] = legal[k]
    out[shown - 1] = PASS
    return shown
