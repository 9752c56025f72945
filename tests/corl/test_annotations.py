"""What mypy checks: everything, strictly, but that kernels may have no annotations in files that say so themselves."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS, NUMBA = "# mypy: allow-untyped-defs", "# mypy: allow-untyped-calls"
"""The only exemptions: kernels may have no annotations, and corl/compilation may call numba's functions, which have none.

What such kernels do is still checked (check_untyped_defs, of `strict`).
"""


def exemptions() -> Iterator[tuple[Path, str]]:
    """The lines that change mypy's settings for their file."""
    for top in ("corl", "problems", "solvers"):
        for file in sorted((ROOT / top).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if "# mypy:" in text:
                yield from ((file, line) for line in text.splitlines() if line.startswith("# mypy:"))


def is_kernel(function: ast.FunctionDef) -> bool:
    """Whether `corl.jit.kernel`, with options or without, decorates it."""
    decorators = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return any(isinstance(each, ast.Name) and each.id == "kernel" for each in decorators)


def is_annotated(function: ast.FunctionDef) -> bool:
    """Whether each of its arguments has a type; a kernel has neither `self` nor `*arguments`."""
    arguments = function.args
    return all(each.annotation for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if each.arg != "self")


def test_no_module_is_exempt_by_the_project():
    """pyproject has one strict setting for all modules."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings.pop("strict") is True
    assert set(settings) == {"python_version", "ignore_missing_imports", "disable_error_code"}
    assert settings["disable_error_code"] == ["type-arg"]


def test_files_exempt_themselves_for_kernels_alone():
    """A file with an exemption has kernels without annotations, and no other function without."""
    found = list(exemptions())
    assert found
    for file, line in found:
        name = file.relative_to(ROOT)
        if line == NUMBA and name.parts[:2] == ("corl", "compilation"):
            continue
        assert line == KERNELS, f"{name}: {line}"
        tree = ast.parse(file.read_text(encoding="utf-8"))
        bare = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and not is_annotated(node)]
        assert bare, f"{name} needs no exemption"
        plain = [function.name for function in bare if not is_kernel(function)]
        assert not plain, f"{name}: no kernels, and so to be annotated: {plain}"


@pytest.mark.parametrize(
    ("source", "kernel", "annotated"),
    [
        ("@kernel\ndef f(x): ...", True, False),
        ("@kernel(borrow=True)\ndef f(x: int, y): ...", True, False),
        ("def f(x): ...", False, False),
        ("@cache\ndef f(x: int) -> int: ...", False, True),
    ],
)
def test_what_counts_as_a_kernel_and_as_annotated(source, kernel, annotated):
    """The reading of the other test, on small functions."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert (is_kernel(function), is_annotated(function)) == (kernel, annotated)
