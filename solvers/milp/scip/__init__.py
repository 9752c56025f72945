"""SCIP: a solver, an engine for learned branching rules, and access to SCIP's C functions and current LP for kernels."""

MEASURING = 536_870_911
"""The priority of branching rules that record or label nodes: the highest that SCIP accepts."""
FIRST = MEASURING - 1
"""The priority of a solver's own branching rule, above those of SCIP's rules."""
