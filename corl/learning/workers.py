"""Workers of a training run: processes that make its data, in an order that does not depend on their speeds.

    with stream(training, make_batches, size) as batches:      # make_batches(size) -> function(i) -> batch i
        for batch in batches: ...                              # i = training.step, training.step + 1, ...

The result of `function(i)` must depend on i alone (draw from `np.random.default_rng([seed, i])`). Then any number of workers
gives the same batches, and a resumed run continues with the batch of its step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from corl.processes.workers import Maker, Workers

if TYPE_CHECKING:
    from corl.learning.session import Training

__all__ = ["in_turns", "stream"]

_AHEAD = 2  # batches that each worker makes in advance


@contextlib.contextmanager
def stream(training: Training, make: Maker, *arguments: Any) -> Iterator[Iterator[Any]]:
    """Return a context with an endless iterator of the batches from the current step on; workers make a few in advance."""
    with Workers(training.workers, make, *arguments, executor=training.executor) as workers:
        yield _numbered(workers, training.step)


def in_turns(training: Training, make: Maker, *arguments: Any) -> Workers:
    """Return workers for a training that alternates with them: it gives them tasks and waits for the results.

    A single worker on this machine would gain nothing, so this process then does the work itself.
    """
    alone = training.workers == 1 and training.executor == "processes"
    return Workers(0 if alone else training.workers, make, *arguments, executor=training.executor)


def _numbered(workers: Workers, first: int) -> Iterator[Any]:
    """Yield the results for the numbers `first`, `first` + 1, ..., in this order."""
    ahead = _AHEAD * workers.count
    for i in range(first, first + ahead):
        workers.submit(i)
    while True:
        workers.submit(first + ahead)
        first += 1
        yield workers.next()
