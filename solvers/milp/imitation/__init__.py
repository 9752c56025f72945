"""Imitation of strong branching: the teacher that labels nodes of SCIP's trees, and what the recipes do with its labels."""
