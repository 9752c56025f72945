"""Small instance files, benchmark suites and best-known values; data only."""
