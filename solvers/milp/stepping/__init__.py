"""SCIP's branch and bound as an environment, in which the caller chooses the branching variables."""
