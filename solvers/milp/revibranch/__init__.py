"""ReviBranch: branching learned by reinforcement alone, each decision seen with those above it in the tree (arXiv 2508.17452)."""
