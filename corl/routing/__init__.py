"""What tsp, vrp and orienteering share: distances (plane, globe, matrices), TSPLIB sections, nearest neighbours."""
