"""NamedTuples that kernels receive as a pointer.

numba passes a NamedTuple by value: each array of it is seven or more arguments of every function that is not inlined, and a
NamedTuple of a hundred arrays takes LLVM minutes. `by_reference` returns a stand-in whose fields lie in one block of memory.
Kernels are called with its address and load the fields that they use. A kernel's source is the same for both.
"""

# mypy: allow-untyped-calls
# numba's own functions have no types.

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, models, register_model, typeof_impl, unbox
from numba.np import numpy_support
from numpy.typing import NDArray

__all__ = ["Reference", "by_reference"]

_T = TypeVar("_T")
_WORD = 8  # bytes; each number takes one word
_TUPLE: Any = types.BaseNamedTuple  # Any, because type checkers do not know its members


def by_reference(record: _T) -> _T:
    """Return a stand-in for a NamedTuple of numbers, arrays, None and such NamedTuples, which kernels receive as a pointer.

    It has the fields of the NamedTuple and `_replace`. Kernels cannot return it, nor arrays of it, to Python.
    """
    return cast(_T, record if isinstance(record, _StandIn) else _StandIn(record))


class _StandIn:
    """A NamedTuple and a copy of its fields in the layout of `Reference`."""

    def __init__(self, record: Any, words: NDArray[np.int64] | None = None) -> None:
        fields = {name: _unwrapped(value) for name, value in zip(record._fields, record)}
        self._record = record._replace(**fields)
        self._numba_type_ = Reference(numba.typeof(self._record))
        if words is None:
            words = np.zeros(self._numba_type_.size, np.int64)
            self._numba_type_.write(self._record, words)
        self._words, self.address = words, words.ctypes.data
        places = self._numba_type_.places
        for name, value in fields.items():
            if isinstance(places[name][1], Reference):  # the part of the same block
                start, part = places[name]
                value = _StandIn(value, words[start : start + part.size])
            setattr(self, name, value)

    def _replace(self, **changes: Any) -> Any:
        """Return a stand-in for the NamedTuple with other values of some fields."""
        return _StandIn(self._record._replace(**changes))


def _unwrapped(value: Any) -> Any:
    """Return the NamedTuple for a stand-in, any other value unchanged."""
    return value._record if isinstance(value, _StandIn) else value


@typeof_impl.register(_StandIn)
def _typeof(value: _StandIn, context: object) -> Any:
    return value._numba_type_


class Reference(types.Type):
    """numba's type of a pointer to a block of words with the fields of a NamedTuple.

    An integer, a floating-point number or a boolean is one word; an array is its address, its number of elements, its shape and
    its strides; the fields of a NamedTuple lie within those of the outer one. None takes no word.
    """

    def __init__(self, record: Any) -> None:
        self.record = record
        cls = record.instance_class
        digest = hashlib.sha256(f"{cls.__module__}:{cls.__qualname__} {record}".encode()).hexdigest()[:12]
        super().__init__(name=f"Reference({cls.__name__} {digest})")  # numba's name of the tuple may have thousands of characters

    @property
    def key(self) -> Any:
        return self.record

    @cached_property
    def places(self) -> dict[str, tuple[int, Any]]:
        """Name -> first word and type of each field."""
        found, at = {}, 0
        for name, field in zip(self.record.instance_class._fields, self.record.types):
            part = Reference(field) if isinstance(field, _TUPLE) else field
            found[name] = at, part
            at += _size(part)
        return found

    @cached_property
    def size(self) -> int:
        """The number of words."""
        return sum(_size(part) for _, part in self.places.values())

    def write(self, record: Any, words: NDArray[np.int64]) -> None:
        """Write the fields of a NamedTuple of this type to `words`, int64 [size], in place."""
        for name, (at, part) in self.places.items():
            value, into = getattr(record, name), words[at : at + _size(part)]
            if isinstance(part, Reference):
                part.write(value, into)
            elif isinstance(part, types.Array):
                into[:] = [value.ctypes.data, value.size, *value.shape, *value.strides]
            elif part is not types.none:
                into.view(_dtype(part))[0] = value


def _size(field: Any) -> int:
    """Return the number of words of a field. Raises TypeError if a block cannot hold fields of its type."""
    if isinstance(field, Reference):
        return field.size
    if isinstance(field, types.Array):
        return 2 + 2 * field.ndim
    if isinstance(field, (types.Integer, types.Float, types.Boolean)):
        return 1
    if field is types.none:
        return 0
    raise TypeError(f"{field} cannot be passed by reference")


def _dtype(number: Any) -> Any:
    """Return the NumPy type of a number; it takes the first bytes of its word."""
    return numpy_support.as_dtype(number)


@register_model(Reference)
class _Model(models.OpaqueModel):
    """A pointer."""


@unbox(Reference)  # type: ignore[untyped-decorator]
def _unbox(kind: Any, stand_in: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(stand_in, "address")
    number = c.pyapi.long_as_ulonglong(address)
    c.pyapi.decref(address)
    return NativeValue(c.builder.inttoptr(number, c.context.get_value_type(kind)))


@infer_getattr
class _Fields(AttributeTemplate):
    """The types of the fields."""

    key = Reference

    def generic_resolve(self, reference: Any, name: str) -> Any:  # type: ignore[override]
        return reference.places[name][1] if name in reference.places else None


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def _load_field(context: Any, builder: Any, reference: Any, pointer: Any, name: str) -> Any:
    """Load a field. An array has no owner here, so that its references are not counted."""
    at, part = reference.places[name]
    word = ir.IntType(64)
    first = builder.bitcast(builder.gep(pointer, [context.get_constant(types.intp, _WORD * at)]), word.as_pointer())
    if isinstance(part, Reference):
        return builder.bitcast(first, context.get_value_type(part))
    if part is types.none:
        return context.get_dummy_value()
    if isinstance(part, types.Array):
        return _load_array(context, builder, part, first)
    place = builder.bitcast(first, context.get_data_type(part).as_pointer())
    return context.data_model_manager[part].from_data(builder, _constant(builder, place))


def _load_array(context: Any, builder: Any, kind: Any, first: Any) -> Any:
    """Return the array whose words begin at `first`."""
    found = context.make_array(kind)(context, builder)
    words = [_constant(builder, builder.gep(first, [context.get_constant(types.intp, k)])) for k in range(2 + 2 * kind.ndim)]
    found.data = builder.inttoptr(words[0], found.data.type)
    found.nitems, found.itemsize = words[1], context.get_constant(types.intp, _dtype(kind.dtype).itemsize)
    found.shape = cgutils.pack_array(builder, words[2 : 2 + kind.ndim])
    found.strides = cgutils.pack_array(builder, words[2 + kind.ndim :])
    found.meminfo = cgutils.get_null_value(found.meminfo.type)
    found.parent = cgutils.get_null_value(found.parent.type)
    return found._getvalue()


def _constant(builder: Any, place: Any) -> Any:
    """Load a value that does not change while its block exists: LLVM may then load it once."""
    value = builder.load(place)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value
