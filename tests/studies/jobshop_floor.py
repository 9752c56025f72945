"""A shop floor over time: the learned dispatcher beside tuned dispatching rules and beside re-solving.

    python tests/studies/jobshop_floor.py tune --output RULES         # the rules' parameters, on days to choose on
    python tests/studies/jobshop_floor.py judge --rules RULES --policies NAME=NETWORK ... --output FILE   # once; a row per day
    python tests/studies/jobshop_floor.py show --output FILE

The split was made before anything was tuned. `corl train` draws its days from its own seeds, below 2**32. Days to choose on have the
seeds from 1,000,000 on, days to judge on those from 2,000,000 on. A regime is a load, a tightness of due dates and a share of set-ups;
the nine regimes are a Latin square of three values each. The regime named first, in which the policy is to win by a tenth, is the
middle: load 0.85, tightness 4, set-ups of 0.4 durations. A day has 500 jobs on 10 machines; half of the operations have a second
machine, and machines are down for 0.05 of the time. Each regime is judged on 30 days.
"""

from __future__ import annotations

CHOOSE, JUDGE = 1_000_000, 2_000_000
LOADS, TIGHTNESSES, SETUPS = (0.8, 0.85, 0.9), (3.0, 4.0, 5.0), (0.2, 0.4, 0.6)
REGIMES = [(LOADS[i], TIGHTNESSES[j], SETUPS[(i + j + 2) % 3]) for i in range(3) for j in range(3)]
NAMED = (0.85, 4.0, 0.4)
JOBS, MACHINES, DAYS = 500, 10, 30
