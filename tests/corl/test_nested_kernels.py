"""corl.jit.kernel: kernels that kernels call, Python calls, or both."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

NESTED = """
import pickle
from numba.core import serialize
from corl.jit import kernel

@kernel
def low(x, k):
    if k < 0:
        raise ValueError("negative", k)
    return 2 * x + k

@kernel
def middle(x):
    return low(x, 1) + 1

@kernel
def top(x):
    return middle(x) + low(x, 3)

@kernel
def fails(x, k):
    return low(x, k)

@kernel
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

@kernel
def after(n):
    return fibonacci(n) + 1

@kernel
def even(n):
    return True if n == 0 else odd(n - 1)

@kernel
def odd(n):
    return False if n == 0 else even(n - 1)

@kernel
def parity(n):
    return even(n)

def error(kernel, k):
    try:
        kernel(1, k)
    except ValueError as found:
        return found.args

def copy(kernel):
    return pickle.loads(serialize.dumps(kernel))
"""
CALLS = {
    "top(1), middle(1), low(1, 1), top(2.5), low(2.5, 0)": "(9, 4, 3, 15.0, 5.0)",
    "low(1, 1), middle(1), low(1, 1), top(1)": "(3, 4, 3, 9)",
    "error(fails, -5), error(low, -6), error(fails, -7)": "(('negative', -5), ('negative', -6), ('negative', -7))",
    "after(10), fibonacci(10), fibonacci(9.0)": "(56, 55, 34.0)",
    "copy(top)(1), copy(low)(3, 4)": "(9, 10)",
}


@pytest.mark.parametrize(
    "calls",
    [
        pytest.param(list(CALLS), id="nested first"),
        pytest.param(list(reversed(CALLS)), id="alone first", marks=pytest.mark.long),
    ],
)
def test_a_kernel_may_be_called_by_kernels_and_from_python(tmp_path, calls):
    """Whatever called it first, and whether it was compiled in this process, by an earlier one, or both."""
    (tmp_path / "nested.py").write_text(NESTED)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CORL_CACHE": str(tmp_path / "cache")}
    for part in (calls[:1], calls[1:3], calls, reversed(calls)):
        code = "from nested import *\n" + "\n".join(f"assert str(({one})) == {CALLS[one]!r}, ({one})" for one in part)
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_kernels_that_call_each_other_in_turn(tmp_path):
    """Machine code of both is made, also where a third kernel calls them: they find each other by address."""
    (tmp_path / "nested.py").write_text(NESTED)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CORL_CACHE": str(tmp_path / "cache")}
    code = "from nested import *; print(parity(10), even(3), odd(3), odd(2))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout == "True False True False\n", done.stderr


def test_what_only_kernels_call_has_no_machine_code(tmp_path, monkeypatch):
    """Such a kernel is neither wrapped for Python nor emitted, in memory and on disk, until Python calls it."""
    (tmp_path / "unemitted.py").write_text(NESTED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CORL_CACHE", str(tmp_path / "cache"))
    import unemitted

    def bare_on_disk():
        return {file.name.partition("-")[0]: ".bare." in file.name for file in (tmp_path / "cache").rglob("*.nbc")}

    def emitted(kernel):
        return [result.library._has_code for result in kernel.overloads.values()]

    assert unemitted.middle(1) == 4
    assert emitted(unemitted.low) == [False] and emitted(unemitted.middle) == [True]
    assert bare_on_disk() == {"unemitted.low": True, "unemitted.middle": False}
    assert unemitted.low(1, 1) == 3
    assert True in emitted(unemitted.low)
