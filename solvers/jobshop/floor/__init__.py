"""Policies for a shop floor over time: dispatching rules with tuned parameters, and a learned dispatcher."""
