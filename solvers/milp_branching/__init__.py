"""Solvers of `milp-branching`: rules that choose the variable to branch on."""
