"""The learned dispatcher for jobs that arrive over time."""
