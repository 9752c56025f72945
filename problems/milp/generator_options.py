"""What all generators share: the check of their options, and the command that repeats an instance."""

from __future__ import annotations

from typing import Any

from corl.errors import UsageError

__all__ = ["MAX_ENTRIES", "command", "need"]

MAX_ENTRIES = 50_000_000
"""The largest number of entries of a generated constraint matrix."""


def need(field: str, fits: bool, accepted: str) -> None:
    """Raise UsageError unless the option `field` fits."""
    if not fits:
        raise UsageError(f"{field}: not accepted; accepted: {accepted}")


def command(generator: str, seed: int, /, **options: Any) -> str:
    """Return the command that generates the instance, for its comment."""
    given = " ".join(f"--option {key}={value}" for key, value in options.items())
    return f"corl generate milp {generator} {given} --seed {seed}"
