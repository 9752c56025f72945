"""EA4OP: `python ea4op_orienteering.py PROGRAM INSTANCE.oplib SOLUTION.json SEED`. It ends by itself and has no limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def main() -> None:
    """The command above."""
    program, file, solution, seed = sys.argv[1:]
    subprocess.run([program, "opt", "--op-exact", "0", "--seed", seed, file], stdout=subprocess.DEVNULL, check=True)
    found = json.loads(Path("prob.sol").read_text())["sol"]["cycle"]  # written where it runs
    Path(solution).write_text(json.dumps([*found, found[0]]))


if __name__ == "__main__":
    main()
