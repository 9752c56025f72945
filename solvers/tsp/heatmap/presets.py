"""The numbers of the presets: the paper's as published, and ours from a tuning run on other instances than the test sets."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PAPER", "TUNED", "Numbers", "numbers_of"]


class Numbers(NamedTuple):
    """alpha, beta, H, C, D, the cities of a kick's stretches, and softmax's temperature."""

    alpha: float
    beta: float
    tries: int
    candidates: int
    depth: int
    stretch: int = 30
    temperature: float = 0.3


# Pan et al. (2024), tuned settings for the k-nearest prior at 500, 1000 and 10,000 cities: (most cities, numbers).
PAPER = ((750, Numbers(0.0, 10.0, 5, 5, 200)), (5000, Numbers(1.0, 10.0, 5, 5, 200)), (None, Numbers(0.0, 10.0, 10, 20, 200)))

# python tests/studies/tsp_heatmap_tuning.py --heatmap NAME: 12 configurations, the same for every heatmap, on 14 instances of 500
# and 1000 cities. None of them depends on the size.
TUNED = {
    "gnn": Numbers(0.0, 10.0, 2, 6, 25, 58),
    "nearest": Numbers(0.0, 10.0, 2, 6, 25, 58),
    "softmax": Numbers(0.0, 100.0, 10, 6, 9, 31, 0.71),
    "none": Numbers(0.0, 10.0, 2, 6, 25, 58),
}


def numbers_of(preset: str, heatmap: str, n: int) -> Numbers:
    """The preset's numbers for an instance of n cities with that heatmap."""
    if preset == "tuned":
        return TUNED[heatmap]
    return next(numbers for most, numbers in PAPER if most is None or n <= most)
