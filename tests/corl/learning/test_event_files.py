"""Event files: the curves of a training run as TensorBoard reads them. The bytes were compared with TensorBoard 2.21's reader."""

from __future__ import annotations

import struct

import pytest

from corl import train
from corl.errors import UsageError
from corl.files.event_files import EventFile, _checksum
from corl.store import Store


def varint(data, at):
    """(value, position behind it)."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def decoded(data):
    """Field number -> the last value of a message; bytes of nested ones are not decoded."""
    at, found = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            found[key >> 3], at = varint(data, at)
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if size is None:
            size, at = varint(data, at)
        found[key >> 3], at = data[at : at + size], at + size
    return found


def events(path):
    """The events of a file, whose checksums hold."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (length,) = struct.unpack("<Q", data[at : at + 8])
        assert data[at + 8 : at + 12] == _checksum(data[at : at + 8])
        body = data[at + 12 : at + 12 + length]
        assert data[at + 12 + length : at + 16 + length] == _checksum(body)
        found.append(decoded(body))
        at += 16 + length
    return found


def points(path):
    """(step, name, value) of the points of a file."""
    found = []
    for event in events(path)[1:]:
        point = decoded(decoded(event[5])[1])
        found.append((event[2], point[1].decode(), struct.unpack("<f", point[2])[0]))
    return found


def test_the_checksum():
    """The test vector of CRC-32C, 123456789 -> e3069283, with the format's mask."""
    assert struct.unpack("<I", _checksum(b"123456789"))[0] == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_points_and_runs(tmp_path):
    """A file a run, in a folder of its name; large steps and long names."""
    target = EventFile(tmp_path / "logs")
    target.add_curve("tsp imitation seed 0", 300, "loss", 0.5)
    target.add_curve("b", 2**40, "x" * 200, -2.0)
    target.add_curve("tsp imitation seed 0", 301, "loss", 0.25)
    (first,), (second,) = (list((tmp_path / "logs" / run).iterdir()) for run in ("tsp-imitation-seed-0", "b"))
    assert points(first) == [(300, "loss", 0.5), (301, "loss", 0.25)] and points(second) == [(2**40, "x" * 200, -2.0)]
    assert events(first)[0][3] == b"brain.Event:2" and first.name.startswith("events.out.tfevents.")


def test_a_training_writes_what_its_store_has(tmp_path):
    """The same points in both targets."""
    with Store(tmp_path / "runs.db", create=True) as store:
        arguments = {"size": 6, "width": 8, "batch": 4, "steps": 3, "workers": 0, "device": "cpu", "name": "r"}
        train("knapsack", "policy-gradient", store=store, logging=f"tensorboard:{tmp_path / 'logs'}", **arguments)
        curves = store.curves()["r"]
    (file,) = (tmp_path / "logs" / "r").iterdir()
    expected = {(int(step), name) for name, each in curves.items() for step, _ in each}
    assert {(step, name) for step, name, _ in points(file)} == expected and len(expected) > 3
    for step, name, value in points(file):
        assert value == pytest.approx(dict(curves[name])[step], rel=1e-6)


@pytest.mark.parametrize("logging", ["tensorboard", "tensorboard:", "wandb:x", 3])
def test_other_targets_are_refused(logging):
    """In one line, before anything is done."""
    with pytest.raises(UsageError, match=r"logging: .* is not accepted; accepted: tensorboard:FOLDER"):
        train("knapsack", "policy-gradient", steps=1, logging=logging)
