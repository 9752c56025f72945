"""MiniMalloc: `python minimalloc_static.py PROGRAM INSTANCE.csv SOLUTION.csv SECONDS CAPACITY`.

The program decides whether the buffers fit into a capacity. A CAPACITY of 0 stands for the least one, which the program then
searches for by itself. Its limit is of the wall clock.
"""

from __future__ import annotations

import csv
import subprocess
import sys


def main() -> None:
    """The command above."""
    program, file, solution, limit, capacity = sys.argv[1:]
    command = [program, f"--input={file}", f"--output={solution}", f"--timeout={limit}s"]
    if int(capacity) == 0:
        with open(file, newline="") as table:
            capacity = str(sum(int(row["size"]) for row in csv.DictReader(table)))
        command.append("--minimize_capacity")
    sys.exit(subprocess.run([*command, f"--capacity={capacity}"]).returncode)


if __name__ == "__main__":
    main()
