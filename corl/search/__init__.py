"""Tree searches over environments, and the models that they search in."""
