"""Deprecated: the generic recipes are in corl.learning.algorithms. This package will be removed in the next version."""
