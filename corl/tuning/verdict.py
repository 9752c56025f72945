"""The verdict on tuned options: their gap relative to the defaults' on the instances kept apart, and which options matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corl.formatting import percent
from corl.statistics import Estimate, Resampling, sample_mean
from corl.tuning.runs import Block, Candidate, Runs

__all__ = ["Effect", "Verdict", "ablated", "ablation", "verdict"]


@dataclass(frozen=True)
class Verdict:
    """The comparison of tuned options with the defaults on the instances kept apart."""

    ratio: Estimate
    """The mean cost with the tuned options divided by that with the defaults; a value below 1 is better."""
    difference: Estimate
    """The mean difference of the costs, tuned less default: gaps, 0.01 is one per cent of the objective value."""
    instances: int
    seeds: int
    referenced: int
    """The number of instances with a given best known value; other gaps are to the best value of any run of the tuning."""

    @property
    def gains(self) -> bool:
        """Whether the whole interval of the ratio is below 1."""
        return self.ratio.high is not None and self.ratio.high < 1.0

    def sentence(self, objective: str) -> str:
        """Return the verdict in words; `objective`: one of corl.tuning.costs.OBJECTIVES."""
        what = "gap" if objective == "final" else "area under the gap"
        if self.ratio.value is None:
            return "no gain: keep the defaults, whose gap is 0 on all instances kept apart"
        measured = f"{what} {self.ratio.value:.2f}"
        if self.ratio.low is not None and self.ratio.high is not None:
            measured += f" [{self.ratio.low:.2f}, {self.ratio.high:.2f}]"
        measured += f" times that of the defaults on {self.instances} instances kept apart"
        return measured if self.gains else f"no gain: keep the defaults; the best options have a {measured}"

    @property
    def reference(self) -> str:
        """What the gaps are measured from, in words."""
        best_known, seen = self.referenced, self.instances - self.referenced
        parts = [f"the best known value on {best_known}"] if best_known else []
        parts += [f"the best value of any run on {seen}"] if seen else []
        return f"gaps are to {' instances and '.join(parts)} instances; values that a run improved are replaced by the better one"


@dataclass(frozen=True)
class Effect:
    """The effect of one tuned option: the increase of the cost if it alone is set back to its default."""

    option: str
    default: Any
    tuned: Any
    increase: Estimate
    """The mean increase on the instances to choose on, with Student's interval over runs."""

    def __str__(self) -> str:
        effect = self.increase
        text = f"{self.option} {self.default} -> {self.tuned}: back at its default, gap {_signed(effect.value)}"
        return text if effect.low is None else f"{text} [{_signed(effect.low)}, {_signed(effect.high)}]"


def verdict(runs: Runs, default: Candidate, tuned: Candidate, block: Block, objective: str) -> Verdict:
    """Return the verdict from the runs of two candidates on the block kept apart."""
    shape = (2, len(block.seeds), len(block.sources))
    of_default, of_tuned = runs.costs([default, tuned], block.pairs, objective).reshape(shape).transpose(0, 2, 1)
    resampling = Resampling(np.ones(of_default.shape, bool))
    return Verdict(
        resampling.ratio(of_tuned, of_default), resampling.mean(of_tuned - of_default), len(block.sources), len(block.seeds),
        sum(source.reference is not None for source in block.sources),
    )  # fmt: skip


def ablated(default: Candidate, tuned: Candidate) -> dict[str, Candidate]:
    """Return option -> the tuned candidate with this option at its default, for each option that was changed.

    A candidate with one option changed has the default itself.
    """
    found = {}
    for name in tuned.options:
        if name not in default.options:
            rest = {key: value for key, value in tuned.options.items() if key != name}
            found[name] = default if rest == default.options else Candidate(rest)
    return found


def ablation(
    runs: Runs, tuned: Candidate, others: dict[str, Candidate], standard: dict[str, Any], block: Block, objective: str
) -> list[Effect]:
    """Return the effect of each option, the largest first.

    Args:
        runs: The runs, which those of `others` on the block are part of.
        tuned: The tuned candidate.
        others: As from `ablated`.
        standard: The solver's defaults.
        block: The instances and seeds to choose on.
        objective: One of corl.tuning.costs.OBJECTIVES.
    """
    found = []
    for name, other in others.items():
        own, without = runs.costs([tuned, other], block.pairs, objective)
        found.append(Effect(name, standard[name], tuned.options[name], sample_mean(without - own)))
    return sorted(found, key=lambda effect: -(effect.increase.value or 0.0))


def _signed(share: float | None) -> str:
    return percent(share) if share is None or share <= 0 else f"+{percent(share)}"
