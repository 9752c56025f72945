"""Schedules of instances with rules: units are put into the gaps of machines one after the other; their order is searched."""
