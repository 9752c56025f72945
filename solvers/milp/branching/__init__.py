"""Learned branching: policies that choose SCIP's branching variables, trained by imitating strong branching."""
