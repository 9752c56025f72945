"""The environment "plane": observations with the coordinates of every node that can be visited."""
