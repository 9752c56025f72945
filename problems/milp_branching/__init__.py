"""Branch and bound itself as a problem: the fewest nodes that prove a program's optimum."""
