"""Training: recipes and the sessions they run in, imitation, policy gradient, self-improvement, workers."""
