"""Random hybrid flow shops: stages with parallel machines, identical or unrelated."""

from __future__ import annotations

import numpy as np

from corl.errors import UsageError
from corl.problems.jobshop.instance import JobShopInstance, from_jobs

__all__ = ["hybrid"]

_MAX_CHOICES = 1_000_000


def hybrid(*, jobs: int = 30, stages: int = 5, machines: int = 3, spread: float = 0.0, seed: int = 0) -> JobShopInstance:
    """Return a hybrid flow shop: every job passes all stages in the same order, each on any one of the stage's machines.

    Each stage has as many machines, since a stage with fewer would be the only bottleneck. The duration of a job in a stage is
    uniform in 1..99. The machines of a stage are identical, unless `spread` is above 0: then a job's duration on each of them is
    multiplied by a factor uniform in 1 - spread..1 + spread.
    """
    if not (jobs >= 1 and stages >= 1 and machines >= 1 and jobs * stages * machines <= _MAX_CHOICES):
        most = f"up to {_MAX_CHOICES:,} choices of machines"
        raise UsageError(f"jobs, stages, machines: {jobs} x {stages} x {machines} is not accepted; accepted: from 1, {most}")
    if not 0.0 <= spread <= 1.0:
        raise UsageError(f"spread: {spread} is not accepted; accepted: 0 to 1")
    random = np.random.default_rng(seed)
    stage_of = np.repeat(np.arange(stages), machines)
    durations = random.integers(1, 100, (jobs, stages))[:, stage_of]
    if spread > 0:
        durations = np.maximum(1, np.rint(durations * random.uniform(1.0 - spread, 1.0 + spread, durations.shape))).astype(int)
    rows = [
        [[(m, int(durations[j, m])) for m in np.flatnonzero(stage_of == stage).tolist()] for stage in range(stages)]
        for j in range(jobs)
    ]
    return from_jobs(
        rows,
        stages * machines,
        name=f"hybrid-{jobs}x{stages}",
        comment=f"corl generate jobshop hybrid --option jobs={jobs} --option stages={stages} --option machines={machines} "
        f"--option spread={spread} --seed {seed}",
    )
