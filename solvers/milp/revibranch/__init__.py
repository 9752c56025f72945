"""ReviBranch: branching learned by reinforcement alone; each decision uses those at its ancestors (arXiv 2508.17452)."""
