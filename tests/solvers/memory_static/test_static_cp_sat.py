"""CP-SAT on static allocation: optimal beside enumeration, with capacities, alignments and fixed offsets."""

from __future__ import annotations

import itertools

import corl


def test_small_instances_are_optimal(random_instance, lowest):
    """And one below the lowest height is infeasible."""
    for seed, kind in itertools.product(range(3), ("plain", "aligned", "fixed")):
        instance = random_instance(5, seed, kind)
        best = lowest(instance)
        result = corl.solve(instance, solver="cp-sat", time_limit=60)
        assert result.status == "optimal" and result.objective == best
        met = corl.solve(instance, solver="cp-sat", capacity=best, time_limit=60)
        assert met.objective == best
        if best:
            assert corl.solve(instance, solver="cp-sat", capacity=best - 1, time_limit=60).status == "infeasible"
