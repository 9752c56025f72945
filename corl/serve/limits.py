"""Limits: what a server accepts from its clients."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass

from corl.options import Options, option

__all__ = ["Limits", "limit_memory"]

_MIB = 2**20


@dataclass(frozen=True)
class Limits(Options):
    """The limits of a server, all of which hold for each client or job alone, except `max_waiting` and `keep`."""

    max_body: int = option(16, "Largest request in MiB, also after decompression.", low=1, high=1024)
    max_seconds: float = option(60.0, "Longest time limit of a job in seconds.", above=0, high=10**6)
    max_memory: int = option(2048, "Most memory in MiB that each process of a job may allocate.", low=64, high=2**20)
    max_workers: int = option(1, "Most worker processes that one job may use.", low=1, high=1024)
    max_waiting: int = option(1000, "Most jobs that have not ended; further ones are refused.", low=1, high=10**6)
    max_per_client: int = option(100, "Most jobs of one client, that is of one address, that have not ended.", low=1, high=10**6)
    keep: int = option(10_000, "Most jobs that are kept after they have ended; the oldest are deleted.", low=1, high=10**9)

    @property
    def body_bytes(self) -> int:
        """`max_body` in bytes."""
        return self.max_body * _MIB


def limit_memory(mib: int | None) -> None:
    """Let this process allocate at most `mib` MiB beyond what it has now; None: no limit. Child processes inherit the limit.

    Allocations beyond it fail, as they do when a machine has no memory left. Where the system has no such limit, this has no
    effect. On Linux, only memory that the process can write counts, and not the files that are mapped into it.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = hard if mib is None else _allocated() + mib * _MIB
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _allocated() -> int:
    """Return the bytes that count for RLIMIT_DATA in this process; 0 if unknown."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return next((1024 * int(line.split()[1]) for line in file if line.startswith("VmData")), 0)
