"""Shared modules of routing problems: distances (plane, globe, matrices), TSPLIB sections, nearest neighbours."""
