"""The tests over the registry share modules of this folder."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)
