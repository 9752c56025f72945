"""`jobshop-cp`: a learned agent for the environment "intervals" (Tassel, Gebser and Schekotihin, ICAPS 2023)."""
