"""The rules of the game as kernels over a pool, which `corl.search` calls through `corl.hooks` (README, "The game").

One step, from access to access; a kernel returns an alias group if the action contradicts an earlier decision about the group:

    _step: _apply(action) -- contradiction --> ban the group, _replay the game so far without it
      |
    _settle: _advance over accesses without a choice -- contradiction --> ban, _replay, _advance again
      |
    next access with a choice, or the end: pack the offsets -- some find no place --> _remove_unplaced, or ban, _replay, again
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

_OPEN, _FAST, _SLOW = range(3)  # decisions of an alias group


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make rows[i] the beginning of the game of instances[i], in place.

    bases: float64, to which minus the run time in microseconds with everything in slow memory is written.
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
    """Put everything in slow memory, undecided, in place; banned groups stay banned."""
    instance = state.instance[row]
    n, o, base = state.ops[instance], state.ops_start[instance], state.tensors_start[instance]
    state.at[row], state.places[row] = 0, 0
    for i in range(n):
        state.slow[row, i], state.fast[row, i], state.load[row, i] = state.bytes[o + i], 0.0, 0
    for t in range(state.tensors[instance]):
        state.live[row, t] = -1
        state.free[row, t] = state.made[base + t] + 1
    for g in range(state.groups[instance]):
        state.side[row, g] = _SLOW if state.banned[row, g] else _OPEN
    _simulate(state, row)


@kernel
def _simulate(state: Any, row: Any) -> None:
    """Compute `value` and `idle` of a row, in place."""
    instance = state.instance[row]
    n, o, base = state.ops[instance], state.ops_start[instance], state.tensors_start[instance]
    copies, found = np.empty((state.places[row], 3), np.int64), 0
    for r in range(state.places[row]):
        low, high = state.rects[row, r, LOW], state.rects[row, r, HIGH]
        t = base + state.held[row, r, HELD_TENSOR]
        if low != state.made[t]:
            copies[found, ISSUED], copies[found, NEEDED] = low, state.held[row, r, FILLED]
        elif state.output[t] or state.last[t] >= high:  # needed in slow memory: copied out before the rectangle ends
            copies[found, ISSUED], copies[found, NEEDED] = low + 1, high
        else:
            continue
        copies[found, BYTES] = state.sizes[t]
        found += 1
    compute, rates = state.compute[o : o + n], state.rates[instance]
    slow, fast, idle = state.slow[row][:n], state.fast[row][:n], state.idle[row][:n]
    state.value[row] = serve(compute, slow, fast, rates, copies, found, idle)


@kernel
def _options(state: Any, row: Any, out: Any) -> Any:
    """Write the legal actions at the present access to `out` [4], in place, and return their number. PASS is always legal."""
    instance = state.instance[row]
    a = state.accesses_start[instance] + state.at[row]
    t, op, base = state.tensor[a], state.op[a], state.tensors_start[instance]
    size, group, found = state.sizes[base + t], state.group[base + t], 0
    if group < 0 or state.side[row, group] != _SLOW:
        high = kept_until(state, row, a)
        if state.write[a]:
            if high >= 0 and fits(state, row, op, high, size, rectangle_under(state, row, a)):
                out[found] = KEEP
                found += 1
            use = next_use(state, row, a)
            spills = group < 0 and state.following[a] >= 0 and op + 2 <= use
            if spills and fits(state, row, op, copied_out(state, row, a, use), size, -1):
                out[found] = COPY
                found += 1
        elif is_resident(state, row, t, op):
            if high >= 0 and fits(state, row, state.rects[row, state.live[row, t], HIGH], high, size, -1):
                out[found] = KEEP
                found += 1
        else:
            start, _ = copy_start(state, row, t, op)
            if start < op:
                if high >= 0 and fits(state, row, start, high, size, -1):
                    out[found] = COPY_KEEP
                    found += 1
                if fits(state, row, start, op + 1, size, -1):
                    out[found] = COPY
                    found += 1
    out[found] = PASS
    return found + 1


@kernel
def _serve_from_fast(state: Any, row: Any, a: Any) -> None:
    """Serve access a (an index into the accesses of all instances) from fast memory."""
    state.slow[row, state.op[a]] -= state.traffic[a]
    state.fast[row, state.op[a]] += state.traffic[a]


@kernel
def _apply(state: Any, row: Any, action: Any) -> Any:
    """Apply a legal action, in place. Returns -1; or the alias group that it contradicts, and then nothing is changed."""
    instance = state.instance[row]
    access = state.at[row]
    a, base = state.accesses_start[instance] + access, state.tensors_start[instance]
    t, op = state.tensor[a], state.op[a]
    group, resident = state.group[base + t], not state.write[a] and is_resident(state, row, t, op)
    if group >= 0 and not resident:
        if action == PASS and state.side[row, group] == _FAST:
            return group
        state.side[row, group] = _SLOW if action == PASS else _FAST
    state.log[row, access], state.at[row] = action, access + 1
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
        r = state.live[row, t]
        low = state.rects[row, r, HIGH]
    else:
        r = state.places[row]
        low = op if state.write[a] else copy_start(state, row, t, op)[0]
        under = rectangle_under(state, row, a) if state.write[a] else -1
        state.rects[row, r, LOW], state.rects[row, r, OFFSET], state.rects[row, r, SIZE] = low, 0, size
        state.over[row, r] = under
        if under >= 0:
            state.load[row, low] -= min(size, state.rects[row, under, SIZE])
        state.held[row, r, HELD_TENSOR], state.held[row, r, FILLED] = t, op
        state.live[row, t], state.places[row] = r, r + 1
        _serve_from_fast(state, row, a)
    for i in range(low, high):
        state.load[row, i] += size
    state.rects[row, r, HIGH], state.free[row, t] = high, high
    if action != COPY and state.following[a] >= 0:
        _serve_from_fast(state, row, state.accesses_start[instance] + state.following[a])
    _simulate(state, row)
    return -1


@kernel
def _release(state: Any, row: Any, a: Any) -> None:
    """Extend the rectangle of a tensor released at access a if that makes the program faster, since it is still copied out."""
    base, t = state.tensors_start[state.instance[row]], state.tensor[a]
    r, size = state.live[row, t], state.sizes[base + t]
    low, high = state.rects[row, r, LOW], state.rects[row, r, HIGH]
    if low != state.made[base + t] or not (state.output[base + t] or state.last[base + t] >= high):
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
    state.rects[row, r, HIGH], state.free[row, t] = high, high


@kernel
def _advance(state: Any, row: Any) -> Any:
    """Advance to the next access with a choice; return -1, or the alias group that is contradicted on the way."""
    out = np.empty(ACTIONS, np.int64)
    while state.at[row] < state.accesses[state.instance[row]] and _options(state, row, out) == 1:
        group = _apply(state, row, PASS)
        if group >= 0:
            return group
    return -1


@kernel
def _replay(state: Any, row: Any) -> None:
    """Drop-backup: replay the game up to its present access, with the banned groups in slow memory.

    Actions that are no longer legal become PASS. A group that this contradicts in turn is banned as well, so it terminates.
    """
    target, out = state.at[row], np.empty(ACTIONS, np.int64)
    log = state.log[row][:target].copy()
    _begin(state, row)
    while state.at[row] < target:
        wanted = log[state.at[row]]
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
    """Advance to the next access with a choice, dropping the alias groups that are contradicted on the way.

    At the end, choose the offsets, and remove the rectangles that find none.
    """
    group = _advance(state, row)
    while True:
        if group >= 0:
            state.banned[row, group] = True
        else:
            if state.at[row] < state.accesses[state.instance[row]]:
                return
            left = pack(state.rects[row], state.over[row], state.places[row], state.capacity[state.instance[row]])
            if left == 0 or not _remove_unplaced(state, row):
                return
        _replay(state, row)
        group = _advance(state, row)


@kernel
def _remove_unplaced(state: Any, row: Any) -> Any:
    """Remove the rectangles without an offset from a finished game, in place; return whether it must be replayed.

    It must if some belong to alias groups; these groups are then banned, and nothing is removed.
    """
    instance, places, rects = state.instance[row], state.places[row], state.rects[row]
    first, again = state.accesses_start[instance], False
    for r in range(places):
        group = state.group[state.tensors_start[instance] + state.held[row, r, HELD_TENSOR]]
        if rects[r, OFFSET] < 0 and group >= 0:
            state.banned[row, group] = again = True
    if again:
        return True
    kept, place = 0, np.full(places, -1)
    for r in range(places):
        low, high = rects[r, LOW], rects[r, HIGH]
        if rects[r, OFFSET] < 0:
            for a in range(first, first + state.accesses[instance]):
                if state.tensor[a] == state.held[row, r, HELD_TENSOR] and state.held[row, r, FILLED] <= state.op[a] < high:
                    state.slow[row, state.op[a]] += state.traffic[a]
                    state.fast[row, state.op[a]] -= state.traffic[a]
            for i in range(low, high):
                state.load[row, i] -= rects[r, SIZE]
            continue
        place[r] = kept
        rects[kept] = rects[r]
        state.held[row, kept] = state.held[row, r]
        state.over[row, kept] = place[state.over[row, r]] if state.over[row, r] >= 0 else -1
        kept += 1
    state.places[row] = kept
    _simulate(state, row)
    return False


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Decide an access; the reward is the reduction of the run time, in microseconds."""
    out, legal = np.empty(ACTIONS, np.int64), False
    if state.at[src] < state.accesses[state.instance[src]]:
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
    instance = state.instance[src]
    state.instance[dst], state.at[dst], state.value[dst] = instance, state.at[src], state.value[src]
    n, m, g, count = state.ops[instance], state.tensors[instance], state.groups[instance], state.places[src]
    state.places[dst] = count
    state.slow[dst, :n], state.fast[dst, :n], state.idle[dst, :n] = state.slow[src, :n], state.fast[src, :n], state.idle[src, :n]
    state.rects[dst, :count], state.held[dst, :count] = state.rects[src, :count], state.held[src, :count]
    state.over[dst, :count], state.load[dst, :n] = state.over[src, :count], state.load[src, :n]
    state.live[dst, :m], state.free[dst, :m] = state.live[src, :m], state.free[src, :m]
    state.side[dst, :g], state.banned[dst, :g] = state.side[src, :g], state.banned[src, :g]
    state.log[dst, : state.at[src]] = state.log[src, : state.at[src]]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the legal actions: keep, copy and keep, copy, pass; none if the game is over. With fewer slots, PASS is the last."""
    if state.at[row] >= state.accesses[state.instance[row]]:
        return 0
    found = np.empty(ACTIONS, np.int64)
    count = _options(state, row, found)
    shown = min(count, len(out))
    for k in range(shown):
        out[k] = found[k]
    out[shown - 1] = PASS
    return shown
