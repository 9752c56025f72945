"""SCIP's branch and bound as an environment that an agent of the user steps."""
