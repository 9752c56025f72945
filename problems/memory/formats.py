"""Programs and machines in JSON: corl's own form (formats.md, "Files"), and traced programs of the form corl-memmap-1.

An instance in corl's form, in which operation "relu" accesses all 1,024 bytes of x and half of y:

{"problem": "memory", "name": "tiny", "machine": {"fast_bytes": 4096},
 "tensors": [{"name": "x", "size": 1024, "kind": "input"}, {"name": "y", "size": 2048, "kind": "output"}],
 "ops": [{"name": "relu", "unit": "vector", "flops": 512, "reads": ["x"], "writes": [["y", 1024]]}],
 "aliases": [["x", "y"]]}

An access is the name of a tensor, all of whose bytes are accessed once, or [name, bytes].
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corl.errors import hint
from corl.fields import (
    Anything,
    Array,
    Choice,
    Constant,
    Either,
    Flag,
    Integer,
    Kind,
    Number,
    Object,
    Row,
    Schema,
    String,
    document,
    generator_call,
)
from corl.files.json_instances import Field, generated, heading, read_object
from corl.files.json_values import dumps
from corl.files.opening import plain_name, writing
from corl.files.text import Text, quoted
from corl.problems.memory.instance import KINDS, LARGEST, Machine, MappingInstance, Op, from_program

__all__ = ["from_json_value", "instance_schema", "read_instance", "recognises", "write_instance"]

_TRACED = "corl-memmap-1"
_TRACED_KINDS = {kind: kind for kind in KINDS} | {"act": "activation"}
_BYTES = Integer(0, LARGEST)
_MACHINE = Object({}, {each.name: _BYTES if each.name == "fast_bytes" else Number() for each in dataclasses.fields(Machine)})
_HEADING = {"problem": Constant("memory"), "name": String(), "comment": String(), "machine": _MACHINE}


def _accesses(name: Kind) -> Array:
    """Return the schema of a list of accesses, each a tensor or [tensor, bytes]; `name` is the schema of a tensor."""
    return Array(Either(name, Row(name, _BYTES)))


_NAMED = _accesses(String())
_INSTANCE = Object(
    {
        "tensors": Array(Object({"name": String(), "size": _BYTES}, {"kind": Choice(KINDS)})),
        "ops": Array(
            Object(
                {},
                {
                    "name": String(),
                    "unit": Choice(("matrix", "vector")),
                    "flops": Number(0),
                    "reads": _NAMED,
                    "writes": _NAMED,
                },
            )
        ),
    },
    {**_HEADING, "aliases": Array(Array(String()))},
)
_NUMBERED = _accesses(Integer())
_TRACED_INSTANCE = Object(
    {
        "format": Constant(_TRACED),
        "tensors": Array(Object({"id": Integer(), "size": _BYTES, "kind": Choice(tuple(_TRACED_KINDS))}, {"name": String()})),
        "ops": Array(
            Object(
                {"mat": Flag(), "ins": _NUMBERED, "outs": _NUMBERED},
                {"name": String(), "kind": Anything(), "flops": Number(0)},
            )
        ),
    },
    dict(_HEADING),
)
_HEAD = re.compile(r'\s*\{\s*("problem"\s*:\s*"memory"|"format"\s*:\s*"corl-memmap-)')
_Generators = Mapping[str, Callable[..., MappingInstance]]


def recognises(head: str) -> bool:
    """Return whether `head` begins a program: the first entry is "problem": "memory" or "format": "corl-memmap-..."."""
    return _HEAD.match(head) is not None


def instance_schema(generators: _Generators) -> Schema:
    """Return the JSON schema of a file: one of the two forms, or a call of one of these generators."""
    return document("corl memory instance", Either(_INSTANCE, _TRACED_INSTANCE, generator_call("memory", generators)))


def read_instance(path: Path, generators: _Generators) -> MappingInstance:
    """Return the instance in a file, which may name one of `generators`. Raises InputError or OSError."""
    stem = plain_name(path).name.removesuffix(".json")
    return read_object(Text.read(path), lambda field: from_json_value(field, stem, generators))


def from_json_value(field: Field, stem: str, generators: _Generators) -> MappingInstance:
    """Return the instance of a JSON object, which may name one of `generators`. Raises InputError with the field.

    `stem`: the instance's name, if the object has none.
    """
    if "format" in field.value:
        return _traced(field, stem)
    if "generator" in field.value:
        made: MappingInstance = generated(field, generators, "memory", stem)
        return made
    return _program(field, stem)


def _program(field: Field, stem: str) -> MappingInstance:
    """Return the instance of an object in corl's own form."""
    given = field.record(_INSTANCE)
    name, comment = heading(given, "memory", stem)
    numbers: dict[Any, int] = {}
    tensors: list[tuple[str, int, str]] = []
    ops = []
    for entry in given["tensors"].entries():
        facts = entry.record()
        tensor = facts["name"].text()
        if not tensor or tensor in numbers:
            raise facts["name"].error(f"{quoted(tensor)} is not accepted; accepted: a name that no other tensor has")
        numbers[tensor] = len(tensors)
        tensors.append((tensor, facts["size"].integer(), facts.get("kind", "activation").choice()))
    for entry in given["ops"].entries():
        facts = entry.record()
        matrix, flops = facts.get("unit", "vector").choice() == "matrix", facts.get("flops", 0).number()
        reads, writes = (
            [_access(access, numbers, tensors) for access in facts.get(key, []).entries()] for key in ("reads", "writes")
        )
        ops.append(Op(facts.get("name", "").text(), matrix, flops, reads, writes))
    aliases = [[_tensor(member, numbers) for member in group.entries()] for group in given.get("aliases", []).entries()]
    return from_program(ops, tensors, _machine(given.get("machine", {})), aliases=aliases, name=name, comment=comment)


def _access(field: Field, numbers: Mapping[Any, int], tensors: list[tuple[str, int, str]]) -> tuple[int, int]:
    """Return (number of the tensor, bytes) for an access: a name, which stands for all bytes of the tensor, or [name, bytes].

    `numbers` maps names or ids to numbers; `tensors` has (name, size, kind) of each.
    """
    if not isinstance(field.value, list):
        return (t := _tensor(field, numbers)), tensors[t][1]
    tensor, count = field.entries()
    return _tensor(tensor, numbers), count.integer()


def _tensor(field: Field, numbers: Mapping[Any, int]) -> int:
    """Return the number of the tensor with this name, or with this id if the keys of `numbers` are ids."""
    named = isinstance(next(iter(numbers), ""), str)
    key = field.text() if named else field.integer()
    if key not in numbers:
        given = f"{quoted(key)}{hint(key, numbers)}" if isinstance(key, str) else f"{key}"
        raise field.error(f"there is no tensor {given}; accepted: {'names' if named else 'ids'} of `tensors`")
    return numbers[key]


def _machine(field: Field) -> Machine:
    """Return the machine of an object in which missing fields have their defaults."""
    record = field.record(_MACHINE)
    given: dict[str, Any] = {key: record[key].number() for key in record.values if key in record and key != "fast_bytes"}
    return Machine(record.get("fast_bytes", Machine.fast_bytes).integer(), **given)


def _traced(field: Field, stem: str) -> MappingInstance:
    """Return the instance of an object in the form corl-memmap-1.

    Tensors have integer ids, "mat" is true for operations on the matrix unit, and the kind "act" is an activation.
    """
    given = field.record(_TRACED_INSTANCE)
    given["format"].choice((_TRACED,))
    numbers: dict[Any, int] = {}
    tensors: list[tuple[str, int, str]] = []
    taken, ops = set(), []
    for entry in given["tensors"].entries():
        facts = entry.record()
        identity, name = facts["id"].integer(), facts.get("name", "").text()
        if identity in numbers:
            raise facts["id"].error(f"{identity} is not accepted; accepted: an integer that no other tensor has")
        name = name if name and name not in taken else f"{name}#{identity}"
        taken.add(name)
        numbers[identity] = len(tensors)
        tensors.append((name, facts["size"].integer(), _TRACED_KINDS[facts["kind"].choice()]))
    for entry in given["ops"].entries():
        facts = entry.record()
        lists = []
        for key in ("ins", "outs"):
            summed: dict[int, int] = {}  # a tensor may be read twice by one operation
            for access in facts[key].entries():
                tensor, count = _access(access, numbers, tensors)
                summed[tensor] = summed.get(tensor, 0) + count
            lists.append(list(summed.items()))
        ops.append(Op(facts.get("name", "").text(), facts["mat"].flag(), facts.get("flops", 0).number(), *lists))
    name, comment = heading(given, "memory", stem)
    return from_program(ops, tensors, _machine(given.get("machine", {})), name=name, comment=comment)


# -------------------------------------------------------------------- the writer
def write_instance(instance: MappingInstance, path: Path) -> None:
    """Write the instance in corl's own form, one line per tensor and per operation."""
    head: dict[str, Any] = {"problem": "memory", "name": instance.name}
    if instance.comment:
        head["comment"] = instance.comment
    head["machine"] = dataclasses.asdict(instance.machine)
    names, sizes = instance.tensor_names, instance.sizes.tolist()
    tensors = [{"name": name, "size": size, "kind": kind} for name, size, kind in zip(names, sizes, instance.kinds)]
    parts = {"tensors": tensors, "ops": [_op(instance, i) for i in range(instance.ops)]}
    group = instance.group.tolist()
    groups = [[names[t] for t, at in enumerate(group) if at == g] for g in range(max(group, default=-1) + 1)]
    text = dumps(head)[:-1]
    for key, rows in parts.items():
        text += f', "{key}": [\n' + ",\n".join(dumps(row) for row in rows) + "\n]"
    if groups:
        text += f', "aliases": {dumps(groups)}'
    with writing(path) as stream:
        stream.write(text + "}\n")


def _op(instance: MappingInstance, i: int) -> dict[str, Any]:
    """Return operation i as a JSON object."""
    row: dict[str, Any] = {"name": instance.op_names[i], "unit": "matrix" if instance.matrix[i] else "vector"}
    row |= {"flops": float(instance.flops[i]), "reads": [], "writes": []}
    for a in range(int(instance.access_first[i]), int(instance.access_first[i + 1])):
        t, count = int(instance.access_tensor[a]), int(instance.access_bytes[a])
        name = instance.tensor_names[t]
        row["writes" if instance.access_write[a] else "reads"].append(name if count == instance.sizes[t] else [name, count])
    return row
