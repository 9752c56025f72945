"""Numbers as text, for the terminal and for reports."""

from __future__ import annotations

import math

__all__ = ["duration", "memory", "percent", "seconds", "value"]

_DIGITS = ((100, 0), (10, 1), (1, 2), (5e-4, 3))  # (least percentage, digits after the point)


def value(x: float | None) -> str:
    """Return a value as text: an integer in full, another number to seven significant digits, None as a dash."""
    if x is None:
        return "-"
    return f"{x:.0f}" if float(x).is_integer() and abs(x) < 1e15 else f"{x:.7g}"


def percent(gap: float | None) -> str:
    """Return a relative gap as a percentage with at most three decimals (3.40 %); below 0.0005 % with one significant digit."""
    if gap is None or math.isnan(gap):
        return "–"
    x = abs(100 * gap)
    if x == 0 or math.isinf(x):
        return "∞" if x else "0 %"
    if x < 1e-6:
        return "≈0 %"
    digits = next((digits for least, digits in _DIGITS if x >= least), -math.floor(math.log10(x)))
    return f"{'−' if gap < 0 else ''}{x:,.{digits}f} %"


def seconds(time: float | None) -> str:
    """Return a time as text with three significant digits, from 100 s on without decimals."""
    if time is None:
        return "–"
    return f"{time:,.0f} s" if time >= 100 else f"{time:.3g} s"


def duration(time: float) -> str:
    """Return a time in seconds as text in seconds, minutes, hours or days, with at most two digits after the point."""
    for unit, size in (("d", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if time >= 2 * size:
            return f"{time / size:.3g} {unit}"
    return f"{time:.0f} s"


def memory(size: float | None) -> str:
    """Return a number of bytes as text in binary megabytes or gigabytes."""
    if size is None:
        return "–"
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
