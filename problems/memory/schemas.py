"""JSON schemas of memory mapping's programs, ours and traced ones, and of plans."""

import dataclasses

from corl.files.json_schemas import (
    FLAG,
    TEXT,
    Schema,
    array,
    choice,
    constant,
    document,
    either,
    generated,
    integer,
    number,
    record,
)
from corl.problems.memory.generators import GENERATORS
from corl.problems.memory.instance import KINDS, LARGEST, Machine

__all__ = ["SCHEMAS"]

_BYTES = integer(0, LARGEST)
_MACHINE = record({}, {each.name: _BYTES if each.name == "fast_bytes" else number() for each in dataclasses.fields(Machine)})
_HEADING = {"name": TEXT, "comment": TEXT, "machine": _MACHINE}


def _accesses(name: Schema) -> Schema:
    """Tensors whose bytes all go through memory, or [tensor, bytes]."""
    pair: Schema = {"type": "array", "prefixItems": [name, _BYTES], "items": False, "minItems": 2}
    return array(either(name, pair))


_PROGRAM = record(
    {
        "tensors": array(record({"name": TEXT, "size": _BYTES}, {"kind": choice(KINDS)})),
        "ops": array(record({}, {"name": TEXT, "unit": choice(("matrix", "vector")), "flops": number(0),
                                 "reads": _accesses(TEXT), "writes": _accesses(TEXT)})),
    },
    {"problem": constant("memory"), **_HEADING, "aliases": array(array(TEXT))},
)  # fmt: skip
_TRACED = record(
    {
        "format": constant("corl-memmap-1"),
        "tensors": array(record({"id": integer(), "size": _BYTES, "kind": choice((*KINDS, "act"))}, {"name": TEXT})),
        "ops": array(record({"mat": FLAG, "ins": _accesses(integer()), "outs": _accesses(integer())},
                            {"name": TEXT, "kind": {}, "flops": number(0)})),
    },
    {"problem": constant("memory"), **_HEADING},
)  # fmt: skip
_SPAN = {"from": integer(0), "to": integer(0)}
_FACTS = {"bytes": integer(), "from_op": TEXT, "to_op": TEXT}
_PLAN = record(
    {
        "residencies": array(record({"tensor": TEXT, **_SPAN, "offset": integer(0)}, _FACTS)),
        "copies": array(record({"tensor": TEXT, "direction": choice(("in", "out")), **_SPAN},
                               {**_FACTS, "start": number(), "end": number()})),
    }
)  # fmt: skip
SCHEMAS = {
    "instance": document("corl memory instance", either(_PROGRAM, _TRACED, generated("memory", GENERATORS))),
    "solution": document("corl memory plan: operations half-open, bytes, seconds", _PLAN),
}
