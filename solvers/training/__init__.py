"""The old place of the generic recipes, see corl.learning.algorithms; it goes with the next version."""
