"""SCIP's branching, stepped: episodes for agents of one's own."""
