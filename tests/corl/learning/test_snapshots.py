"""Snapshots and curves: nested state to the bit, and points that depend on the steps alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from corl.errors import InputError
from corl.learning import snapshots
from corl.learning.curves import Curves

SCALARS = st.none() | st.booleans() | st.integers(-(2**130), 2**130) | st.floats(allow_nan=False) | st.text(max_size=5)
STATES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(STATES)
def test_nested_values_come_back(tmp_path_factory, state):
    """Scalars, big integers, lists, tuples and dicts with integer keys are the same again, types and all."""
    path = tmp_path_factory.mktemp("s") / "a.safetensors"
    snapshots.write(path, state)
    assert repr(snapshots.read(path)) == repr(state)


def test_arrays_and_tensors_come_back_to_the_bit(tmp_path):
    """Every dtype that networks, optimisers and generators have, empty and scalar shapes, NaN and shared storage."""
    shared = torch.arange(4.0)
    arrays = [np.array([1, 2**64 - 1], np.uint64), np.zeros((0, 3)), np.array(5.0), np.array([True, False]), np.float32(math.nan)]
    dtypes = ("i1", "u1", "i2", "u2", "i4", "u4", "f2", "f4", "f8")
    arrays += [np.arange(6, dtype=dtype).reshape(2, 3)[:, ::2] for dtype in dtypes]
    tensors = [shared, shared[:2], shared.to(torch.bfloat16), torch.tensor(3), torch.randn(2, 3).T, torch.zeros(2, dtype=bool)]
    snapshots.write(tmp_path / "a.safetensors", {"arrays": arrays, "tensors": tensors})
    found = snapshots.read(tmp_path / "a.safetensors")
    for a, b in zip(arrays, found["arrays"]):
        if isinstance(a, np.ndarray):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
        else:
            assert math.isnan(b)
    for a, b in zip(tensors, found["tensors"]):
        assert a.dtype == b.dtype and torch.equal(a, b)


def test_what_cannot_be_kept_is_told(tmp_path):
    """An object of another class is a TypeError that names it, and nothing is written."""
    with pytest.raises(TypeError, match="a Curves cannot be kept in a snapshot"):
        snapshots.write(tmp_path / "a.safetensors", {"a": Curves("")})
    assert not list(tmp_path.iterdir())


def test_other_files_are_refused(tmp_path):
    """A checkpoint or a text file is no snapshot."""
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "a.safetensors")
    (tmp_path / "b.safetensors").write_text("hello")
    for name, words in (("a", "not a snapshot"), ("b", "damaged")):
        with pytest.raises(InputError, match=words):
            snapshots.read(tmp_path / f"{name}.safetensors")


class Kept:
    """Stands in for a store."""

    def __init__(self):
        self.points = {}

    def add_curve(self, run, step, name, value):
        self.points[name, step] = value


@given(st.integers(1, 400), st.integers(0, 400))
def test_curves_thin_out_and_resume_alike(steps, broken):
    """Points are means since the last one, hundreds for thousands of steps; broken off and resumed, they are the same."""
    whole, parts = Kept(), Kept()
    curves, first, second = Curves("r", whole), Curves("r", parts), Curves("r", parts)
    for step in range(steps):
        curves.add(step, {"x": float(step)})
    for step in range(min(steps, broken)):
        first.add(step, {"x": float(step)})
    first.flush()
    second.load_state_dict(first.state_dict())
    for step in range(min(steps, broken), steps):
        second.add(step, {"x": float(step)})
    curves.flush()
    second.flush()
    assert whole.points == parts.points
    assert all(whole.points["x", step] == step for step in range(min(steps, 100)))


def test_a_long_run_has_hundreds_of_points():
    """100,000 steps leave under a thousand points, none far from the next."""
    kept = Kept()
    curves = Curves("r", kept)
    for step in range(100_000):
        curves.add(step, {"one": 1.0})
    curves.flush()
    steps = sorted(step for _, step in kept.points)
    assert 400 < len(steps) < 1000 and set(kept.points.values()) == {1.0}
    assert np.diff(steps).max() <= 0.011 * 100_000
