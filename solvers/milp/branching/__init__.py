"""Learned branching: a policy that chooses SCIP's branching variable, trained by imitation of strong branching."""
