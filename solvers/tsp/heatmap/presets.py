"""The settings of the presets: those of the paper, and our own, tuned on instances outside the test sets."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PAPER", "TUNED", "Settings", "settings_of"]


class Settings(NamedTuple):
    """alpha, beta, H, C, D (see ActionParameters), most cities in a stretch of a kick, and the temperature of softmax."""

    alpha: float
    beta: float
    tries: int
    candidates: int
    depth: int
    stretch: int = 30
    temperature: float = 0.3


# Pan et al. (2024), tuned settings for the k-nearest prior at 500, 1000 and 10,000 cities: (most cities, settings).
PAPER = ((750, Settings(0.0, 10.0, 5, 5, 200)), (5000, Settings(1.0, 10.0, 5, 5, 200)), (None, Settings(0.0, 10.0, 10, 20, 200)))

# python tests/studies/tsp_heatmap_tuning.py --heatmap NAME: 12 configurations, the same for every heatmap, on 14 instances of 500
# and 1000 cities. The settings do not depend on the size.
TUNED = {
    "gnn": Settings(0.0, 10.0, 2, 6, 25, 58),
    "nearest": Settings(0.0, 10.0, 2, 6, 25, 58),
    "softmax": Settings(0.0, 100.0, 10, 6, 9, 31, 0.71),
    "none": Settings(0.0, 10.0, 2, 6, 25, 58),
}


def settings_of(preset: str, heatmap: str, n: int) -> Settings:
    """Return the settings of a preset for an instance of n cities and a kind of heatmap."""
    if preset == "tuned":
        return TUNED[heatmap]
    return next(settings for most, settings in PAPER if most is None or n <= most)
