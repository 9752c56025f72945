"""The text of a hybrid flow shop: every job passes all stages in the same order, each on any one of the stage's machines.

The format is that of Naderi, Ruiz and Roshanaei (Mixed-integer programming versus constraint programming for shop scheduling
problems, INFORMS Journal on Computing 35, 2023): a line with the number of jobs, one with the number of stages, one with the
number of machines of each stage; then one line per job with its duration in each stage, the same on all machines of the stage.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from corl.files.text import Text
from corl.problems.jobshop.formats.lines import Line, check_count
from corl.problems.jobshop.instance import HORIZON, LARGEST_MACHINES, JobShopInstance, from_jobs

__all__ = ["has_stages", "read_stages"]

_MAX_JOBS = 10_000_000


def has_stages(lines: list[Line]) -> bool:
    """Return whether the lines of a text begin as this format does: one number, one number S, S numbers."""
    counts = [len(tokens) for _, tokens in lines[:3]]
    return counts[:2] == [1, 1] and len(counts) == 3 and lines[1][1][0] == str(counts[2])


def read_stages(text: Text, lines: list[Line], name: str, comment: str) -> JobShopInstance:
    """Return the instance in the lines of a hybrid flow shop, with the machines in the order of stages. Raises InputError."""
    jobs = text.integer(lines[0][1][0], "jobs", lines[0][0], 1, _MAX_JOBS)
    number, tokens = lines[2]
    machines = [text.integer(token, "machines", number, 1, LARGEST_MACHINES) for token in tokens]
    check_count(text, lines[3:], jobs, "jobs", lines[0][0])
    spans = list(pairwise(np.append(0, np.cumsum(machines)).tolist()))
    rows = []
    for number, tokens in lines[3:]:
        if len(tokens) != len(machines):
            message = f"{len(tokens)} numbers; accepted: {len(machines)}, one for every stage"
            raise text.error(message, line=number, field="durations")
        durations = [text.integer(token, "durations", number, 0, HORIZON) for token in tokens]
        rows.append([[(m, duration) for m in range(*span)] for span, duration in zip(spans, durations)])
    return from_jobs(rows, sum(machines), name=name, comment=comment)
