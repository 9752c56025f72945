"""SCIP: as a solver, as an engine for learned branching rules, and its C functions and current LP for kernels."""

MEASURING = 536_870_911
"""The highest priority that SCIP accepts for a branching rule: of rules that record or teach."""
FIRST = MEASURING - 1
"""The priority of a solver's own branching rule, higher than that of SCIP's rules."""
