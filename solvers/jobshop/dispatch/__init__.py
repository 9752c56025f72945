"""Dispatching: schedules built greedily by priority rules, with or without random noise."""
