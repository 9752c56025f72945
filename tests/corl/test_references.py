"""corl.compilation.references and shared_code: kernels that take NamedTuples as pointers, and that call each other by name."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest

from corl.compilation import signatures
from corl.compilation.references import Reference
from corl.jit import by_reference, kernel


class Inner(NamedTuple):
    """A part of another NamedTuple."""

    table: np.ndarray
    count: int


class Outer(NamedTuple):
    """A field of each kind."""

    row: np.ndarray
    factor: float
    doubled: bool
    nothing: None
    inner: Inner
    out: np.ndarray
    small: np.int32


def made(**changes):
    """Return an Outer; its table is neither contiguous nor writable."""
    table = np.arange(24, dtype=np.int32).reshape(4, 6)[:, ::2]
    table.flags.writeable = False
    return Outer(np.arange(4.0), 2.5, True, None, Inner(table, 7), np.zeros((4, 2)), np.int32(-3))._replace(**changes)


@kernel(borrow=True)
def total(inner, k):
    """Return the sum of a row of the table and the count."""
    found = inner.count
    for column in range(inner.table.shape[1]):
        found += inner.table[k, column]
    return found


@kernel
def fill(record, nothing):
    """Write to `record.out`, in place; return a number that every field changes."""
    found = 0.0
    for k in range(len(record.row)):
        record.out[k, 1] += total(record.inner, k) * (2.0 if record.doubled else 1.0)
        found += record.row[k] * record.factor + record.small
    return found + (1000.0 if nothing is None else 0.0)


def test_kernels_see_the_same_fields():
    """A NamedTuple and its stand-in give the same results, also with other values of some fields."""
    for changes in ({}, {"factor": -1.0}, {"doubled": False}, {"row": np.ones(4)}):
        plain, stand_in = made(**changes), by_reference(made())._replace(**changes)
        assert fill(plain, None) == fill(stand_in, stand_in.nothing)
        assert np.array_equal(plain.out, stand_in.out) and (plain.out[:, 1] > 0).all()
        assert total(stand_in.inner, 1) == total(plain.inner, 1) and stand_in.inner.count == 7


def test_arrays_are_those_of_the_tuple():
    """Kernels write to the arrays that were given, and a stand-in of a stand-in is itself."""
    plain = made()
    stand_in = by_reference(plain)
    assert stand_in.out is plain.out and by_reference(stand_in) is stand_in
    fill(stand_in, None)
    assert plain.out.any()


def test_other_fields_are_refused():
    """A field that is neither a number nor an array, None or a NamedTuple of these."""
    with pytest.raises(TypeError, match="by reference"):
        by_reference(Inner((1, 2), 3))


def test_types_are_pickled_and_written():
    """A type is restored from a pickle, and from the record of a solver's kernels."""
    kind = numba.typeof(by_reference(made()))
    assert isinstance(kind, Reference) and pickle.loads(pickle.dumps(kind)) == kind
    classes: dict[str, object] = {}
    assert signatures.read(signatures.written(kind, classes), classes) == kind
    assert numba.typeof(by_reference(made(factor=0.0))) == kind != numba.typeof(by_reference(made(row=np.zeros(4, np.float32))))


MODULE = """
from corl.jit import kernel

@kernel(shared=True)
def deep(x):
    if x > 5:
        raise ValueError("too large", x)
    return 2 * x

@kernel(shared=True)
def shared(x):
    return deep(x) + 1

@kernel
def linked(x):
    return shared(x) + 1

@kernel
def first(x):
    return linked(x) + shared(x)

@kernel
def second(x):
    return deep(x)
"""
USE = """
import called
print(called.first(3), called.second(4), called.shared(1))
for kernel in (called.first, called.deep):
    try:
        kernel(9)
    except ValueError as found:
        print(found.args)
print(*(sum(kernel.stats.cache_misses.values()) for kernel in (called.first, called.second)))
"""


KILLED = """
import os, signal
from corl.compilation import shared_code
register = shared_code.register
def killed(kernel, result):
    if kernel.py_func.__name__ == "deep":  # compiled, not yet stored; its caller's compilation has begun
        os.kill(os.getpid(), signal.SIGKILL)
    register(kernel, result)
shared_code.register = killed
import called
called.first(3)
"""


def run(folder, script):
    """Run a script in a new process, which has the kernels in its path."""
    environment = os.environ | {"PYTHONPATH": str(folder), "CORL_CACHE": str(folder / "cache")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # bytecode of a source edited within its second would be taken for current
    return subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, env=environment)


def use(folder):
    """Use the kernels in a new process; return what it prints."""
    done = run(folder, USE)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_shared_kernels_are_found_by_later_processes(tmp_path):
    """Results and exceptions are the same when callers are loaded; a shared kernel that is damaged or gone is compiled again."""
    (tmp_path / "called.py").write_text(MODULE)
    results = ["15 8 3", "('too large', 9)", "('too large', 9)"]
    assert use(tmp_path) == [*results, "1 1"]
    assert use(tmp_path) == [*results, "0 0"]
    for number, file in enumerate(sorted((tmp_path / "cache").rglob("called.deep*.nbc"))):
        file.unlink() if number else file.write_bytes(file.read_bytes()[:-9])
    assert use(tmp_path) == [*results, "0 0"]


def test_an_edited_shared_kernel_is_compiled_again(tmp_path):
    """Its callers are stored for the digest of the sources, which the edit changes."""
    (tmp_path / "called.py").write_text(MODULE)
    use(tmp_path)
    (tmp_path / "called.py").write_text(MODULE.replace("return 2 * x", "return 3 * x"))
    assert use(tmp_path)[0] == "21 12 4"


def test_a_process_killed_while_it_compiles_a_shared_kernel_leaves_no_harm(tmp_path):
    """Its claim to the compilation ends with it, and the next process compiles and stores everything."""
    (tmp_path / "called.py").write_text(MODULE)
    assert run(tmp_path, KILLED).returncode == -signal.SIGKILL
    results = ["15 8 3", "('too large', 9)", "('too large', 9)"]
    assert use(tmp_path) == [*results, "1 1"]
    assert use(tmp_path) == [*results, "0 0"]
