"""Every kernel is tested as it is compiled and as the plain Python function that it was made of.

Arrays are int16, float32 or not contiguous: what Python calls is compiled for Python and kept so, and tests/record_kernels.py
would take it for a solver's if its types were those of a solver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(params=["compiled", "plain"])
def as_run(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Return the function to test of a kernel: itself, or its plain Python (kernels that it calls stay compiled)."""
    return (lambda kernel: kernel) if request.param == "compiled" else (lambda kernel: kernel.py_func)
