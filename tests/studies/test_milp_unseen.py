"""The study of programs never seen: the split by name, and the table beside a control."""

from __future__ import annotations

import pytest
from milp_unseen import EARLIER, PARTS, group, part, table


def test_siblings_are_in_one_part_and_earlier_programs_in_none_that_judges():
    """Families by their letters, collections name by name; the split is what it was when it was committed."""
    assert group("vpm1") == group("vpm2") == "vpm" and group("neos-911970") == "neos-911970" and group("l152lav") == "l"
    assert {part(name) for name in EARLIER} <= {"train", "choose"}
    assert {part(f"neos-{k}") for k in range(50)} == set(PARTS)
    assert [part(name) for name in ("l152lav", "rout", "air04", "stein45", "eil33-2")] == [
        "train", "judge", "train", "choose", "train",
    ]  # fmt: skip


def _row(solver, instance, seed, seconds, status="optimal"):
    return {
        "family": "judge", "instance": instance, "seed": str(seed), "solver": solver, "status": status, "objective": "1.0",
        "seconds": str(seconds), "after_root": "0", "nodes": "90", "lp_iterations": "1000", "strong_iterations": "0",
    }  # fmt: skip


def test_table_beside_the_control():
    """Ratios of shifted geometric means over the same seeds; limits count ten times; who is beyond all of the control's runs."""
    names = [f"p{k}" for k in range(6)]
    rows = [_row("scip", name, seed, 3.0) for name in names for seed in (1, 2, 3)]
    rows += [_row("own", name, seed, 1.0) for name in names[:5] for seed in (1, 2)]
    rows += [_row("own", "p5", seed, 9.0, "timelimit") for seed in (1, 2)]
    base, own = table(rows, limit=9.0)
    assert base["seconds"] == base["par10"] == base["seconds_low"] == base["seconds_high"] == 1.0 and base["outside"] == 0
    assert (own["programs"], own["runs"], own["unsolved"], own["unsolved_base"]) == (6, 12, 2, 0)
    assert own["seconds"] == pytest.approx((0.5**5 * 2.5) ** (1 / 6), abs=1e-3)
    assert own["par10"] == pytest.approx((0.5**5 * 91.0 / 4.0) ** (1 / 6), abs=1e-3)
    assert (own["par10_mean"], own["par10_base"], own["nodes"]) == (round(95.0 / 6, 2), 3.0, 1.0)
    assert (own["outside"], own["worst"], own["worst_ratio"]) == (1, "p5", round(91.0 / 4.0, 2))
    assert own["seconds_low"] < own["seconds"] < own["seconds_high"]
