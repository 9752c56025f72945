"""The instances and the enumeration of the problem's own tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_PATH = Path(__file__).resolve().parents[2] / "problems" / "flowshop" / "conftest.py"
_spec = importlib.util.spec_from_file_location("flowshop_instances", _PATH)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
random_instance, worth, least = _module.random_instance, _module.worth, _module.least
