"""Line charts as inline SVG: the page's style sheet sets the colours, for dark and for light mode.

A chart is 400 x 290 units: its text is readable at a phone's width and not oversized at twice that width.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from corl.benchmark.reporting.curves import Curve

__all__ = ["Axis", "chart", "log_ticks", "percent_tick", "spread"]

_WIDTH, _HEIGHT = 400, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 124, 12, 42  # margins in units; the left and the right one grow with long texts
_LINE = 14.0  # units between the base lines of two labels
_LETTER = 7.0  # width of a letter of a tick or a label, in units
_LINE_LETTERS = 24  # most characters in one line of a label


@dataclass(frozen=True)
class Axis:
    """A scale from `low` to `high`; values outside are drawn at its ends."""

    title: str
    low: float
    high: float
    log: bool = False
    """Whether the scale is logarithmic."""
    zero: bool = False
    """Whether the low end is labelled "0", because zeros are drawn there on a logarithmic scale."""
    text: Callable[[float], str] = "{:g}".format
    """Returns the text of a tick at a value."""

    def place(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions of values on the scale: 0 at the low end, 1 at the high end."""
        if self.log:
            logs = np.log(np.clip(values, self.low, self.high))
            return np.asarray((logs - math.log(self.low)) / (math.log(self.high) - math.log(self.low)))
        return np.asarray((np.clip(values, self.low, self.high) - self.low) / (self.high - self.low))

    def ticks(self) -> list[tuple[float, str]]:
        """Return (value, text) of the ticks."""
        values = log_ticks(self.low, self.high) if self.log else linear_ticks(self.low, self.high)
        marks = [(value, self.text(value)) for value in values]
        if self.zero:
            marks = [(self.low, "0"), *(mark for mark in marks if mark[0] > self.low * 1.01)]
        return marks


def percent_tick(value: float) -> str:
    """Return the text of a tick in per cent: "5 %" for 0.05."""
    return f"{100 * value:.10g} %"


def log_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten from `low` to `high`: at most about six; if they are only one or two, also times 2 and 5."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / 6))
    powers = [10.0**k for k in range(first, last + 1, step)]
    if len(powers) > 2:
        return powers
    finer = [m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [value for value in finer if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)] or powers


def linear_ticks(low: float, high: float) -> list[float]:
    """Return about five round values from `low` to `high`."""
    least_step = (high - low) / 4
    power = 10 ** math.floor(math.log10(least_step))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least_step * 0.999)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def chart(curves: Sequence[Curve], x: Axis, y: Axis, colours: Mapping[str, int], title: str, *, steps: bool = False) -> Markup:
    """Return the SVG of some curves, each labelled at its right end.

    Args:
        curves: The curves, with their bands.
        x, y: The axes.
        colours: Label of a curve -> the number of its CSS class.
        title: The description for screen readers.
        steps: Whether a value holds until the next point, instead of straight lines between points.
    """
    marks, names = [text for _, text in y.ticks()], [line for curve in curves for line in _lines(curve.label)]
    place = _Place(x, y, max(_LEFT, _width_of(marks) + 10), _WIDTH - max(_RIGHT, _width_of(names) + 16))
    parts = [
        Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(_WIDTH, _HEIGHT, title),
        _axes(place),
    ]
    for curve in curves:
        if curve.low is not None and curve.high is not None:
            path = place.path(np.append(curve.x, curve.x[::-1]), np.append(curve.high, curve.low[::-1])) + "Z"
            parts.append(Markup('<path class="band {}" d="{}"/>').format(_class(colours, curve.label), path))
    for curve in curves:
        path = place.path(curve.x, curve.y, steps)
        shown = Markup('<path class="line {}" d="{}"><title>{}</title></path>')
        parts.append(shown.format(_class(colours, curve.label), path, curve.label))
    parts += [_labels(curves, place, colours), Markup("</svg>")]
    return Markup("").join(parts)


@dataclass(frozen=True)
class _Place:
    """The place of a chart's axes: the x axis reaches from `left` to `right`, in units of the chart."""

    x: Axis
    y: Axis
    left: float
    right: float

    def across(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.left + self.x.place(values) * (self.right - self.left))

    def up(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(_HEIGHT - _BOTTOM - self.y.place(values) * (_HEIGHT - _TOP - _BOTTOM))

    def path(self, xs: NDArray[np.float64], ys: NDArray[np.float64], steps: bool = False) -> str:
        if steps:
            xs, ys = np.repeat(xs, 2)[1:], np.repeat(ys, 2)[:-1]
        return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(self.across(xs).tolist(), self.up(ys).tolist()))


def _width_of(texts: Sequence[str]) -> float:
    """Return the approximate width of the longest of some texts, in units of the chart."""
    return _LETTER * max(map(len, texts), default=0)


def _lines(label: str) -> list[str]:
    """Return a label as one line, or as two if it is long."""
    return textwrap.wrap(label, _LINE_LETTERS, break_on_hyphens=False, max_lines=2, placeholder="…")


def _class(colours: Mapping[str, int], label: str) -> str:
    number = colours[label]
    return f"c{number % 8}" + (f" dash{number // 8 % 3}" if number >= 8 else "")


def _axes(place: _Place) -> Markup:
    left, right, bottom = place.left, place.right, _HEIGHT - _BOTTOM
    parts = [f'<path class="axis" d="M{left:g} {bottom}H{right:g}"/>']
    for value, text in place.y.ticks():
        at = float(place.up(np.array([value]))[0])
        parts.append(f'<path class="rule" d="M{left:g} {at:.1f}H{right:g}"/>')
        parts.append(f'<text class="tick" x="{left - 6:g}" y="{at + 4:.1f}" text-anchor="end">{escape(text)}</text>')
    for value, text in place.x.ticks():
        at = float(place.across(np.array([value]))[0])
        parts.append(f'<path class="axis" d="M{at:.1f} {bottom}v4"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{escape(text)}</text>')
    middle = (left + right) / 2
    parts.append(f'<text class="title" x="{middle:g}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(place.x.title)}</text>')
    return Markup("".join(parts))


def _labels(curves: Sequence[Curve], place: _Place, colours: Mapping[str, int]) -> Markup:
    """Return the curves' names beside their right ends, each with a thin line to its curve; overlapping names are moved apart."""
    ends = [(float(place.across(c.x[-1:])[0]), float(place.up(c.y[-1:])[0])) for c in curves]
    names = [_lines(curve.label) for curve in curves]
    most_lines = max(map(len, names), default=1)
    heights = spread([at for _, at in ends], _LINE * most_lines, _TOP + 4, _HEIGHT - _BOTTOM)
    parts = []
    for curve, (across, up), height, lines in zip(curves, ends, heights, names):
        leader = Markup('<path class="leader {0}" d="M{1:.1f} {2:.1f}L{3:g} {4:.1f}"/>')
        kind, right = _class(colours, curve.label), place.right
        parts.append(leader.format(kind, across, up, right + 9, height))
        for number, line in enumerate(lines):
            down = height + 4 + (number - (len(lines) - 1) / 2) * 0.85 * _LINE
            label = Markup('<text class="label {0}" x="{1:g}" y="{2:.1f}">{3}</text>')
            parts.append(label.format(kind, right + 12, down, line))
    return Markup("").join(parts)


def spread(wanted: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """Return positions from `low` to `high` close to `wanted`, in the same order.

    They are at least `distance` apart, or evenly spaced closer if `low` to `high` is too short for them.
    """
    count = len(wanted)
    distance = min(distance, (high - low) / max(1, count - 1))
    order = sorted(range(count), key=lambda k: wanted[k])
    places = [0.0] * count
    groups: list[tuple[float, list[int]]] = []  # (middle, indices into wanted): positions `distance` apart around the middle
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
