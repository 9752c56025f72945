"""Proposals: the options of new candidates, drawn by a sampler of Optuna, which learns from the values of earlier ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from corl.errors import UsageError
from corl.tuning.space import Dimension

if TYPE_CHECKING:
    import optuna

__all__ = ["SAMPLERS", "Proposals"]

SAMPLERS = ("tpe", "random")
"""Tree-structured Parzen estimators (Bergstra et al., 2011), and random search, the baseline."""
_START = 10  # random candidates before a sampler learns
_DIGITS = 4  # significant digits of a real value


class Proposals:
    """A source of candidates. Equal seeds and values give equal candidates, so that a tuning can be replayed from its runs."""

    def __init__(self, dimensions: Sequence[Dimension], sampler: str, seed: int) -> None:
        """Create a source. Raises UsageError if the sampler is not known, or Optuna is not installed."""
        if sampler not in SAMPLERS:
            raise UsageError(f"sampler: {sampler!r} is not accepted; accepted: {', '.join(SAMPLERS)}")
        self._dimensions = dimensions
        try:
            import optuna
        except ImportError as error:
            raise UsageError('tuning needs the package optuna: pip install ".[tune]"') from error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some arguments of samplers are experimental
            chosen: optuna.samplers.BaseSampler
            if sampler == "tpe":
                chosen = optuna.samplers.TPESampler(seed=seed, n_startup_trials=_START, multivariate=True, group=True)
            else:
                chosen = optuna.samplers.RandomSampler(seed=seed)
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            self._study = optuna.create_study(sampler=chosen)

    def ask(self) -> tuple[optuna.Trial, dict[str, Any]]:
        """Return a trial and the options of a new candidate, which may equal an earlier one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self._study.ask()
            return trial, {each.name: _suggest(trial, each) for each in self._dimensions}

    def tell(self, trial: optuna.Trial, value: float | None) -> None:
        """Give the value of a candidate, to be minimised; None if its options do not go together."""
        import optuna

        state = optuna.trial.TrialState.FAIL if value is None else optuna.trial.TrialState.COMPLETE
        self._study.tell(trial, value, state=state)


def _suggest(trial: optuna.Trial, each: Dimension) -> Any:
    """Return the value of an option in a trial; reals are rounded, so that files and messages can be read."""
    if each.kind == "choice":
        return trial.suggest_categorical(each.name, each.choices)
    if each.special is not None and trial.suggest_categorical(f"{each.name} is", ("special", "number")) == "special":
        return each.special
    if each.kind == "integer":
        return trial.suggest_int(each.name, int(each.low), int(each.high), log=each.log)
    drawn = trial.suggest_float(each.name, each.low, each.high, log=each.log)
    return min(each.high, max(each.low, float(f"{drawn:.{_DIGITS}g}")))
