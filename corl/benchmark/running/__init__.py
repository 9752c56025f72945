"""From a suite to a store of finished runs: what is to be run, its processes, their judge."""
