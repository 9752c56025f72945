"""Kernels that only other kernels call are stored as bitcode, without a wrapper for Python and without machine code.

numba by itself gives every function a wrapper for Python (code that unpacks each field of a NamedTuple of arrays) and machine
code. It also generates machine code for each function of numba's own library that is called. If the caller is compiled too, all
this is in vain: the caller links the bitcode of the functions that it calls into its own, and generates machine code from that.

Here a kernel that is compiled because another kernel calls it is *bare*: it has neither wrapper nor machine code, hence no
address, and is not in Python's table of the kernel's compiled signatures. A call from Python compiles the kernel again, this
time *whole*. The results are the same. Its code is optimised only as far as numba does before it counts references; the callers
optimise it again together with their own.

While a kernel of corl is compiled, the machine code of a library is generated only when the address of one of its functions is
requested, which never happens for functions of numba's own library. (This relies on internals of numba: see `_TESTED`.)
"""

# mypy: allow-untyped-calls
# numba's own functions have no types.

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numba
from llvmlite import binding, ir
from numba.core import codegen, compiler, sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment
from numba.core.runtime.nrt import rtsys

from corl.compilation import cache, shared_code

__all__ = ["install", "is_whole"]

_TESTED = (0, 68)
"""The version of numba with these internals. With any other version, kernels are compiled whole, as by numba itself."""
_INTEGER: Any = types.Integer  # Any, because type checkers do not know its members
# The following variables are changed under numba's compiler lock only.
_bare_stack: list[bool] = []  # for each kernel that is being compiled, the innermost last, whether it is compiled bare
_called_by_kernel = False  # whether the next call of `compile` is for a call within a kernel that is being compiled
_without_cell: dict[str, Environment] = {}  # name -> environment of a function; its cell, a global variable, does not exist yet
_replaced: list[Any] = []  # bare results that whole ones have replaced, kept because callers still use their environments


def install(kernel: Any, shared: bool) -> None:
    """Make a dispatcher compile bare results for calls from other kernels; if `shared`, they call its machine code by a name."""
    if tuple(int(part) for part in numba.__version__.split(".")[:2]) == _TESTED:
        _BitcodeOnly(kernel, shared)


class _BitcodeOnly:
    """The methods of a dispatcher that replace numba's."""

    def __init__(self, kernel: Any, shared: bool) -> None:
        self._kernel, self._shared = kernel, shared
        self._compile, self._template, self._add = kernel.compile, kernel.get_call_template, kernel.add_overload
        self._flags = kernel._compiler._customize_flags
        kernel.compile, kernel.get_call_template, kernel.add_overload = self.compile, self.get_call_template, self.add_overload
        kernel._compiler._customize_flags = self.customize_flags
        if shared:
            kernel.compile_shared = self.compile_shared

    @functools.cached_property
    def _bare_cache(self) -> Any:
        return cache.bare(self._kernel._cache)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the type of a call of the kernel in a function that numba compiles; numba's method calls `compile` for this.

        Types of constants are replaced by those of all integers or booleans, and narrow integers by int64: numba would compile
        the kernel for each constant and for each width.
        """
        args, kws = tuple(map(_widened, args)), {name: _widened(kind) for name, kind in kws.items()}
        global _called_by_kernel
        with global_compiler_lock:
            _called_by_kernel = bool(_bare_stack)
            try:
                return self._template(args, kws)
            finally:
                _called_by_kernel = False

    def compile(self, sig: Any) -> Any:
        """Compile the kernel bare if `get_call_template` asks for it, otherwise whole, even if a bare result exists."""
        global _called_by_kernel
        with global_compiler_lock, contextlib.ExitStack() as stack:
            bare, _called_by_kernel = _called_by_kernel, False
            kernel, (args, _) = self._kernel, sigutils.normalize_signature(sig)
            found = kernel.overloads.get(tuple(args))
            if not bare and found is not None and not is_whole(found):
                _replaced.append(kernel.overloads.pop(tuple(args)))
            if not _bare_stack:
                stack.enter_context(_code_at_request(kernel.targetctx.codegen()))
            _bare_stack.append(bare)
            stack.callback(_bare_stack.pop)
            if bare:
                bare_cache, whole_cache = self._bare_cache, kernel._cache
                stack.callback(setattr, kernel, "_cache", whole_cache)
                kernel._cache = bare_cache
            return self._compile(sig)

    def compile_shared(self, types: tuple[Any, ...]) -> None:
        """Compile the kernel, or load it, as if another kernel called it."""
        global _called_by_kernel
        with global_compiler_lock:
            _called_by_kernel = True
            self._kernel.compile(types)

    def customize_flags(self, flags: Any) -> Any:
        flags = self._flags(flags)
        if not _bare_stack[-1]:
            return flags
        bare = _Flags(flags)
        bare.no_cpython_wrapper = True  # type: ignore[assignment]
        return bare

    def add_overload(self, result: Any) -> None:
        """Add a result to Python's table only if it has an address: a call without one would end the process."""
        if is_whole(result):
            self._add(result)
        else:
            self._kernel.overloads[tuple(result.signature.args)] = result
        if self._shared:
            shared_code.register(self._kernel, result)


def _widened(kind: Any) -> Any:
    """Return int64 for the type of a signed integer, the type of all booleans for a constant one, any other type unchanged."""
    kind = types.unliteral(kind) if isinstance(kind, (types.IntegerLiteral, types.BooleanLiteral)) else kind
    return types.int64 if isinstance(kind, _INTEGER) and kind.signed else kind


def is_whole(result: Any) -> bool:
    """Return whether the result of a compilation has machine code that Python can call."""
    return bool(result.codegen._engine.is_symbol_defined(result.fndesc.llvm_cpython_wrapper_name))


class _Flags(compiler.Flags):
    """Flags of a bare kernel, with the name in machine code of the whole one.

    A kernel that this kernel calls, and that calls it back, derives its own name from this name.
    """

    def get_mangle_string(self) -> str:
        whole = compiler.Flags(self)
        whole.discard("no_cpython_wrapper")
        return str(whole.get_mangle_string())


class _Library(codegen.JITCodeLibrary):
    """A library whose machine code is generated when the address of a function in it is requested."""

    _has_code = False
    _is_simplified = False  # whether the code went through the first of numba's two optimisations only

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.symbols: dict[shared_code.Symbol, None] = {}  # the names that the code calls, in order

    def add_linking_library(self, library: Any) -> None:
        if isinstance(library, shared_code.Symbol):
            self.symbols[library] = None
        else:
            self.symbols |= dict.fromkeys(shared_code.needed_by(library))
            super().add_linking_library(library)

    def _optimize_final_module(self) -> None:
        """Optimise the code fully unless it is that of a bare kernel: the callers that link it optimise it again."""
        if _bare_stack and _bare_stack[-1]:
            self._is_simplified = True
            passes, builder = self._codegen._module_pass_manager(
                loop_vectorize=self._codegen._loopvect, slp_vectorize=False, opt=self._codegen._opt_level, cost="cheap"
            )
            passes.run(self._final_module, builder)
        else:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        names = [variable.name for variable in self._final_module.global_variables]
        if any(name.startswith(codegen.RuntimeLinker.PREFIX) for name in names):  # recursion: the callee is called by its address
            rtsys.library.get_pointer_to_function("nrt_unresolved_abort")  # numba uses it while an address is unknown
            self._make_code()
        elif getattr(self, "_compiled_object", None):  # from the cache
            self._make_code()
        else:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        if not self._has_code and any(function.name == name for function in self.get_defined_functions()):
            self._make_code()
        return int(super().get_pointer_to_function(name))

    def serialize_using_object_code(self) -> Any:
        return super().serialize_using_object_code() if self._has_code else self.serialize_using_bitcode()

    def _make_code(self) -> None:
        _create_cells(self._codegen)
        if self._is_simplified:
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)
        self._has_code = True
        super()._finalize_final_module()


@contextlib.contextmanager
def _code_at_request(jit: Any) -> Iterator[None]:
    """Within the block, create libraries of class `_Library`, and set environments only when machine code has their cells."""
    engine, set_env = jit._engine, jit.set_env

    def wait_for_cell(name: str, environment: Environment) -> None:
        if engine.is_symbol_defined(name):
            set_env(name, environment)
        else:
            _without_cell[name] = environment

    jit._library_class, jit.set_env = _Library, wait_for_cell
    try:
        yield
    finally:
        del jit._library_class, jit.set_env
        _create_cells(jit)


def _create_cells(jit: Any) -> None:
    """Create the missing cells and set their environments; machine code refers to the cells by name."""
    if not _without_cell:
        return
    module = jit._create_empty_module("environments")
    for name in _without_cell:
        cell = ir.GlobalVariable(module, ir.IntType(8).as_pointer(), name)
        cell.linkage, cell.initializer = "common", cell.type.pointee(None)
    jit._add_module(binding.parse_assembly(str(module)))
    jit._engine.finalize_object()
    for name, environment in _without_cell.items():
        codegen.JITCPUCodegen.set_env(jit, name, environment)
    _without_cell.clear()
