"""Processes: pipes, child processes, teams that solve one instance, workers that answer payloads, and Ray in their place."""
