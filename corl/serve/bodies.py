"""Bodies of HTTP requests: read in parts and decompressed in parts, so that none exceeds the limit by more than a part."""

from __future__ import annotations

import asyncio
import zlib

from starlette.exceptions import HTTPException
from starlette.requests import Request

__all__ = ["read_body"]

_SECONDS = 60.0  # in which a client must have sent its request
_GZIP_BITS = 31  # of zlib: a gzip header and a checksum


async def read_body(request: Request, most: int) -> bytes:
    """Return the JSON text that a client sends, decompressed if its encoding is gzip.

    Raises HTTPException: 408 for a slow client, 413 for more than `most` bytes, before or after decompression, 415 for another
    type or encoding, 400 for damaged data.
    """
    # A browser asks before it sends this type to another site's server, and the server does not allow it.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "Content-Type: accepted: application/json")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise HTTPException(415, "Content-Encoding: accepted: gzip, identity")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(_SECONDS):
            return await _received(request, most, encoding == "gzip")
    except TimeoutError:
        raise HTTPException(408, f"the request did not arrive within {_SECONDS:g} s") from None


async def _received(request: Request, most: int, packed: bool) -> bytes:
    body, unpack = bytearray(), zlib.decompressobj(_GZIP_BITS)
    async for part in request.stream():
        if packed:
            try:
                part = unpack.decompress(part, most + 1 - len(body))
            except zlib.error as error:
                raise HTTPException(400, f"damaged gzip data ({error}); accepted: one whole gzip stream") from None
        body += part
        if len(body) > most or unpack.unconsumed_tail:
            raise _too_large(most)
    if packed and (not unpack.eof or unpack.unused_data):
        raise HTTPException(400, "damaged gzip data; accepted: one whole gzip stream")
    return bytes(body)


def _too_large(most: int) -> HTTPException:
    return HTTPException(413, f"the request is too large; accepted: up to {most:,} bytes, also after decompression")
