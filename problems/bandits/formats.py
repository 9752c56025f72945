"""Bandits in JSON files: our own layout (README.md, "Files"), and that of the published generators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files import from_json, is_number, plain_name, reading, replacing, to_json
from corl.problems.bandits.constraints import KINDS, Capacity, Constraint, Routing, Scheduling
from corl.problems.bandits.instance import BanditInstance
from corl.text import Text

__all__ = ["FORMAT", "read_instance", "write_instance"]

FORMAT = "corl-bandits-1"
_PUBLISHED = "cormab-0"


def read_instance(path: Path) -> BanditInstance:
    """The instance in a file. Raises InputError with file and field."""
    with reading(path):
        text = Text.read(path).content
    values = from_json(text, file=str(path))
    try:
        if isinstance(values, Mapping) and values.get("format") == _PUBLISHED:
            return _published(values, plain_name(path).stem)
        if isinstance(values, Mapping) and values.get("format") == FORMAT:
            return _ours(values, plain_name(path).stem)
        raise InputError(f"accepted: {FORMAT!r} or {_PUBLISHED!r}", field="format")
    except InputError as error:
        raise InputError(error.reason, file=str(path), field=error.field) from error
    except (OverflowError, RecursionError) as error:
        raise InputError(f"a number is too large: {error}", file=str(path)) from error


def write_instance(instance: BanditInstance, path: Path) -> None:
    """Write our layout; `read_instance` gives the same instance back, probabilities to the bit."""
    arms = []
    for j, (levels, states) in enumerate(zip(instance.levels.tolist(), instance.states.tolist())):
        chances = instance.transitions[j, :levels, :states, :states]
        arms.append({"transitions": chances.tolist(), "rewards": instance.rewards[j, :levels, :states].tolist()})
    document = {
        "format": FORMAT,
        "name": instance.name,
        "comment": instance.comment,
        "horizon": instance.horizon,
        "discount": instance.discount,
        "seed": instance.seed,
        "constraint": {"kind": instance.constraint.kind, **instance.constraint.to_json()},
        "arms": arms,
        "initial": instance.initial.tolist(),
    }
    lines = ",\n".join(f' "{key}": {to_json(value)}' for key, value in document.items())
    with replacing(path) as partial:
        partial.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _ours(values: Mapping[str, Any], stem: str) -> BanditInstance:
    found = values.get("arms")
    if not isinstance(found, list) or not found or not all(isinstance(arm, Mapping) for arm in found):
        raise InputError("accepted: a list of objects with transitions and rewards, at least one", field="arms")
    each = [(_array(arm, "transitions", 3, j), _array(arm, "rewards", 2, j)) for j, arm in enumerate(found)]
    for j, (chances, rewards) in enumerate(each):
        if chances.shape[1] != chances.shape[2] or rewards.shape != chances.shape[:2]:
            accepted = "accepted: transitions [levels][states][states] and rewards [levels][states]"
            raise InputError(f"shapes {chances.shape} and {rewards.shape} do not fit; {accepted}", field=f"arms[{j}]")
    levels, states = max(chances.shape[0] for chances, _ in each), max(chances.shape[1] for chances, _ in each)
    transitions, rewards = np.zeros((len(each), levels, states, states)), np.zeros((len(each), levels, states))
    for j, (chances, earned) in enumerate(each):
        a, s = earned.shape
        transitions[j, :a, :s, :s], rewards[j, :a, :s] = chances, earned
    constraint = _constraint(values.get("constraint"), len(each))
    return BanditInstance(
        _text(values, "name", stem), transitions, rewards, constraint, _initial(values.get("initial"), len(each)),
        _integer(values, "horizon", 20), _number(values, "discount", 1.0),
        np.array([earned.shape[1] for _, earned in each], np.int32), np.array([earned.shape[0] for _, earned in each], np.int32),
        _integer(values, "seed", 0), _text(values, "comment", ""),
    )  # fmt: skip


def _published(values: Mapping[str, Any], stem: str) -> BanditInstance:
    """p_up[j][a], state_reward[j][s], init_states of digits; the reward of a step is that of the state it leads to."""
    up, worth = _array(values, "p_up", 2), _array(values, "state_reward", 2)
    arms, states = worth.shape
    if up.shape != (arms, 2):
        raise InputError(f"accepted: {arms} pairs", field="p_up")
    begins = values.get("init_states")
    if not isinstance(begins, list) or not all(isinstance(row, str) and row.isascii() and row.isdigit() for row in begins):
        raise InputError("accepted: a list of texts of digits", field="init_states")
    transitions = np.zeros((arms, 2, states, states))
    for state in range(states):
        transitions[:, :, state, min(state + 1, states - 1)] += up
        transitions[:, :, state, max(state - 1, 0)] += 1.0 - up
    rewards = np.einsum("jasn,jn->jas", transitions, worth)
    initial = _initial([[int(digit) for digit in row] for row in begins], arms)
    constraint = _published_constraint(values, arms)
    horizon, seed = _integer(values, "horizon", 20), _integer(values, "seed", 0)
    return BanditInstance(stem, transitions, rewards, constraint, initial, horizon, seed=seed)


def _published_constraint(values: Mapping[str, Any], arms: int) -> Constraint:
    kind = values.get("kind")
    if kind == "constrained":
        return Capacity.from_json({"costs": values.get("arm_costs"), "capacities": values.get("worker_capacity")}, arms)
    if kind == "scheduling":
        names = {"slots": "n_timeslots", "arm_slots": "arm_avail", "worker_slots": "worker_avail", "budget": "budget"}
        return Scheduling.from_json({ours: values.get(theirs) for ours, theirs in names.items()}, arms)
    if kind == "routing":
        names = {"edges": "edges", "source": "source", "length": "max_path_length", "budget": "budget"}
        return Routing.from_json({ours: values.get(theirs) for ours, theirs in names.items()}, arms)
    raise InputError(f"{kind!r}; accepted: constrained, scheduling, routing", field="kind")


def _constraint(values: Any, arms: int) -> Constraint:
    kind = values.get("kind") if isinstance(values, Mapping) else None
    if kind not in KINDS:
        raise InputError(f"{kind!r} is not known; accepted: {', '.join(KINDS)}", field="constraint.kind")
    return KINDS[kind].from_json(values, arms)


def _initial(found: Any, arms: int) -> NDArray[np.int32]:
    """[episodes, arms]"""
    accepted = f"accepted: a list of lists of {arms} states"
    if not isinstance(found, list) or not found:
        raise InputError(accepted, field="initial")
    for episode, row in enumerate(found):
        if not isinstance(row, list) or len(row) != arms or not all(type(state) is int and 0 <= state < 2**31 for state in row):
            raise InputError(f"episode {episode}: {accepted}", field="initial")
    return np.array(found, np.int32)


def _array(values: Mapping[str, Any], name: str, dimensions: int, arm: int | None = None) -> NDArray[np.float64]:
    """Nested lists of numbers, as deep as said and not ragged."""
    field = name if arm is None else f"arms[{arm}].{name}"
    found = values.get(name)
    if not _regular(found, dimensions):
        raise InputError(f"accepted: numbers in lists, {dimensions} deep, all of a depth of one length", field=field)
    return np.array(found, np.float64)


def _regular(value: Any, dimensions: int) -> bool:
    """Whether these are nested lists of numbers, all of a depth of one length."""
    if dimensions == 0:
        return is_number(value)
    if not isinstance(value, list) or not value or not all(_regular(item, dimensions - 1) for item in value):
        return False
    return len({np.shape(item) for item in value}) == 1


def _integer(values: Mapping[str, Any], field: str, default: int) -> int:
    found = values.get(field, default)
    if type(found) is not int or not 0 <= found < 2**31:
        raise InputError("accepted: an integer from 0", field=field)
    return found


def _number(values: Mapping[str, Any], field: str, default: float) -> float:
    found = values.get(field, default)
    if not is_number(found):
        raise InputError("accepted: a number", field=field)
    return float(found)


def _text(values: Mapping[str, Any], field: str, default: str) -> str:
    found = values.get(field, default)
    if not isinstance(found, str):
        raise InputError("accepted: a text", field=field)
    return found
