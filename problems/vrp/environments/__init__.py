"""Further environments of the vehicle routing problem, a folder each."""
