"""mypy --strict over all sources, and over a user's script that misspells a name: `python -P tests/support/types.py`.

It sees them through a tree of links, because it cannot follow an editable install.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USER = "import corl\n\ncorl.sovle('tsp/uniform-500')\n"
SEEN = 'user.py:3: error: Module has no attribute "sovle"'


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        package = folder / "corl"
        package.mkdir()
        for file in (ROOT / "corl").iterdir():
            if file.name != "__pycache__":
                (package / file.name).symlink_to(file)
        for part in ("problems", "solvers", "instances"):
            (package / part).symlink_to(ROOT / part)
        mypy = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml")]
        done = subprocess.run([*mypy, "-p", "corl"], cwd=folder)
        if done.returncode:
            return done.returncode
        (folder / "user.py").write_text(USER)
        said = subprocess.run([*mypy, "user.py"], cwd=folder, capture_output=True, text=True).stdout
        if not said.startswith(SEEN):
            print(f"a user's mistake is not seen: {said}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
