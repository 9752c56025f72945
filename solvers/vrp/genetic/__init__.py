"""Hybrid genetic search for vehicle routing with capacities."""
