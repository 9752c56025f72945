"""Schedules built by a policy trained by self-labelling (Corsini, Porrello, Calderara and Dell'Amico, NeurIPS 2024).

Self-labelling means that the policy learns to imitate the best of its own samples.
"""
