"""Tables of figures in the pages, made of the rows of `instances/*/results/*.csv`."""
