"""Server: the processes and files behind `corl serve`, from its start to its end."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError
from corl.processes.processors import available, check_workers
from corl.serve.guard import LOOPBACK
from corl.serve.limits import Limits

if TYPE_CHECKING:
    from corl.serve.pool import Pool
    from corl.serve.queue import Queue
    from corl.serve.ray_pool import RayPool

__all__ = ["serve"]

_READING = 30.0  # seconds in which a request must be read and checked
_DRAWING = 60.0  # seconds in which a page must be rendered
_SHORTEST_TOKEN = 16  # characters
_CONNECTIONS = 500  # open at a time; others are answered with 503
_CLOSING = 2.0  # seconds in which streams may end when the server ends


def serve(host: str, port: int, store: Path, limits: Limits, jobs: int | None = None, token: str = "", address: str = "") -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        host: The address to listen at; another one than this machine's own needs a token.
        port: The port; 0: a free one, which is printed.
        store: The file of jobs.
        limits: The limits of clients and jobs.
        jobs: Jobs that are solved at a time; None: one for each processor, of the cluster if there is one.
        token: The token that clients must send; "": none.
        address: The address of a Ray cluster that solves the jobs, as for `ray.init`; "": processes of this machine.

    Raises:
        UsageError: The arguments are invalid, the port or the file is in use, or a package is missing.
    """
    uvicorn = _imported()
    _check_token(host, token)
    if jobs is not None and not address:
        check_workers(jobs, "--jobs")
    from corl.serve.app import application
    from corl.serve.helper import Helper
    from corl.serve.queue import Queue

    with (
        tempfile.TemporaryDirectory(prefix="corl-serve-", ignore_cleanup_errors=True) as folder,
        Queue(store, limits) as queue,
        _pool(queue, limits, jobs, folder, address) as pool,
        Helper(limits, f"{folder}/reader", _READING) as reader,
        Helper(limits, f"{folder}/painter", _DRAWING) as painter,
    ):
        app = application(queue, pool, reader, painter, limits, token)
        config = uvicorn.Config(
            app, host=host, port=port, loop="asyncio", http="h11", ws="none", lifespan="off", log_level="info", access_log=False,
            proxy_headers=False, server_header=False, limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=_CLOSING,
        )  # fmt: skip
        server = uvicorn.Server(config)
        try:
            server.run()
        except KeyboardInterrupt:  # uvicorn has ended because of Ctrl-C or SIGTERM, and repeats the signal
            return
        except SystemExit:  # at the start, uvicorn has logged the reason; later, it is Ray's answer to SIGTERM
            if not server.started:
                raise UsageError(
                    f"cannot listen at {host}:{port}; accepted: a free port, and an address of this machine"
                ) from None


def _pool(queue: Queue, limits: Limits, jobs: int | None, folder: str, address: str) -> Pool | RayPool:
    if address:
        from corl.serve.ray_pool import RayPool

        return RayPool(queue, limits, address, jobs)
    from corl.serve.pool import Pool

    return Pool(queue, limits, jobs or len(available()), folder)


def _imported() -> Any:
    """Return the package uvicorn. Raises UsageError, with the command that installs it, if a package is not installed."""
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise UsageError(f'corl serve needs more packages: in a checkout pip install ".[serve]" ({error})') from error
    return uvicorn


def _check_token(host: str, token: str) -> None:
    if token and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
        raise UsageError(f"CORL_TOKEN: accepted: at least {_SHORTEST_TOKEN} letters, digits or signs, without blanks")
    if not token and host not in LOOPBACK:
        raise UsageError(f"--host {host}: other machines reach it, so it needs a token in the environment variable CORL_TOKEN")
