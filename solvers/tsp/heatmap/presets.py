"""The settings of the two presets of `heatmap-mcts`: "paper" has published ones, "tuned" our own, tuned outside the test sets."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PAPER", "TUNED", "Settings", "settings_of"]


class Settings(NamedTuple):
    """The settings of one preset; the fields up to `stretch` are explained in ActionParameters."""

    alpha: float
    beta: float
    tries: int
    """In preset "paper" the paper's H: actions without gain, for each city, that end an episode."""
    candidates: int
    depth: int
    stretch: int = 30
    temperature: float = 0.3
    """The temperature of the heatmap "softmax", in units of the mean distance to the nearest neighbour."""


# (greatest number of cities, settings): those of Pan et al. (2024) for the heatmap "nearest" at 500, 1000 and 10,000 cities.
PAPER = ((750, Settings(0.0, 10.0, 5, 5, 200)), (5000, Settings(1.0, 10.0, 5, 5, 200)), (None, Settings(0.0, 10.0, 10, 20, 200)))

# Heatmap -> settings, for every size. Each is the best of 12 configurations (the same 12 for every heatmap) on 14 instances of
# 500 and 1000 cities: python tests/studies/tsp_heatmap_tuning.py --heatmap NAME.
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
