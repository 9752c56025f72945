"""Further environments of the job shop, a folder each."""
