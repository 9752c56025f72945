"""Small networks that score each listed action of an environment, and their forward pass as kernels."""
