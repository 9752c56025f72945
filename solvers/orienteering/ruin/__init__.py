"""Ruin and recreate for the orienteering problem: the default solver."""
