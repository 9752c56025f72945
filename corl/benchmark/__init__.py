"""Comparative benchmarks: suites of runs, a store that survives being killed, statistics and reports."""
