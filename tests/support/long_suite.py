"""The long suite: run it whole, and say how old its last green run is.

    python -P tests/support/long_suite.py run    # everything outside the gate; where it is green, long_suite.json says so
    python -P tests/support/long_suite.py age    # a warning where that was more than 30 commits ago

Run it in a checkout without changes, before an issue is called resolved, and commit the file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_suffix(".json")
MOST = 30
"""Commits after which CI warns."""


def _git(*arguments: str) -> str | None:
    """What git says; None where it fails, or is not there."""
    try:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def run() -> int:
    if _git("status", "--porcelain", "--untracked-files=no") != "":
        print("long suite: there are changes that no commit has; commit them first", file=sys.stderr)
        return 2
    begun = time.monotonic()
    code = subprocess.run([sys.executable, "-P", "-m", "pytest", "-n", "auto", "-m", "long"], cwd=ROOT).returncode
    if code == 0:
        now = datetime.now(UTC).strftime("%Y-%m-%d")
        found = {"commit": _git("rev-parse", "HEAD"), "date": now, "seconds": round(time.monotonic() - begun)}
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return code


def warning(last: dict[str, object] | None, since: str | None) -> str:
    """What to say of the last green run, `since` commits ago (None: git does not know its commit); nothing where it is recent."""
    if last is None:
        return "the long suite has no green run yet"
    if since is None:
        return f"the long suite was last green at {last['commit']} ({last['date']}), which is no commit before this one"
    if int(since) > MOST:
        return f"the long suite was last green {since} commits ago, at {last['commit']} ({last['date']}, {last['seconds']} s)"
    return ""


def age() -> int:
    last = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else None
    if _git("rev-parse", "HEAD") is None:  # an archive of the sources
        return 0
    known = last and _git("merge-base", "--is-ancestor", last["commit"], "HEAD") is not None
    if said := warning(last, _git("rev-list", "--count", f"{last['commit']}..HEAD") if known else None):
        print(f"WARNING: {said}; `python -P tests/support/long_suite.py run` runs it")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in (["run"], ["age"]):
        sys.exit(str(__doc__))
    sys.exit(run() if sys.argv[1] == "run" else age())
