"""A branching policy by a graph neural network, whose input is the LP of each node as a bipartite graph of columns and rows."""
