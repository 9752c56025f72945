"""Trace the shipped programs again and write them to a folder: python -m corl.problems.memory.tracing FOLDER"""

from __future__ import annotations

import sys
from pathlib import Path

from corl.files.opening import replacing
from corl.problems.memory.problem import Mapping
from corl.problems.memory.tracing import trace_model
from corl.problems.memory.tracing.models import SHIPPED


def main(arguments: list[str]) -> int:
    """Write every shipped model at its batch sizes, compressed; return the exit code."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    for model, batches in SHIPPED.items():
        for batch in batches:
            with replacing(Path(arguments[0]) / f"{model}-b{batch}.json.gz") as partial:
                Mapping().write(trace_model(model=model, batch=batch), partial)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
