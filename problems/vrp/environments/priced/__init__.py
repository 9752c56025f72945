"""The environment `priced`: for each action also its reduced cost in a linear relaxation of the remaining routes."""
