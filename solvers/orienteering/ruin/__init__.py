"""Ruin and recreate for paths with a limit: the default."""
