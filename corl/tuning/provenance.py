"""Provenance: where the options of a file are from, as the file says it."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from corl.version import __version__

if TYPE_CHECKING:
    from corl.tuning.tuner import Tuning

__all__ = ["provenance"]


def provenance(tuning: Tuning, command: str) -> dict[str, Any]:
    """Return the provenance of tuned options: version, date, command, the gain, and the hashes of the instances."""
    settings, found = tuning.settings, tuning.verdict
    facts = {
        "corl": __version__,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "command": command,
        "gain": tuning.sentence,
        "reference": found.reference if found is not None else "",
        "limit": settings.limit,
        "objective": settings.objective,
        "sampler": settings.sampler,
        "seed": settings.seed,
        "processor_seconds": round(tuning.spent, 1),
        "effects": [str(effect) for effect in tuning.effects],
        "kept_apart": [source.label for source in tuning.instances.judge],
    }
    return {name: fact for name, fact in facts.items() if fact != ""} | {"instances": tuning.instances.hashes}
