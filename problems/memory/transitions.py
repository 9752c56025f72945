"""The rules of the game as kernels over a pool: what `corl.search` calls through `corl.search.hooks` (README, "The game")."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corl.jit import kernel
from corl.problems.memory.pool import ACTIONS, COPY, COPY_KEEP, KEEP, PASS, MappingState
from corl.problems.memory.timing import is_free, lowest_offset, serve
from corl.search import hooks
from corl.search.hooks import attach

__all__ = ["copy_start", "reset_rows"]

_OPEN, _FAST, _SLOW = range(3)  # what an alias group has decided


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make each of `rows` the beginning of the game of instances[i]; bases[i] becomes minus its time, all slow, microseconds."""
    for i in range(len(rows)):
        row = rows[i]
        state.instance[row] = instances[i]
        state.banned[row, :] = False
        _begin(state, row)
        bases[i] = -1e6 * state.value[row]
        _settle(state, row)


@kernel
def _begin(state: Any, row: Any) -> None:
    """Everything in slow memory, nothing decided; banned groups stay so."""
    instance = state.instance[row]
    n, o, base = state.ops[instance], state.op_at[instance], state.tensor_at[instance]
    state.at[row], state.places[row] = 0, 0
    for i in range(n):
        state.slow[row, i], state.fast[row, i] = state.bytes[o + i], 0.0
    for t in range(state.tensors[instance]):
        state.live[row, t] = -1
        state.free[row, t] = state.made[base + t] + 1
    for g in range(state.groups[instance]):
        state.side[row, g] = _SLOW if state.banned[row, g] else _OPEN
    _simulate(state, row)


@kernel
def _simulate(state: Any, row: Any) -> None:
    """Set `value` and `idle` of a row."""
    instance = state.instance[row]
    n, o, base = state.ops[instance], state.op_at[instance], state.tensor_at[instance]
    copies, found = np.empty((state.places[row], 3), np.int64), 0
    for r in range(state.places[row]):
        low, high = state.rects[row, r, 0], state.rects[row, r, 1]
        t = base + state.held[row, r, 0]
        if low != state.made[t]:
            copies[found, 0], copies[found, 1] = low, state.held[row, r, 1]
        elif state.output[t] or state.last[t] >= high:  # needed in slow memory: copied out as long as it is here
            copies[found, 0], copies[found, 1] = low + 1, high
        else:
            continue
        copies[found, 2] = state.sizes[t]
        found += 1
    compute, rates = state.compute[o : o + n], state.rates[instance]
    slow, fast, idle = state.slow[row][:n], state.fast[row][:n], state.idle[row][:n]
    state.value[row] = serve(compute, slow, fast, rates, copies, found, idle)


@kernel
def copy_start(state: Any, row: Any, t: Any, op: Any) -> Any:
    """The latest operation from which on idle bandwidth moves tensor t before `op`; -1: there is none."""
    start, room = op, 0.0
    size = state.sizes[state.tensor_at[state.instance[row]] + t]
    while start > state.free[row, t]:
        start -= 1
        room += state.idle[row, start]
        if room >= size:
            return start
    return -1


@kernel
def _resident(state: Any, row: Any, t: Any, op: Any) -> Any:
    """Whether a tensor is in fast memory at an operation (it has a place that has not ended)."""
    r = state.live[row, t]
    return r >= 0 and state.rects[row, r, 1] > op


@kernel
def _until(state: Any, row: Any, a: Any) -> Any:
    """To where a tensor that is kept at access a (an index into all instances') has its place; -1: keeping it is in vain.

    To its next use; an output without one, until idle bandwidth has copied it out.
    """
    instance = state.instance[row]
    following, op, n = state.following[a], state.op[a], state.ops[instance]
    if following >= 0:
        return state.op[state.access_at[instance] + following] + 1
    t = state.tensor_at[instance] + state.tensor[a]
    if not (state.write[a] and state.output[t]) or op + 2 > n:
        return -1
    end, room = op + 2, state.idle[row, op + 1]
    while end < n and room < state.sizes[t]:
        room += state.idle[row, end]
        end += 1
    return end


@kernel
def _defined_at(state: Any, row: Any, a: Any, high: Any) -> Any:
    """The offset for a tensor written at access a and kept to `high`: over an input of its alias group that ends here, or the
    lowest free one; -1: there is none."""
    instance = state.instance[row]
    base, t, low = state.tensor_at[instance], state.tensor[a], state.op[a]
    size, capacity, count, rects = state.sizes[base + t], state.capacity[instance], state.places[row], state.rects[row]
    group = state.group[base + t]
    if group >= 0:
        for r in range(count):
            old = state.held[row, r, 0]
            ends = rects[r, 1] == low + 1 and state.held[row, r, 1] <= low and rects[r, 0] < low and state.last[base + old] == low
            if state.group[base + old] == group and ends and is_free(rects, count, low, high, rects[r, 2], size, capacity, r):
                return rects[r, 2]
    return lowest_offset(rects, count, low, high, size, capacity)


@kernel
def _options(state: Any, row: Any, out: Any) -> Any:
    """The legal actions at the access to be decided into out [4]; how many. PASS always is."""
    instance = state.instance[row]
    a = state.access_at[instance] + state.at[row]
    t, op, base = state.tensor[a], state.op[a], state.tensor_at[instance]
    size, capacity, group, found = state.sizes[base + t], state.capacity[instance], state.group[base + t], 0
    if group < 0 or state.side[row, group] != _SLOW:
        high, count, rects = _until(state, row, a), state.places[row], state.rects[row]
        if state.write[a]:
            if high >= 0 and _defined_at(state, row, a, high) >= 0:
                out[found] = KEEP
                found += 1
        elif _resident(state, row, t, op):
            r = state.live[row, t]
            if high >= 0 and is_free(rects, count, rects[r, 1], high, rects[r, 2], size, capacity, r):
                out[found] = KEEP
                found += 1
        else:
            start = copy_start(state, row, t, op)
            if start >= 0:
                if high >= 0 and lowest_offset(rects, count, start, high, size, capacity) >= 0:
                    out[found] = COPY_KEEP
                    found += 1
                if lowest_offset(rects, count, start, op + 1, size, capacity) >= 0:
                    out[found] = COPY
                    found += 1
    out[found] = PASS
    return found + 1


@kernel
def _from_fast(state: Any, row: Any, a: Any) -> None:
    """Let fast memory serve access a (an index into all instances')."""
    state.slow[row, state.op[a]] -= state.traffic[a]
    state.fast[row, state.op[a]] += state.traffic[a]


@kernel
def _perform(state: Any, row: Any, action: Any) -> Any:
    """Carry out a legal action; -1, or, with nothing changed, the alias group that it contradicts."""
    instance = state.instance[row]
    here = state.at[row]
    a, base = state.access_at[instance] + here, state.tensor_at[instance]
    t, op = state.tensor[a], state.op[a]
    group, resident = state.group[base + t], not state.write[a] and _resident(state, row, t, op)
    if group >= 0 and not resident:
        if action == PASS and state.side[row, group] == _FAST:
            return group
        state.side[row, group] = _SLOW if action == PASS else _FAST
    state.log[row, here], state.at[row] = action, here + 1
    if action == PASS:
        return -1
    high = op + 1 if action == COPY else _until(state, row, a)
    if resident:
        r = state.live[row, t]
    else:
        r = state.places[row]
        low = op if state.write[a] else copy_start(state, row, t, op)
        size, capacity = state.sizes[base + t], state.capacity[instance]
        if state.write[a]:
            offset = _defined_at(state, row, a, high)
        else:
            offset = lowest_offset(state.rects[row], r, low, high, size, capacity)
        state.rects[row, r, 0], state.rects[row, r, 2], state.rects[row, r, 3] = low, offset, size
        state.held[row, r, 0], state.held[row, r, 1] = t, op
        state.live[row, t], state.places[row] = r, r + 1
        _from_fast(state, row, a)
    state.rects[row, r, 1], state.free[row, t] = high, high
    if action != COPY and state.following[a] >= 0:
        _from_fast(state, row, state.access_at[instance] + state.following[a])
    _simulate(state, row)
    return -1


@kernel
def _advance(state: Any, row: Any) -> Any:
    """Go on to the next access with a choice; -1, or the alias group that is contradicted on the way."""
    out = np.empty(ACTIONS, np.int64)
    while state.at[row] < state.accesses[state.instance[row]] and _options(state, row, out) == 1:
        group = _perform(state, row, PASS)
        if group >= 0:
            return group
    return -1


@kernel
def _replay(state: Any, row: Any) -> None:
    """Drop-backup: play the game again up to where it is, with the banned groups in slow memory.

    What is no longer legal is passed. A group that this contradicts in turn is banned as well, so it ends.
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
        group = _perform(state, row, action)
        if group >= 0:
            state.banned[row, group] = True
            _begin(state, row)


@kernel
def _settle(state: Any, row: Any) -> None:
    """Go on to the next access with a choice, dropping the alias groups that are contradicted on the way."""
    group = _advance(state, row)
    while group >= 0:
        state.banned[row, group] = True
        _replay(state, row)
        group = _advance(state, row)


@attach(hooks.step, MappingState)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Decide an access; the reward is what that makes the program faster by, in microseconds."""
    out, legal = np.empty(ACTIONS, np.int64), False
    if state.at[src] < state.accesses[state.instance[src]]:
        for k in range(_options(state, src, out)):
            legal = legal or out[k] == action
    if not legal:
        return math.nan
    if src != dst:
        _copy(state, src, dst)
    before = state.value[dst]
    group = _perform(state, dst, action)
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
    state.live[dst, :m], state.free[dst, :m] = state.live[src, :m], state.free[src, :m]
    state.side[dst, :g], state.banned[dst, :g] = state.side[src, :g], state.banned[src, :g]
    state.log[dst, : state.at[src]] = state.log[src, : state.at[src]]


@attach(hooks.actions, MappingState)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """The legal actions: keep, copy and keep, copy, pass; none where the game is over. With fewer slots PASS is the last."""
    if state.at[row] >= state.accesses[state.instance[row]]:
        return 0
    found = np.empty(ACTIONS, np.int64)
    count = _options(state, row, found)
    shown = min(count, len(out))
    for k in range(shown):
        out[k] = found[k]
    out[shown - 1] = PASS
    return shown
