"""Pipes: messages between the processes of corl. A message is a pickle, preceded by its length, an 8-byte integer."""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import IO, Any

from corl.errors import UsageError

__all__ = ["pickled", "receive", "receive_bytes", "send", "send_bytes"]


def pickled(message: Any, what: str) -> bytes:
    """Return a pickled message. Raises UsageError if it cannot be pickled, or the other process could not import its classes.

    `what`: the words for the content of the message in the error, such as "an instance and options".
    """
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, protocol=5).dump(message)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"workers need {what} that pickle: {error}") from error
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    """A pickler that refuses objects of __main__, which the other process could not import."""

    def reducer_override(self, item: Any, /) -> Any:
        if isinstance(item, (type, FunctionType)) and item.__module__ == "__main__":
            raise UsageError(f"workers cannot import {item.__qualname__} from a script or a notebook; put it into a module")
        return NotImplemented


def send(pipe: IO[bytes], message: Any) -> None:
    """Send a message."""
    send_bytes(pipe, pickle.dumps(message, protocol=5))


def send_bytes(pipe: IO[bytes], body: bytes) -> None:
    """Send a message that is pickled already."""
    pipe.write(len(body).to_bytes(8, "little"))
    pipe.write(body)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Return the next message. Raises EOFError if the other side is gone."""
    return pickle.loads(receive_bytes(pipe))


def receive_bytes(pipe: IO[bytes]) -> bytes:
    """Return the next message, still pickled. Raises EOFError if the other side is gone."""
    size = int.from_bytes(pipe.read(8), "little")
    body = pipe.read(size)
    if not body or len(body) < size:
        raise EOFError
    return body
