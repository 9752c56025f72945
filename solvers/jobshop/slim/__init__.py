"""Schedules built by a learned policy that labels itself (Corsini, Porrello, Calderara and Dell'Amico, NeurIPS 2024)."""
