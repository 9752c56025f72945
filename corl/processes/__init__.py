"""Processes: pipes, child processes, teams that solve one instance, workers for training, and their execution on Ray."""
