"""Live: the page of an instance while it is solved, at an address that only this machine reaches."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError
from corl.formatting import percent, value
from corl.result import relative_gap
from corl.run import Improvement
from corl.view.page import page

if TYPE_CHECKING:
    from corl.adapter import Problem
    from corl.result import Result

__all__ = ["LivePage"]

_SHARE = 0.02  # processor time of rendering, as a share of the time
_WATCHED = 5.0  # seconds after a request in which a browser counts as watching
_LAST = 3.0  # seconds in which a watching browser may fetch the last page


class LivePage:
    """A context manager: a thread answers browsers with the page of the best solution so far.

    At the end, it waits a moment for browsers that watch, so that they show the result.
    """

    def __init__(self, problem: Problem, instance: Any) -> None:
        self._problem, self._instance = problem, instance
        self._news: Improvement | None = None
        self._trace: list[tuple[float, float | None, float | None]] = []
        self._number = 0  # of the state that a page would show
        self._rendered, self._html, self._due = -1, "", 0.0  # the number and the text of the last page, and when to render again
        self._final: Callable[[], str] | None = None
        self._asked = -_WATCHED
        self._lock, self._fetched = threading.Lock(), threading.Event()
        self._path = f"/{secrets.token_urlsafe(12)}"  # so that no other page can guess the address

    def __enter__(self) -> LivePage:
        live = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                live._answer(self)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        except OSError as error:
            raise UsageError(f"--live: no address at 127.0.0.1: {error.strerror}") from error
        self._server.daemon_threads = True
        self._render()  # the first time takes long, because of imports
        self._due = 0.0
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None and time.monotonic() - self._asked < _WATCHED:
            with contextlib.suppress(KeyboardInterrupt):
                self._fetched.wait(_LAST)
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self._path}"

    def update(self, news: Improvement) -> None:
        """Show an improvement; for `on_improvement`."""
        self._news = news
        self._trace.append((news.runtime, news.objective, news.bound))
        self._number += 1

    def finish(self, result: Result) -> None:
        """Show the result, and end the updates of browsers."""
        with self._lock:
            self._number += 1
            self._due, self._final = 0.0, result.page

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a browser with the page, or say that it has not changed."""
        if request.path != self._path:
            request.send_error(404)
            return
        with self._lock:
            self._asked, final = time.monotonic(), self._final is not None
            if self._number != self._rendered and time.monotonic() >= self._due:
                self._render()
            mark, body = f'"{self._rendered}"', self._html.encode()
        known = request.headers.get("If-None-Match") == mark
        request.send_response(304 if known else 200)
        for name, text in {"Content-Type": "text/html; charset=utf-8", "ETag": mark, "Cache-Control": "no-store"}.items():
            request.send_header(name, text)
        request.send_header("Content-Length", str(0 if known else len(body)))
        request.end_headers()
        if not known:
            with contextlib.suppress(OSError):  # the browser is gone
                request.wfile.write(body)
        if final:
            self._fetched.set()

    def _render(self) -> None:
        """Render the page again. The lock is held."""
        before, number, news = time.thread_time(), self._number, self._news
        if self._final is not None:
            self._html = self._final()
        else:
            facts = _facts(news or Improvement(0.0, None, None))
            solution = None if news is None else news.solution
            self._html = page(self._problem, self._instance, solution, facts, tuple(self._trace), live=True)
        self._rendered = number
        self._due = time.monotonic() + (time.thread_time() - before) / _SHARE


def _facts(news: Improvement) -> list[tuple[str, str]]:
    """Return names and values of an improvement for display."""
    gap = percent(relative_gap(news.objective, news.bound))
    return [("objective", value(news.objective)), ("bound", value(news.bound)), ("gap", gap), ("seconds", f"{news.runtime:.3g}")]
