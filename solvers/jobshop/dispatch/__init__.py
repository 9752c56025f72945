"""Dispatching: greedy rules, with and without noise."""
