"""The agent of the constraint-programming simulator: `jobshop-cp` (Tassel, Gebser and Schekotihin, ICAPS 2023)."""
