"""Shared by the tests of static allocation's solvers: the fixtures of the problem's own tests."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

_problem = run_path(str(Path(__file__).parents[2] / "problems" / "memory_static" / "conftest.py"))
random_instance, lowest = _problem["random_instance"], _problem["lowest"]
