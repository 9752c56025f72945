"""`Judgement`: the choice among candidates, and the comparison of the chosen one with the best of five settings of SCIP.

Both are by processor seconds of whole solves, on programs that the policy was not trained on. The settings and the candidates
are compared on the programs to choose on; the best setting and the best candidate then solve each judged program once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import corl
from corl.statistics import Estimate, resampled_mean

__all__ = ["CANDIDATES", "SETTINGS", "Judgement", "seconds_of"]

SETTINGS = ("scip", "scip:root_cuts=true", "scip:heuristics=false", "scip-pscost", "scip-pscost:root_cuts=true")
"""The settings of SCIP: NAME[:KEY=VALUE] of a solver of `milp`."""
CANDIDATES = ("learned-branching", "learned-branching:root_cuts=true")
"""The ways to use the policy."""
_SHIFT = 1.0  # seconds, of the shifted geometric means
_LIMIT = 300.0  # seconds of a solve with SCIP's defaults
_LONGEST = 4.0  # the limit of the other solves of a program is this many times the seconds with SCIP's defaults, plus _SPARE
_SPARE = 5.0


def seconds_of(solver: str, file: Path, policy: str, limit: float) -> float | None:
    """Solve a program and return the processor seconds, with reading the file; None if Ctrl-C ended the solve.

    Args:
        solver: NAME[:KEY=VALUE].
        file: The program.
        policy: The checkpoint, for the solver learned-branching.
        limit: Seconds of wall-clock time, after which the solve ends.
    """
    name, *pairs = solver.split(":")
    options: dict[str, Any] = dict(pair.split("=", 1) for pair in pairs) | ({"policy": policy} if solver in CANDIDATES else {})
    before = time.process_time()
    result = corl.solve(str(file), problem="milp", solver=name, time_limit=limit, **options)
    return None if result.limit == "interrupted" else time.process_time() - before


class Judgement:
    """The solves of a choice and a judgement, some of which may not have been done yet; a part of snapshots."""

    def __init__(self, choose: Sequence[Path], judge: Sequence[Path]) -> None:
        self.choose, self.judge = choose, judge
        self.seconds: dict[str, float] = {}

    def remaining(self) -> Iterator[tuple[str, Path, float]]:
        """Return the solver, the file and the time limit of each solve that is left; `add` its seconds before the next one."""
        for file, solver in ((file, solver) for file in self.choose for solver in (*SETTINGS, *CANDIDATES)):
            if _key(solver, file) not in self.seconds:
                yield solver, file, self._limit(file)
        for file, solver in ((file, solver) for file in self.judge for solver in dict.fromkeys(("scip", *self.chosen()))):
            if _key(solver, file) not in self.seconds:
                yield solver, file, self._limit(file)

    def _limit(self, file: Path) -> float:
        base = self.seconds.get(_key("scip", file))
        return _LIMIT if base is None else _LONGEST * base + _SPARE

    def add(self, solver: str, file: Path, seconds: float) -> None:
        """Record a solve."""
        self.seconds[_key(solver, file)] = seconds

    def chosen(self) -> tuple[str, str]:
        """Return the setting and the candidate with the lowest shifted geometric means on the programs to choose on."""

        def mean(solver: str) -> float:
            return sum(math.log(self.seconds[_key(solver, file)] + _SHIFT) for file in self.choose)

        return min(SETTINGS, key=mean), min(CANDIDATES, key=mean)

    def ratio(self) -> Estimate:
        """Return the ratio of shifted geometric means of the candidate's and the setting's seconds on the judged programs."""
        setting, candidate = self.chosen()
        logs = [
            math.log((self.seconds[_key(candidate, file)] + _SHIFT) / (self.seconds[_key(setting, file)] + _SHIFT))
            for file in self.judge
        ]
        found = resampled_mean(logs)
        assert found.value is not None and found.low is not None and found.high is not None
        return Estimate(math.exp(found.value), math.exp(found.low), math.exp(found.high), found.over)

    @property
    def gains(self) -> bool:
        """Whether the candidate needs less time, with the whole interval below 1."""
        high = self.ratio().high
        return high is not None and high < 1.0

    def sentence(self, output: str) -> str:
        """Return the verdict; `output` is the policy's file."""
        setting, candidate = self.chosen()
        found = self.ratio()
        best = f"the best of {len(SETTINGS)} SCIP settings ({_call(setting)})"
        measured = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}] of the time of {best}"
        measured += f" on {len(self.judge)} programs kept apart"
        if self.gains:
            return f"{measured}; use {_call(candidate)} --option policy={output}"
        return f"no gain: use SCIP, {_call(setting)}; the policy takes {measured}"

    def state_dict(self) -> dict[str, Any]:
        return {"seconds": self.seconds}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.seconds = dict(state["seconds"])


def _key(solver: str, file: Path) -> str:
    return f"{solver} {file.name}"


def _call(solver: str) -> str:
    """Return the options of `corl solve` that name a solver."""
    name, *pairs = solver.split(":")
    return " ".join([f"--solver {name}", *(f"--option {pair}" for pair in pairs)])
