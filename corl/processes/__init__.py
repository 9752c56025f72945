"""Processes of our own: pipes, children, teams that solve one instance, workers that answer payloads, Ray in their place."""
