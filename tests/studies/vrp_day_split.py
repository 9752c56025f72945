"""The split of the study of routing during the day, committed before anything was judged.

Training: hindsight plans of generated days (vrp_day_plans.py). Tuning: options of the policies, on generated days (TUNE).
Choosing: the policies that are judged, on CHOOSE. Judging: once, in the order given, as far as the time permits.

There were two judgements. The first, at 2.5 processor seconds an epoch, ended after the 15 days FIRST; its network had been
trained on public instances of the competition that are not in the final. The second, on the other days of JUDGE, has 5.
"""

TUNE = tuple(range(10_000, 10_010))
"""Generated days on which options are tuned."""
CHOOSE = tuple(range(1, 100, 10))
"""Days of the final (nr) on which policies and weights are chosen."""
JUDGE = tuple(range(101, 200, 2))
"""Days of the final that are judged."""
FIRST = (*range(101, 114, 2), *range(151, 166, 2))
"""Days of the first judgement that both policies had played when it ended."""
SECOND = (
    117, 169, 119, 171, 121, 173, 123, 175, 125, 177, 127, 179, 129, 181, 131, 183, 133, 185, 135, 187, 137, 189, 139, 191, 141,
    193, 143, 195, 145, 197, 147, 199, 149, 115, 167,
)  # fmt: skip
"""Days of the second judgement, in this order: each day with both policies before the next. The costs of one or both of the first
judgement's policies are known on the last two."""
SECONDS = 5.0
"""Processor seconds of an epoch in the second judgement. The machine is shared: seconds on the clock would measure its load."""
CHOSEN = ("prizes", "learned")
"""The policies of the second judgement, with their default options, which were tuned on TUNE."""
DAYS_USED = {1: {"prizes": "2 to 5", "learned": "48 + 2"}, 2: {"prizes": "61", "learned": "40 + 40"}}
"""For each judgement and policy: days of training, if any, and days played to tune options (day-tuning.csv has the second's)."""
