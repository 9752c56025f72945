"""Learned reliability: SCIP's reliability branching, with predicted gains in place of its strong branching."""
