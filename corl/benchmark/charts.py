"""Line charts as inline SVG: colours come from the page's style sheet, so they follow its dark and light.

A chart is 400 x 290 units: its text is readable at a phone's width and not oversized at twice that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from corl.benchmark.curves import Curve

__all__ = ["Axis", "chart", "log_ticks", "percent", "spread"]

_WIDTH, _HEIGHT = 400, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 124, 12, 42
_LINE = 14.0  # units between the base lines of two labels
_LONGEST = 17  # characters of a label


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high`; a logarithmic one shows what is below `low` at its end, marked "0" with `zero`."""

    title: str
    low: float
    high: float
    log: bool = False
    zero: bool = False
    text: Callable[[float], str] = "{:g}".format

    def place(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where values stand, 0 at the low end and 1 at the high one."""
        if self.log:
            inside = np.log(np.clip(values, self.low, self.high))
            return np.asarray((inside - math.log(self.low)) / (math.log(self.high) - math.log(self.low)))
        return np.asarray((np.clip(values, self.low, self.high) - self.low) / (self.high - self.low))

    def ticks(self) -> list[tuple[float, str]]:
        """(value, text) of the marks."""
        values = log_ticks(self.low, self.high) if self.log else linear_ticks(self.low, self.high)
        marks = [(value, self.text(value)) for value in values]
        if self.zero:
            marks = [(self.low, "0"), *(mark for mark in marks if mark[0] > self.low * 1.01)]
        return marks


def percent(value: float) -> str:
    """A share of 1 as a tick's text."""
    return f"{100 * value:.10g} %"


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from `low` to `high`, every second or third where there are many; 1, 2, 5 where there are few."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / 6))
    powers = [10.0**k for k in range(first, last + 1, step)]
    if len(powers) > 2:
        return powers
    finer = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [value for value in finer if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)] or powers


def linear_ticks(low: float, high: float) -> list[float]:
    """About five round values from `low` to `high`."""
    raw = (high - low) / 4
    size = 10 ** math.floor(math.log10(raw))
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= raw * 0.999)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def chart(curves: Sequence[Curve], x: Axis, y: Axis, colours: Mapping[str, int], title: str, *, steps: bool = False) -> Markup:
    """The SVG of some curves, each labelled at its right end; `colours` gives every label the number of its CSS class."""
    parts = [
        Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(_WIDTH, _HEIGHT, title),
        _axes(x, y),
    ]
    for curve in curves:
        if curve.low is not None and curve.high is not None:
            path = _path(x, y, np.append(curve.x, curve.x[::-1]), np.append(curve.high, curve.low[::-1])) + "Z"
            parts.append(Markup('<path class="band {}" d="{}"/>').format(_class(colours, curve.label), path))
    for curve in curves:
        path = _path(x, y, curve.x, curve.y, steps)
        shown = Markup('<path class="line {}" d="{}"><title>{}</title></path>')
        parts.append(shown.format(_class(colours, curve.label), path, curve.label))
    parts += [_labels(curves, x, y, colours), Markup("</svg>")]
    return Markup("").join(parts)


def _class(colours: Mapping[str, int], label: str) -> str:
    number = colours[label]
    return f"c{number % 8}" + (f" dash{number // 8 % 3}" if number >= 8 else "")


def _across(axis: Axis, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_LEFT + axis.place(values) * (_WIDTH - _LEFT - _RIGHT))


def _up(axis: Axis, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(_HEIGHT - _BOTTOM - axis.place(values) * (_HEIGHT - _TOP - _BOTTOM))


def _path(x: Axis, y: Axis, xs: NDArray[np.float64], ys: NDArray[np.float64], steps: bool = False) -> str:
    if steps:
        xs, ys = np.repeat(xs, 2)[1:], np.repeat(ys, 2)[:-1]
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(_across(x, xs).tolist(), _up(y, ys).tolist()))


def _axes(x: Axis, y: Axis) -> Markup:
    left, right, bottom = _LEFT, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [f'<path class="axis" d="M{left} {bottom}H{right}"/>']
    for value, text in y.ticks():
        at = float(_up(y, np.array([value]))[0])
        parts.append(f'<path class="rule" d="M{left} {at:.1f}H{right}"/>')
        parts.append(f'<text class="tick" x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{escape(text)}</text>')
    for value, text in x.ticks():
        at = float(_across(x, np.array([value]))[0])
        parts.append(f'<path class="axis" d="M{at:.1f} {bottom}v4"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{escape(text)}</text>')
    parts.append(f'<text class="title" x="{(left + right) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(x.title)}</text>')
    return Markup("".join(parts))


def _labels(curves: Sequence[Curve], x: Axis, y: Axis, colours: Mapping[str, int]) -> Markup:
    """Every curve's name beside its end, moved apart, with a thin line to where the curve ends."""
    right = _WIDTH - _RIGHT
    ends = [(float(_across(x, c.x[-1:])[0]), float(_up(y, c.y[-1:])[0])) for c in curves]
    places = spread([at for _, at in ends], _LINE, _TOP + 4, _HEIGHT - _BOTTOM)
    parts = []
    for curve, (across, up), place in zip(curves, ends, places):
        text = curve.label if len(curve.label) <= _LONGEST else curve.label[: _LONGEST - 1] + "…"
        leader = Markup('<path class="leader {0}" d="M{1:.1f} {2:.1f}L{3} {4:.1f}"/>')
        label = Markup('<text class="label {0}" x="{1}" y="{2:.1f}">{3}</text>')
        kind = _class(colours, curve.label)
        parts.append(leader.format(kind, across, up, right + 9, place) + label.format(kind, right + 12, place + 4, text))
    return Markup("").join(parts)


def spread(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Places at least `distance` apart (less where they do not fit), in the order of `wanted` and close to it."""
    count = len(wanted)
    distance = min(distance, (high - low) / max(1, count - 1))
    order = sorted(range(count), key=lambda k: wanted[k])
    places = [0.0] * count
    groups: list[tuple[float, list[int]]] = []  # (middle, members): members stand `distance` apart around the middle
    for k in order:
        members, middle = [k], wanted[k]
        while True:
            half = distance * (len(members) - 1) / 2
            middle = min(max(middle, low + half), high - half)
            if not groups or groups[-1][0] + distance * (len(groups[-1][1]) - 1) / 2 + distance <= middle - half + 1e-9:
                break
            members = groups.pop()[1] + members
            middle = sum(wanted[m] for m in members) / len(members)
        groups.append((middle, members))
    for middle, members in groups:
        for number, k in enumerate(members):
            places[k] = middle + distance * (number - (len(members) - 1) / 2)
    return places
