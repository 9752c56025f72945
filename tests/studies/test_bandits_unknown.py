"""The study of bandits with unknown transitions: settings are chosen by the rows of tuning, and rows that are there are kept."""

from __future__ import annotations

import csv

import bandits_unknown as study
import pytest


@pytest.fixture
def small(tmp_path, monkeypatch):
    """One regime of few arms and steps, two instances for each part, and few settings."""
    tiny = {"arms": 6, "pulls": 2, "horizon": 60, "features": 2}
    split = {
        "tuning": {"seeds": [0, 1], "days": 1, "logs": 2},
        "judge": {"seeds": [2, 3], "days": 2},
        "judge_first": {"seeds": [2, 3], "days_of_pulls": 1},
        "regimes": {"first": tiny, "other": tiny},
    }
    grids = {
        "thompson": [("sharing", ("none", "features")), ("scale", (0.5, 1.0))],
        "ucb": [("sharing", ("features",))],
        "wiql": [("scale", (0.1, 1.0))],
    }
    monkeypatch.setattr(study, "_SPLIT", split)
    monkeypatch.setattr(study, "_GRIDS", grids)
    monkeypatch.setattr(study, "_HERE", tmp_path)
    (tmp_path / "bandits_priors").mkdir()
    for name in ("_TUNING", "_JUDGED", "_PULLS"):
        monkeypatch.setattr(study, name, tmp_path / f"{name}.csv")
    monkeypatch.setattr(study, "_MIN_PULLS", (0, 4))
    return tmp_path


def test_the_study(small):
    """Each part adds its rows once; the judged settings have the most reward in tuning; minimum pulls are kept."""
    for _ in range(2):
        for part in ("priors", "tune", "judge", "pulls"):
            assert study.main([part]) == 0
    tuned, judged, pulls = (list(csv.DictReader((small / f"{each}.csv").open())) for each in ("_TUNING", "_JUDGED", "_PULLS"))
    assert len(tuned) == 2 + 4 + 1 + 2 and len(pulls) == 2 * (1 + 2 * 2)
    best = {row["policy"]: float(row["reward"]) for row in tuned}
    chosen = {row["policy"] for row in judged if "sharing=none" in row["policy"] and "whittle" not in row["policy"]}
    assert chosen == {max((name for name in best if "sharing=none" in name), key=best.__getitem__)}
    better = max(best, key=lambda name: best[name] if "sharing=features" in name else 0.0).partition(":")[0]
    assert len(judged) == 2 * (2 + 2 + 3 + 1) + 2 * (2 + 2 + 1 + (2 if better == "thompson" else 1))
    assert {row["policy"].partition(":")[0] for row in judged if row["regime"] == "other"} >= {better, "wiql", "random"}
    assert all(int(row["fewest"]) >= 4 for row in pulls if row["policy"].endswith("min_pulls=4"))
