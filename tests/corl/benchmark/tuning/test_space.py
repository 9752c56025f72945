"""The search space, the costs of runs, the blocks, and the ratio of the verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from corl import registry
from corl.arguments import duration
from corl.errors import UsageError
from corl.options import Options, option
from corl.record import Record
from corl.splitting import split
from corl.statistics import Resampling
from corl.tuning.costs import cost, references
from corl.tuning.race import blocks
from corl.tuning.space import parse_ranges, search_space


@dataclass(frozen=True)
class Many(Options):
    """An option of each kind."""

    flag: bool = option(True, "A flag.")
    word: Literal["a", "b", "c"] = option("a", "A word.")
    share: float = option(0.5, "Both bounds.", low=0, high=1)
    heat: float = option(2.0, "A scale.", above=0, scale="log")
    capped: int = option(6, "A scale and bounds.", low=2, high=10, scale="log")
    count: int = option(3, "A least value.", low=1)
    automatic: int = option(0, "A special value.", low=5, special=0, scale="log", tuning=(10, 100))
    unknown: int = option(0, "A special value, and no range to search.", low=5, special=0)
    text: str = option("", "A text.")
    several: tuple[int, ...] = option((1, 2), "A tuple.")


def test_ranges_follow_from_declarations():
    """All values, both bounds, 1/8 to 8 times the default, a least value to four times its distance, or a declared range."""
    found, skipped = search_space(Many)
    assert {each.name: str(each) for each in found} == {
        "flag": "false, true", "word": "a, b, c", "share": "0 to 1", "heat": "0.25 to 16, logarithmic",
        "capped": "2 to 10, logarithmic", "count": "1 to 9", "automatic": "0, or 10 to 100, logarithmic",
    }  # fmt: skip
    assert skipped == ["unknown", "text", "several"]


def test_ranges_of_the_caller():
    """They replace what is declared, for options without a range, too; fixed options are not searched."""
    found, _ = search_space(Many, fixed=["flag"], tuned=["word"], ranges=parse_ranges(["unknown=7:9", "share=0.1,0.2"]))
    assert {each.name: str(each) for each in found} == {"word": "a, b, c", "unknown": "0, or 7 to 9", "share": "0.1, 0.2"}
    with pytest.raises(UsageError, match="option text declares no range to search; accepted: a range, --range text=LOW:HIGH"):
        search_space(Many, tuned=["text"])
    with pytest.raises(UsageError, match="--range takes KEY=VALUE"):
        parse_ranges(["share"])


def test_every_declared_range_is_accepted():
    """Both ends of what is searched are values that the option accepts, of all solvers of all problems."""
    count = 0
    for problem in registry.problems():
        for name in registry.solvers(problem):
            cls = registry.solver(problem, name)
            try:
                found, _ = search_space(cls)
            except UsageError:
                continue
            for each in found:
                ends = each.choices or tuple(int(x) if each.kind == "integer" else x for x in (each.low, each.high))
                again, _ = search_space(cls, ranges={each.name: ends if each.kind != "choice" else list(ends)}, tuned=[each.name])
                assert again[0].low == each.low and again[0].high == each.high
                count += 1
    assert count > 50


def run(instance="a", objective=110.0, sense="min", **fields):
    """A run of one second."""
    return Record("s", "toy", instance, "x", 0, 1.0, None, "ok", objective=objective, sense=sense, **fields)


def test_references_are_the_better_of_given_and_seen():
    """In either sense; a run that failed counts for nothing."""
    runs = [run(objective=110.0, reference=100.0), run("b", 90.0, reference=95.0), run("b", 93.0), run("c", 7.0)]
    assert references(runs) == {"a": 100.0, "b": 90.0, "c": 7.0}
    assert references([run(objective=110.0, reference=100.0, sense="max")]) == {"a": 110.0}


def test_costs_by_hand():
    """The gap at the end; the area over log time, where a tenth of a second is the middle of a run of one second."""
    ended = run(objective=110.0, trace=((0.1, 125.0, None), (1.0, 110.0, None)))
    assert cost(ended, {"a": 100.0}, "final") == pytest.approx(10 / 110)
    assert cost(ended, {"a": 100.0}, "anytime") == pytest.approx(0.5 * 1 + 0.5 * 25 / 125)
    early = run(objective=100.0, trace=((0.001, 100.0, None),))
    assert cost(early, {"a": 100.0}, "anytime") == 0.0
    failed = Record("s", "toy", "a", "x", 0, 1.0, None, "nothing")
    assert cost(failed, {"a": 100.0}, "final") == cost(failed, {"a": 100.0}, "anytime") == 1.0


def test_blocks_cover_all_pairs_once(toy, tmp_path):
    """About five instances a block, in an order that the seed chooses, then the same with new seeds."""
    from corl.benchmark.running.sources import SuiteInstance

    sources = [SuiteInstance(f"i{k}", "", "", lambda: None) for k in range(12)]
    made = blocks(sources, 0)
    assert [len(block.sources) for block in made[:2]] == [6, 6] and len(made) == 10
    pairs = [pair for block in made for pair in block.pairs]
    assert len(set(pairs)) == len(pairs) == 60 and {seed for _, seed in made[0].pairs} == {0}
    assert made[0].sources != blocks(sources, 1)[0].sources


def test_parts_do_not_depend_on_the_folder(tmp_path):
    """The same names are in the same parts everywhere, and a further file moves few others."""
    names = [f"x{k}.txt" for k in range(20)]
    here, there = (split(folder / name for name in names) for folder in (tmp_path / "a", tmp_path / "b"))
    assert [[p.name for p in part] for part in here] == [[p.name for p in part] for part in there]
    assert tuple(map(len, here)) == (11, 3, 6)


def test_the_ratio_of_means():
    """1.5 without noise, an interval that holds it with noise, None where all references are zero."""
    requested = np.ones((8, 2), bool)
    random = np.random.default_rng(0)
    base = random.uniform(1, 2, (8, 2))
    exact = Resampling(requested).ratio(1.5 * base, base)
    assert (exact.value, exact.low, exact.high) == pytest.approx((1.5, 1.5, 1.5))
    noisy = Resampling(requested).ratio(1.5 * base + random.normal(0, 0.1, (8, 2)), base)
    assert noisy.low < 1.5 < noisy.high and noisy.high - noisy.low < 0.5
    assert Resampling(requested).ratio(base, 0 * base).value is None
    missing = base.copy()
    missing[0, 0] = math.nan
    assert Resampling(requested).ratio(missing, base).value == pytest.approx(1.0)


def test_durations():
    """Seconds, or a number with its unit."""
    assert [duration("budget", given) for given in (90, "90", "90s", "1.5m", "2h", "1d")] == [90, 90, 90, 90, 7200, 86400]
    for wrong in ("", "h", "2 weeks", -1, 0, math.inf, True, None):
        with pytest.raises(UsageError, match=r"budget: .* is not accepted; accepted: seconds above 0"):
            duration("budget", wrong)
