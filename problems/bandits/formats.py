"""Reading and writing bandits in JSON files: corl's own layout and a published one (formats.md, "Files").

The published layout, "cormab-0", is that of the generators of Xu, Wilder, Khalil & Tambe (ICLR 2025).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corl.fields import Array, Choice, Constant, Either, Integer, Number, Object, String, document
from corl.files.json_instances import Field, Record, heading, read_object
from corl.files.json_values import to_json
from corl.files.opening import plain_name, writing
from corl.files.text import Text
from corl.problems.bandits.constraints import KINDS, Capacity, Constraint, Routing, Scheduling
from corl.problems.bandits.constraints.constraint import LARGEST_INTEGER
from corl.problems.bandits.instance import LARGEST, BanditInstance

__all__ = ["FORMAT", "SCHEMAS", "from_json_value", "read_instance", "write_instance"]

FORMAT = "corl-bandits-1"
_PUBLISHED = "cormab-0"
_COUNT = Integer(0, LARGEST_INTEGER)
_ARM = Object(
    {
        "transitions": Array(Array(Array(Number(), 1), 1), 1),
        "rewards": Array(Array(Number(-LARGEST, LARGEST), 1), 1),
    }
)
_CONSTRAINTS = {kind: Object({"kind": Constant(kind), **each.form.required}, each.form.optional) for kind, each in KINDS.items()}
_CORL_SCHEMA = Object(
    {
        "format": Constant(FORMAT),
        "constraint": Either(*_CONSTRAINTS.values()),
        "arms": Array(_ARM, 1),
        "initial": Array(Array(_COUNT, 1), 1),
    },
    {
        "problem": Constant("bandits"),
        "name": String(),
        "comment": String(),
        "horizon": _COUNT,
        "discount": Number(),
        "seed": _COUNT,
        "arm_features": Array(Array(Number(-LARGEST, LARGEST)), 1),
    },
)
_PUBLISHED_KEYS: dict[
    str, tuple[type[Constraint], dict[str, str]]
] = {  # published kind -> class, and corl's key -> published key
    "constrained": (Capacity, {"costs": "arm_costs", "capacities": "worker_capacity"}),
    "scheduling": (
        Scheduling,
        {"slots": "n_timeslots", "arm_slots": "arm_avail", "worker_slots": "worker_avail", "budget": "budget"},
    ),
    "routing": (Routing, {"edges": "edges", "source": "source", "length": "max_path_length", "budget": "budget"}),
}
_PUBLISHED_SCHEMA = Object(
    {
        "format": Constant(_PUBLISHED),
        "p_up": Array(Array(Number(), 2, 2), 1),
        "state_reward": Array(Array(Number(), 1), 1),
        "init_states": Array(String(), 1),
        "kind": Choice(tuple(_PUBLISHED_KEYS)),
    },
    {
        "seed": _COUNT,
        "horizon": _COUNT,
        **{theirs: kind.form.keys[ours] for kind, names in _PUBLISHED_KEYS.values() for ours, theirs in names.items()},
    },
    open=True,
)
_POLICY = Object({"policy": Object({"kind": String()}, open=True)}, open=True)
SCHEMAS = {
    "instance": document("corl bandits instance", Either(_CORL_SCHEMA, _PUBLISHED_SCHEMA)),
    "solution": document("corl bandits policy, what it earned and its interval", _POLICY),
}


def read_instance(path: Path) -> BanditInstance:
    """Return the instance in a file. Raises InputError with file, line and field."""
    return read_object(Text.read(path), lambda field: from_json_value(field, plain_name(path).stem))


def from_json_value(field: Field, name: str = "") -> BanditInstance:
    """Return the instance of a JSON object, in either layout. Raises InputError with the field."""
    layout = Record(field.value)["format"].choice((FORMAT, _PUBLISHED))
    return (
        _from_corl(field.record(_CORL_SCHEMA), name)
        if layout == FORMAT
        else _from_published(Record(field.value, "", _PUBLISHED_SCHEMA.keys), name)
    )


def write_instance(instance: BanditInstance, path: Path) -> None:
    """Write corl's layout, from which `read_instance` returns an equal instance, with bit-identical probabilities."""
    arms = []
    for j, (levels, states) in enumerate(zip(instance.levels.tolist(), instance.states.tolist())):
        chances = instance.transitions[j, :levels, :states, :states]
        arms.append({"transitions": chances.tolist(), "rewards": instance.rewards[j, :levels, :states].tolist()})
    whole = {
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
    if instance.arm_features is not None:
        whole["arm_features"] = instance.arm_features.tolist()
    lines = ",\n".join(f' "{key}": {to_json(value)}' for key, value in whole.items())
    with writing(path) as stream:
        stream.write(f"{{\n{lines}\n}}\n")


def _from_corl(given: Record, name: str) -> BanditInstance:
    """Return the instance of an object in corl's layout; arms with fewer levels or states are padded."""
    name, comment = heading(given, "bandits", name)
    each = [_arm(field) for field in given["arms"].entries()]
    sizes = np.array([rewards.shape for _, rewards in each], np.int32)
    levels, states = sizes.max(axis=0).tolist()
    transitions, rewards = np.zeros((len(each), levels, states, states)), np.zeros((len(each), levels, states))
    for j, (chances, earned) in enumerate(each):
        a, s = earned.shape
        transitions[j, :a, :s, :s], rewards[j, :a, :s] = chances, earned
    return BanditInstance(
        name,
        transitions,
        rewards,
        _constraint(given["constraint"], len(each)),
        given["initial"].integers(None, len(each)),  # type: ignore[arg-type]  # made int32 there
        given.get("horizon", 20).integer(),
        given.get("discount", 1.0).number(),
        sizes[:, 1],
        sizes[:, 0],
        given.get("seed", 0).integer(),
        comment,
        None if given["arm_features"].value is None else given["arm_features"].numbers(len(each), None),
    )


def _arm(field: Field) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an arm's transitions [levels, states, states] and rewards [levels, states]."""
    arm = field.record()
    rewards = arm["rewards"].numbers(None, None)
    levels, states = rewards.shape
    return arm["transitions"].numbers(levels, states, states), rewards


def _constraint(field: Field, arms: int) -> Constraint:
    kind = KINDS[Record(field.value if isinstance(field.value, dict) else {}, field.place)["kind"].choice(KINDS)]
    return kind.from_json(field.record(_CONSTRAINTS[kind.kind]), arms)


def _from_published(given: Record, name: str) -> BanditInstance:
    """Return the instance of an object in the published layout.

    p_up[j][a] is the probability that arm j moves one state up, otherwise one down; state_reward[j][s] the reward for reaching
    state s. Each text of init_states has one digit per arm: the states in which an episode begins.
    """
    state_values = given["state_reward"].numbers(None, None)
    arms, states = state_values.shape
    up = given["p_up"].numbers(arms, 2)
    transitions = np.zeros((arms, 2, states, states))
    for state in range(states):
        transitions[:, :, state, min(state + 1, states - 1)] += up
        transitions[:, :, state, max(state - 1, 0)] += 1.0 - up
    rewards = np.einsum("jasn,jn->jas", transitions, state_values)
    initial = np.array([_digits(each, arms) for each in given["init_states"].entries()], np.int32)
    kind, names = _PUBLISHED_KEYS[given["kind"].choice()]
    constraint = kind.from_json({ours: given[theirs] for ours, theirs in names.items()}, arms)
    horizon, seed = (given.get(key, default).integer() for key, default in (("horizon", 20), ("seed", 0)))
    return BanditInstance(name, transitions, rewards, constraint, initial, horizon, seed=seed)


def _digits(field: Field, arms: int) -> list[int]:
    """Return the states in which an episode begins, from a text of one digit per arm."""
    text = field.text()
    if not (text.isascii() and text.isdigit() and len(text) == arms):
        raise field.error(f"accepted: a text of {arms} digits, the state of each arm")
    return [int(digit) for digit in text]
