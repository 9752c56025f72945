"""Event files of TensorBoard: curves of training runs, for `tensorboard --logdir FOLDER`. Writing them needs no further package.

A file is a sequence of records: the length of the data (8 bytes), a checksum of the length, the data, and a checksum of the data
(4 bytes each, little-endian). The data are an `Event` in the encoding of Protocol Buffers; the fields used here are

    Event:   1 wall_time (double), 2 step (int64), 3 file_version (text), 5 summary (Summary)
    Summary: 1 value (Value, repeated)
    Value:   1 tag (text), 2 simple_value (float)
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

__all__ = ["EventFile"]

_POLYNOMIAL = 0x82F63B78  # of the checksum CRC-32C, reversed
_DOUBLE, _VARINT, _BYTES, _FLOAT = 1, 0, 2, 5  # wire types of Protocol Buffers


class EventFile:
    """A new event file in the folder FOLDER/RUN of each run, made when the run's first point is added."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._paths: dict[str, Path] = {}

    def add_curve(self, run: str, step: float, name: str, value: float) -> None:
        """Add a point to a run's curve `name`, as `Store.add_curve` does; a point of a repeated step does not replace the other.

        Raises OSError if it cannot be written.
        """
        point = _field(1, _BYTES, name.encode()) + _field(2, _FLOAT, struct.pack("<f", value))
        event = _event(_field(2, _VARINT, _varint(int(step))) + _field(5, _BYTES, _field(1, _BYTES, point)))
        if run not in self._paths:
            folder = self.folder / "".join("-" if letter in '/\\:*?"<>| ' else letter for letter in run)
            folder.mkdir(parents=True, exist_ok=True)
            self._paths[run] = folder / f"events.out.tfevents.{time.time_ns()}.corl.{os.getpid()}"
            event = _event(_field(3, _BYTES, b"brain.Event:2")) + event
        with open(self._paths[run], "ab") as file:
            file.write(event)


def _event(fields: bytes) -> bytes:
    """Return an event with the current time as a record."""
    data = _field(1, _DOUBLE, struct.pack("<d", time.time())) + fields
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def _field(number: int, wire: int, content: bytes) -> bytes:
    key = _varint(number << 3 | wire)
    return key + _varint(len(content)) + content if wire == _BYTES else key + content


def _varint(value: int) -> bytes:
    """Return an integer from 0 as a varint: seven bits a byte, the least first, with the high bit set in all but the last."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _checksum(data: bytes) -> bytes:
    """Return the masked CRC-32C of the format."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
