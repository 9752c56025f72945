"""The split of the study of routing during the day, committed before anything was tuned.

Training: hindsight plans of sampled days of every fourth public instance outside the final (by name: the first, the fifth, ...).
Choosing: policies, options and weights are chosen on CHOOSE. Judging: once, on JUDGE, in this order, as far as the time permits.
"""

CHOOSE = tuple(range(1, 100, 10))
"""Days of the final (nr) on which options and weights are chosen."""
JUDGE = tuple(range(101, 200, 2))
"""Days on which the two chosen policies are compared once, alternately day by day."""
SECONDS = 2.5
"""Processor seconds of an epoch in the judgement: the machine is shared, and seconds on the clock would measure its load."""
CHOSEN = ("prizes", "learned")
"""The policies that are judged: the best without learning on CHOOSE, as far as it was played, and the network.

They were chosen on three of these days at 2.5 processor seconds, and on two to five at 1.5 to 5 seconds on the clock.
"""
