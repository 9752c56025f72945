"""Programs and machines in JSON: our own form (README.md, "Files"), and traced programs of the form corl-memmap-1.

{"problem": "memory", "name": "tiny", "machine": {"fast_bytes": 4096},
 "tensors": [{"name": "x", "size": 1024, "kind": "input"}, {"name": "y", "size": 2048, "kind": "output"}],
 "ops": [{"name": "relu", "unit": "vector", "flops": 512, "reads": ["x"], "writes": [["y", 1024]]}],
 "aliases": [["x", "y"]]}

An access is a tensor's name, all bytes of which go through memory, or [name, bytes].
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

from corl import options
from corl.errors import InputError, UsageError
from corl.files import from_json, is_number, writing
from corl.problems.memory.mapping.instance import KINDS, Machine, MappingInstance, Op, from_program, whole
from corl.text import Text, quoted

__all__ = ["read_instance", "recognises", "write_instance"]

TRACED = "corl-memmap-1"
_KEYS = ("problem", "name", "comment", "machine", "tensors", "ops", "aliases")
_CALL_KEYS = ("problem", "name", "comment", "generator", "parameters")
_TENSOR_KEYS, _OP_KEYS = ("name", "size", "kind"), ("name", "unit", "flops", "reads", "writes")
_TRACED_KEYS = ("format", "name", "comment", "machine", "ops", "tensors")
_TRACED_TENSOR_KEYS, _TRACED_OP_KEYS = ("id", *_TENSOR_KEYS), ("name", "kind", "flops", "mat", "ins", "outs")
_TRACED_KINDS = {kind: kind for kind in KINDS} | {"act": "activation"}
_HEAD = re.compile(r'\s*\{\s*("problem"\s*:\s*"memory"|"format"\s*:\s*"corl-memmap-)')
_LARGEST = 2**50


def recognises(head: str) -> bool:
    """Whether this is the head of a program: its first key is "problem", "memory", or "format", "corl-memmap-..."."""
    return _HEAD.match(head) is not None


def read_instance(path: Path) -> MappingInstance:
    """The instance in a file. Raises InputError, naming the file and the field (a fault of JSON: the line), or OSError."""
    text = Text.read(path)
    try:
        value = from_json(text.content, file=text.file)
    except InputError as error:
        cause = error.__cause__
        raise text.error(error.reason, line=cause.lineno if isinstance(cause, json.JSONDecodeError) else None) from None
    stem = Path(path).name.removesuffix(".gz").removesuffix(".json")
    try:
        return _read(value, stem)
    except InputError as error:
        raise text.error(error.reason, line=_line(text.content, error.field), field=error.field) from None


def _read(value: Any, stem: str) -> MappingInstance:
    if not isinstance(value, dict):
        raise InputError("accepted: a JSON object")
    if "format" in value:
        return _traced(value, stem)
    if value.get("problem", "memory") != "memory":
        raise InputError(f"{value['problem']!r} is not accepted; accepted: 'memory'"[:200], field="problem")
    return _generated(value, stem) if "generator" in value else _program(value, stem)


def _generated(value: dict[str, Any], stem: str) -> MappingInstance:
    from corl.problems.memory.mapping.generators import GENERATORS

    _only(value, _CALL_KEYS, "")
    kind, parameters = value["generator"], value.get("parameters", {})
    if not isinstance(kind, str) or kind not in GENERATORS:
        raise InputError(f"not known; accepted: {', '.join(GENERATORS)}", field="generator")
    if not isinstance(parameters, dict):
        raise InputError("accepted: an object", field="parameters")
    try:
        made: MappingInstance = options.call(GENERATORS[kind], parameters)
    except UsageError as error:
        raise InputError(str(error), field="parameters") from None
    return dataclasses.replace(made, name=_text(value, "name", "") or stem, comment=_text(value, "comment", "") or made.comment)


def _program(value: dict[str, Any], stem: str) -> MappingInstance:
    """The instance of our own form."""
    _only(value, _KEYS, "")
    tensors, numbers = [], {}
    for k, tensor in enumerate(_list(value, "tensors", "")):
        field = f"tensors[{k}]"
        _only(tensor, _TENSOR_KEYS, field)
        name, kind = _text(tensor, "name", field), tensor.get("kind", "activation")
        if not name or name in numbers:
            raise InputError("accepted: a text that no other tensor has", field=f"{field}.name")
        numbers[name] = k
        tensors.append((name, _size(tensor, field), _choice(kind, KINDS, f"{field}.kind")))
    ops = []
    for i, op in enumerate(_list(value, "ops", "")):
        field = f"ops[{i}]"
        _only(op, _OP_KEYS, field)
        unit = _choice(op.get("unit", "vector"), ("matrix", "vector"), f"{field}.unit")
        lists = [
            [_access(access, numbers, tensors, f"{field}.{key}[{k}]") for k, access in enumerate(_list(op, key, field, []))]
            for key in ("reads", "writes")
        ]
        ops.append(Op(_text(op, "name", field), unit == "matrix", _number(op, "flops", field), *lists))
    aliases = []
    for g, names in enumerate(_list(value, "aliases", "", [])):
        if not isinstance(names, list) or not all(isinstance(name, str) and name in numbers for name in names):
            raise InputError("accepted: a list of names of tensors", field=f"aliases[{g}]")
        aliases.append([numbers[name] for name in names])
    name, machine = _text(value, "name", "") or stem, _machine(value.get("machine", {}))
    return from_program(ops, tensors, machine, aliases=aliases, name=name, comment=_text(value, "comment", ""))


def _access(value: Any, numbers: dict[str, int], tensors: list[tuple[str, int, str]], field: str) -> tuple[int, int]:
    pair = value if isinstance(value, list) else [value, None]
    if len(pair) != 2 or not isinstance(pair[0], str) or pair[0] not in numbers:
        raise InputError(f"{_shown(value)} is not accepted; accepted: the name of a tensor, or [name, bytes]", field=field)
    number = numbers[pair[0]]
    if isinstance(value, list) and not whole(pair[1], _LARGEST):
        raise InputError(f"accepted: [name, bytes], bytes an integer from 0 to {_LARGEST:,}", field=field)
    return number, tensors[number][1] if pair[1] is None else pair[1]


def _machine(value: Any) -> Machine:
    names = [field.name for field in dataclasses.fields(Machine)]
    _only(value, tuple(names), "machine")
    for key, number in value.items():
        if not is_number(number):
            raise InputError("accepted: a number", field=f"machine.{key}")
    return Machine(**value)


def _traced(value: dict[str, Any], stem: str) -> MappingInstance:
    """The instance of a traced program: tensors have numbers, "mat" marks the matrix unit, "act" is an activation."""
    _choice(value["format"], (TRACED,), "format")
    _only(value, _TRACED_KEYS, "")
    tensors, numbers, taken = [], {}, set()
    for k, tensor in enumerate(_list(value, "tensors", "")):
        field = f"tensors[{k}]"
        _only(tensor, _TRACED_TENSOR_KEYS, field)
        identity, name = tensor.get("id"), _text(tensor, "name", field)
        if type(identity) is not int or identity in numbers:
            raise InputError("accepted: an integer that no other tensor has", field=f"{field}.id")
        name = name if name and name not in taken else f"{name}#{identity}"
        taken.add(name)
        numbers[identity] = k
        kind = _choice(tensor.get("kind"), tuple(_TRACED_KINDS), f"{field}.kind")
        tensors.append((name, _size(tensor, field), _TRACED_KINDS[kind]))
    ops = []
    for i, op in enumerate(_list(value, "ops", "")):
        field = f"ops[{i}]"
        _only(op, _TRACED_OP_KEYS, field)
        if not isinstance(op.get("mat"), bool):
            raise InputError("accepted: true or false", field=f"{field}.mat")
        lists = []
        for key in ("ins", "outs"):
            accesses = [_numbered(pair, numbers, f"{field}.{key}[{k}]") for k, pair in enumerate(_list(op, key, field))]
            summed: dict[int, int] = {}  # a tensor read twice by one operation
            for number, count in accesses:
                summed[number] = summed.get(number, 0) + count
            lists.append(list(summed.items()))
        ops.append(Op(_text(op, "name", field), op["mat"], _number(op, "flops", field), *lists))
    name = _text(value, "name", "") or stem
    return from_program(ops, tensors, _machine(value.get("machine", {})), name=name, comment=_text(value, "comment", ""))


def _numbered(value: Any, numbers: dict[int, int], field: str) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2 or type(value[0]) is not int or value[0] not in numbers:
        raise InputError("accepted: [id of a tensor, bytes]", field=field)
    if not whole(value[1], _LARGEST):
        raise InputError(f"accepted: bytes from 0 to {_LARGEST:,}", field=field)
    return numbers[value[0]], value[1]


# -------------------------------------------------------------------- one value
def _only(value: Any, keys: tuple[str, ...], field: str) -> None:
    if not isinstance(value, dict):
        raise InputError(f"accepted: an object with the keys {', '.join(keys)}", field=field or None)
    if unknown := [key for key in value if key not in keys]:
        raise InputError(f"there is no key {unknown[0][:40]!r}; accepted: {', '.join(keys)}", field=field or None)


def _list(value: dict[str, Any], key: str, field: str, default: list[Any] | None = None) -> list[Any]:
    found = value.get(key, default)
    if not isinstance(found, list):
        raise InputError("accepted: a list", field=f"{field}.{key}".lstrip("."))
    return found


def _text(value: dict[str, Any], key: str, field: str) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise InputError("accepted: a text", field=f"{field}.{key}".lstrip("."))
    return found


def _size(value: dict[str, Any], field: str) -> int:
    size = value.get("size")
    if not whole(size, _LARGEST):
        raise InputError(f"{_shown(size)} is not accepted; accepted: an integer from 0 to {_LARGEST:,}", field=f"{field}.size")
    assert isinstance(size, int)
    return size


def _number(value: dict[str, Any], key: str, field: str) -> float:
    number = value.get(key, 0)
    if not is_number(number) or number < 0:
        raise InputError(f"{_shown(number)} is not accepted; accepted: a number from 0", field=f"{field}.{key}")
    return float(number)


def _shown(value: Any) -> str:
    """A value of the file as it may stand in a message of one line."""
    return quoted(value) if isinstance(value, str) else json.dumps(value)[:40]


def _choice(value: Any, accepted: tuple[str, ...], field: str) -> str:
    if not isinstance(value, str) or value not in accepted:
        raise InputError(f"{value!r} is not known; accepted: {', '.join(accepted)}"[:200], field=field)
    return value


def _line(content: str, field: str | None) -> int | None:
    """The line in which entry k of the list `tensors`, `ops` or `aliases` begins, for a field such as ops[k].reads[0].

    For other fields, such as machine.fast_bytes, that of the last of their keys that is there.
    """
    found = re.match(r"(tensors|ops|aliases)\[(\d+)\]", field or "")
    if not found:
        at = -1
        for key in re.findall(r"\w+", field or ""):
            place = re.compile(rf'"{key}"\s*:').search(content, max(at, 0))
            at = place.start() if place else at
        return None if at < 0 else content.count("\n", 0, at) + 1
    if not (opening := re.search(rf'"{found[1]}"\s*:\s*\[', content)):
        return None
    decoder, blanks, at = json.JSONDecoder(), re.compile(r"[\s,]*"), opening.end()
    for _ in range(int(found[2])):
        at = decoder.raw_decode(content, _skip(blanks, content, at))[1]
    return content.count("\n", 0, _skip(blanks, content, at)) + 1


def _skip(blanks: re.Pattern[str], content: str, at: int) -> int:
    """The position behind the blanks at another."""
    match = blanks.match(content, at)
    return match.end() if match else at


# -------------------------------------------------------------------- the writer
def write_instance(instance: MappingInstance, path: Path) -> None:
    """Write the instance in our own form, a line a tensor and a line an operation."""
    head: dict[str, Any] = {"problem": "memory", "name": instance.name}
    if instance.comment:
        head["comment"] = instance.comment
    head["machine"] = dataclasses.asdict(instance.machine)
    names, sizes = instance.tensor_names, instance.sizes.tolist()
    tensors = [{"name": name, "size": size, "kind": kind} for name, size, kind in zip(names, sizes, instance.kinds)]
    parts = {"tensors": tensors, "ops": [_op(instance, i) for i in range(instance.ops)]}
    group = instance.group.tolist()
    groups = [[names[t] for t, at in enumerate(group) if at == g] for g in range(max(group, default=-1) + 1)]
    text = json.dumps(head)[:-1]
    for key, rows in parts.items():
        text += f', "{key}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]"
    if groups:
        text += f', "aliases": {json.dumps(groups)}'
    with writing(path) as stream:
        stream.write(text + "}\n")


def _op(instance: MappingInstance, i: int) -> dict[str, Any]:
    row: dict[str, Any] = {"name": instance.op_names[i], "unit": "matrix" if instance.matrix[i] else "vector"}
    row |= {"flops": float(instance.flops[i]), "reads": [], "writes": []}
    for a in range(int(instance.access_first[i]), int(instance.access_first[i + 1])):
        t, count = int(instance.access_tensor[a]), int(instance.access_bytes[a])
        name = instance.tensor_names[t]
        row["writes" if instance.access_write[a] else "reads"].append(name if count == instance.sizes[t] else [name, count])
    return row
