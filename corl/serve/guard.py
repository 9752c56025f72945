"""Guard: the token that clients must send, and the host names under which browsers may call a server without a token."""

from __future__ import annotations

import base64
import binascii
import hmac

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["LOOPBACK", "Guard"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The hosts that only programs of this machine reach."""
_OPEN = ("/health",)  # paths without data of clients


class Guard:
    """ASGI middleware. With a token, a request must have the header `Authorization: Bearer TOKEN`, or the token as the password
    of HTTP's basic authentication, for which browsers ask. Without one, the header Host must name this machine, so that no page
    of another site can call the server under a name of its own.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _OPEN:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._token:
            if _host(headers.get("host", "")) not in LOOPBACK:
                response = JSONResponse({"error": f"Host: accepted: {', '.join(LOOPBACK)}"}, 421)
                await response(scope, receive, send)
                return
        elif not hmac.compare_digest(_given(headers.get("authorization", "")), self._token):
            challenge = {"WWW-Authenticate": 'Basic realm="corl", charset="UTF-8"'}
            response = JSONResponse({"error": "Authorization: accepted: Bearer TOKEN, or TOKEN as a password"}, 401, challenge)
            await response(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _given(authorization: str) -> bytes:
    """Return the token in the header Authorization; b"" if there is none."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip().encode("utf-8", "replace")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except (binascii.Error, ValueError):
            return b""
    return b""


def _host(value: str) -> str:
    """Return the host in the header Host, without the port."""
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.rpartition(":")[0] or value
