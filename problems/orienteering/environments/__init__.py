"""Further environments of the orienteering problem, a folder each."""
