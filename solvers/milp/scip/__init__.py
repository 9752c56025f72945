"""SCIP: as a solver, as a model that learned branching adds its rules to, and its C functions and present LP for kernels."""

MEASURING = 536_870_911
"""The highest priority that SCIP takes for a branching rule: of rules that measure or teach."""
FIRST = MEASURING - 1
"""The priority of the rule that a solver has before all others."""
