"""Features of a partial path in the plane, which a network sees as a path from the last node to the end within what is left.

The state is equivalent to a smaller instance (Drakulic et al., NeurIPS 2023). It is moved, rotated, mirrored and scaled into one
frame. The nodes that can be visited lie in an ellipse whose foci are the last node and the end, and whose longer axis is the
length left; the frame's unit is half this length, and its origin the centre. Its first axis points to the end or, if the last
node is at the end, to the centroid of the scores. The sum of score * y ** 3 is not negative (that of score * y may be 0). So the
features do not change when the plane is moved, rotated, mirrored or scaled, or when the scores are scaled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import UsageError
from corl.jit import kernel
from corl.tokens import Tokens

__all__ = ["TOKENS", "plane", "write_features"]

TOKENS = 20
"""The number of features of a token."""
(
    _X, _Y, _FROM_LAST, _TO_END, _DETOUR, _SCORE, _BEST_SCORE, _LOG_FROM_LAST, _LOG_TO_END, _LOG_DETOUR, _PER_DISTANCE,
    _PER_DETOUR, _NEAREST, _AROUND, _FAR_AROUND, _LENGTH_LEFT, _COUNT, _TOTAL, _IS_LAST, _IS_END,
) = range(TOKENS)  # fmt: skip
_FAR = 3.0  # the wider neighbourhood's radius over the narrow one's
_LARGEST = 20.0  # larger features are replaced by this


def plane(observation: Mapping[str, NDArray[Any]]) -> Tokens:
    """Return K + 2 tokens for an observation of PlaneEnvironment: the K slots of listed nodes, the last node, the end.

    `Tokens.scale`, the unit of values and rewards, is the sum of the listed scores. Raises UsageError for other observations.
    """
    if "points" not in observation:
        raise UsageError("the features 'plane' are for the environment 'plane'; accepted for others: 'nodes'")
    mask = np.ascontiguousarray(observation["mask"])
    x = np.zeros((*mask.shape, TOKENS), np.float32)
    write_features(mask, observation["points"], observation["scores"], observation["left"], x)
    total = observation["scores"].sum(axis=1)
    return Tokens(x, mask, None, np.where(total > 0, total, 1.0))


@kernel
def write_features(mask: Any, points: Any, scores: Any, left: Any, x: Any) -> None:
    """Write the features of R states to `x`, in place.

    Args:
        mask: bool [R, K + 2], the used slots.
        points: float64 [R, K + 2, 2], the coordinates of the listed nodes, of the last node and of the end.
        scores: float64 [R, K], the scores of the listed nodes.
        left: float64 [R], the length left.
        x: float32 [R, K + 2, TOKENS], zero.
    """
    rows, tokens = mask.shape
    frame, listed = np.empty((tokens, 2)), np.empty(tokens, np.int64)
    for row in range(rows):
        count = 0
        for slot in range(tokens - 2):
            if mask[row, slot]:
                listed[count] = slot
                count += 1
        _into_frame(points[row], scores[row], listed[:count], left[row], frame)
        _describe(frame, scores[row], listed[:count], x[row])


@kernel
def _into_frame(points: Any, scores: Any, listed: Any, left: Any, frame: Any) -> None:
    """Write the coordinates of the listed slots and of the two last slots in the state's frame to `frame`, in place."""
    last, end = len(points) - 2, len(points) - 1
    unit = 2.0 / max(left, 1e-300)
    middle_x, middle_y = 0.5 * (points[last, 0] + points[end, 0]), 0.5 * (points[last, 1] + points[end, 1])
    axis_x, axis_y = points[end, 0] - points[last, 0], points[end, 1] - points[last, 1]
    if math.hypot(axis_x, axis_y) <= 1e-6 * left:
        axis_x, axis_y = 0.0, 0.0
        for slot in listed:
            axis_x += scores[slot] * (points[slot, 0] - middle_x)
            axis_y += scores[slot] * (points[slot, 1] - middle_y)
    length = math.hypot(axis_x, axis_y)
    cosine, sine = (axis_x / length, axis_y / length) if length > 0.0 else (1.0, 0.0)
    above = 0.0
    for slot in range(len(points)):
        frame[slot] = 0.0
    for slot in listed:
        x, y = unit * (points[slot, 0] - middle_x), unit * (points[slot, 1] - middle_y)
        frame[slot, 0], frame[slot, 1] = cosine * x + sine * y, cosine * y - sine * x
        above += scores[slot] * frame[slot, 1] ** 3
    for slot in (last, end):
        x, y = unit * (points[slot, 0] - middle_x), unit * (points[slot, 1] - middle_y)
        frame[slot, 0], frame[slot, 1] = cosine * x + sine * y, cosine * y - sine * x
    if above < 0.0:
        for slot in range(len(points)):
            frame[slot, 1] = -frame[slot, 1]


@kernel
def _describe(frame: Any, scores: Any, listed: Any, x: Any) -> None:
    """Write the features of a state whose coordinates in its frame are `frame` to `x`, in place; the length left is 2 there."""
    last, end, count = len(frame) - 2, len(frame) - 1, len(listed)
    direct = math.hypot(frame[end, 0] - frame[last, 0], frame[end, 1] - frame[last, 1])
    total, best = 0.0, 0.0
    for slot in listed:
        total, best = total + scores[slot], max(best, scores[slot])
    mean = total / count if total > 0.0 else 1.0
    spacing = 1.0 / math.sqrt(count + 1.0)  # about that of as many nodes in a circle of radius 1
    for slot in (last, end):
        x[slot, _X], x[slot, _Y] = frame[slot, 0], frame[slot, 1]
        x[slot, _FROM_LAST], x[slot, _LOG_FROM_LAST] = direct, math.log1p(direct / spacing)
        x[slot, _LENGTH_LEFT], x[slot, _COUNT] = math.log1p(2.0 / spacing), count / 100.0
        x[slot, _TOTAL] = math.log1p(total / best) if best > 0.0 else 0.0
    x[last, _IS_LAST] = x[end, _IS_END] = 1.0
    for slot in listed:
        nearest, around, far_around = 2.0, 0.0, 0.0
        for other in listed:
            if other != slot:
                apart = (frame[slot, 0] - frame[other, 0]) ** 2 + (frame[slot, 1] - frame[other, 1]) ** 2
                nearest = min(nearest, apart)
                ratio = apart / (spacing * spacing)
                around += scores[other] / (1.0 + ratio * ratio)
                ratio /= _FAR * _FAR
                far_around += scores[other] / (1.0 + ratio * ratio)
        from_last = math.hypot(frame[slot, 0] - frame[last, 0], frame[slot, 1] - frame[last, 1])
        to_end = math.hypot(frame[slot, 0] - frame[end, 0], frame[slot, 1] - frame[end, 1])
        detour = max(0.0, from_last + to_end - direct)
        score = scores[slot] / mean
        own = x[slot]
        own[_X], own[_Y] = frame[slot, 0], frame[slot, 1]
        own[_FROM_LAST], own[_TO_END], own[_DETOUR] = from_last, to_end, detour
        own[_SCORE], own[_BEST_SCORE] = min(score, _LARGEST), scores[slot] / best if best > 0.0 else 0.0
        own[_LOG_FROM_LAST], own[_LOG_TO_END] = math.log1p(from_last / spacing), math.log1p(to_end / spacing)
        own[_LOG_DETOUR] = math.log1p(detour / spacing)
        own[_PER_DISTANCE] = min(score / (from_last / spacing + 0.1), _LARGEST)
        own[_PER_DETOUR] = min(score / (detour / spacing + 0.1), _LARGEST)
        own[_NEAREST] = math.sqrt(nearest) / spacing
        own[_AROUND], own[_FAR_AROUND] = math.log1p(around / mean), math.log1p(far_around / mean)
        own[_LENGTH_LEFT], own[_COUNT] = math.log1p(2.0 / spacing), count / 100.0
