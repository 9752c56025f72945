"""Heatmap + MCTS for the TSP: sampled k-opt actions guided by edge weights."""
