"""`kernel`: numba's njit with a trusted disk cache (corl.compilation.cache) and uninterrupted compilations."""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar, cast, overload

import numba
from numba.core import event

from corl.compilation import announcing, bitcode_only, cache, locks, signals

__all__ = ["kernel"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
event.register("numba:compile", announcing.Watch())  # type: ignore[no-untyped-call]
_OBJECTS = 100_000  # created between two garbage collections while a kernel is compiled; Python's default is 700


@overload
def kernel(function: Callable[_P, _R], /) -> Callable[_P, _R]: ...
@overload
def kernel(
    *, inline: bool = False, fastmath: bool = False, borrow: bool = False, nogil: bool = False
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
def kernel(
    function: Callable[_P, _R] | None = None,
    /,
    *,
    inline: bool = False,
    fastmath: bool = False,
    borrow: bool = False,
    nogil: bool = False,
) -> Callable[_P, _R] | Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Compile `function` with numba at its first call and keep the machine code on disk.

    `inline` asks LLVM to inline it at every call (small helpers); `fastmath` lets it reorder floating-point sums. `borrow` is for
    helpers that take a NamedTuple of many arrays and run for less than a microsecond: they and what they call count no references
    to arrays, which costs 10 ns an array and call, and can therefore neither make arrays nor assign to slices.
    `nogil` lets other threads of Python run meanwhile.

    A kernel may have no annotations, as numba infers the types of its arguments from its calls. A file with such kernels begins
    with `# mypy: allow-untyped-defs`, and a call of one is checked as far as the number and the names of its arguments.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        # The address of a kernel is never taken: numba's wrapper for callers from C is not needed.
        options: dict[str, Any] = {"fastmath": fastmath, "error_model": "numpy", "no_cfunc_wrapper": True}
        if inline:
            options["forceinline"] = True
        if borrow:
            options["_nrt"] = False
        if nogil:
            options["nogil"] = True
        compiled: Any = numba.njit(**options)(function)
        if (kept := cache.kernel_cache(function)) is not None:
            compiled._cache = kept
        bitcode_only.install(compiled)
        compiled.compile = _unbroken(compiled.compile)
        return cast(Callable[_P, _R], compiled)

    return decorate if function is None else decorate(function)


def _unbroken(compile: Callable[..., Any]) -> Callable[..., Any]:
    """Return a dispatcher's `compile` (which also loads from the cache) that delays signals and collects garbage rarely.

    LLVM calls back into Python while it compiles. An exception of a signal handler there, above all Ctrl-C's KeyboardInterrupt,
    is swallowed together with LLVM's result, and the kernel then fails in this process with "no compiled object yet".
    """

    @functools.wraps(compile)
    def compiled(*arguments: Any) -> Any:
        with signals.held(), locks.released(), _garbage_kept():
            return compile(*arguments)

    return compiled


@contextlib.contextmanager
def _garbage_kept() -> Iterator[None]:
    """Search for cycles of garbage a hundred times less often: the objects of a compilation live as long as it does.

    It takes a tenth less time and some 50 MB more memory.
    """
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
