"""`kernel`: numba's njit with a disk cache that refuses files of other users (corl.compilation.cache), safe against signals."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast, overload

import numba
from numba.core import event

from corl.compilation import announcing, bitcode_only, cache, front_end, locks, signals
from corl.compilation.references import by_reference

__all__ = ["by_reference", "kernel"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
event.register("numba:compile", announcing.Watch())  # type: ignore[no-untyped-call]


@overload
def kernel(function: Callable[_P, _R], /) -> Callable[_P, _R]: ...
@overload
def kernel(
    *, inline: bool = False, fastmath: bool = False, borrow: bool = False, nogil: bool = False, shared: bool = False
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
def kernel(
    function: Callable[_P, _R] | None = None,
    /,
    *,
    inline: bool = False,
    fastmath: bool = False,
    borrow: bool = False,
    nogil: bool = False,
    shared: bool = False,
) -> Callable[_P, _R] | Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Compile `function` with numba at its first call and keep the machine code on disk.

    A kernel may lack annotations, as numba infers the types of its arguments from its calls. A file with such kernels begins with
    `# mypy: allow-untyped-defs`; mypy then checks only the number and the names of a call's arguments.

    Args:
        function: The function.
        inline: Ask LLVM to inline every call; for small helpers.
        fastmath: Let LLVM reorder floating-point sums.
        borrow: Count no references to arrays. Counting takes 10 ns per array and call, so this is for helpers that take a
            NamedTuple of many arrays and run for less than a microsecond. Such a helper, and the kernels that it calls, can
            neither create arrays nor assign to slices.
        nogil: Let other threads of Python run at the same time.
        shared: Compile the function once for all kernels that call it, instead of linking it into each of them. A call then
            takes some nanoseconds more, if NamedTuples are passed by reference (`by_reference`).
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        # C code never calls a kernel, so numba's wrapper for callers from C is not needed.
        options: dict[str, Any] = {"fastmath": fastmath, "error_model": "numpy", "no_cfunc_wrapper": True}
        if inline:
            options["forceinline"] = True
        if borrow:
            options["_nrt"] = False
        if nogil:
            options["nogil"] = True
        compiled: Any = numba.njit(**options)(function)
        if (disk_cache := cache.kernel_cache(function)) is not None:
            compiled._cache = disk_cache
        bitcode_only.install(compiled, shared)
        compiled.compile = _uninterrupted(compiled.compile)
        return cast(Callable[_P, _R], compiled)

    return decorate if function is None else decorate(function)


def _uninterrupted(compile: Callable[..., Any]) -> Callable[..., Any]:
    """Return a version of a dispatcher's `compile` (which also loads from the cache) that delays signals and garbage collection.

    LLVM calls back into Python while it compiles. If a signal handler raises an exception there (Ctrl-C: KeyboardInterrupt),
    both the exception and LLVM's result are lost, and the kernel then fails in this process with "no compiled object yet".
    """

    @functools.wraps(compile)
    def compiled(*arguments: Any) -> Any:
        with signals.held(), locks.released(), front_end.accelerated():
            return compile(*arguments)

    return compiled
