"""A learned agent of the interval environment: `jobshop-cp` (Tassel, Gebser and Schekotihin, ICAPS 2023)."""
