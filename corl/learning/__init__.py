"""Training: the recipes, which are training algorithms with options, and the replay, sessions and workers that they share."""
