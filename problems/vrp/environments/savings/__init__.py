"""Symmetric instances with capacities alone: what the plan by savings costs after each action."""
