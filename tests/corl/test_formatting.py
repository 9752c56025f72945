"""Numbers for people."""

from __future__ import annotations

import math

from corl.formatting import duration, memory, percent, seconds, value


def test_numbers_read_well():
    """Percentages have the digits that matter."""
    shown = [percent(x) for x in (None, 0.0, 1e-12, 3e-7, 1.2e-4, 0.00345, 0.0345, 0.345, 3.45, -0.02, math.inf)]
    assert shown == ["–", "0 %", "≈0 %", "0.00003 %", "0.012 %", "0.345 %", "3.45 %", "34.5 %", "345 %", "−2.00 %", "∞"]


def test_other_numbers():
    """Times, sizes and objectives; what is unknown is a dash."""
    assert [seconds(x) for x in (None, 0.01234, 12.34, 1234.5)] == ["–", "0.0123 s", "12.3 s", "1,234 s"]
    assert [duration(x) for x in (59.6, 119.0, 120.0, 5000.0, 10_000.0, 200_000.0)] == [
        "60 s", "119 s", "2 min", "83.3 min", "2.78 h", "2.31 d",
    ]  # fmt: skip
    assert [memory(x) for x in (None, 2**27, 3 * 2**29)] == ["–", "128 MiB", "1.5 GiB"]
    assert [value(x) for x in (None, 7544.0, 7544.3656, 1e300)] == ["-", "7544", "7544.366", "1e+300"]
