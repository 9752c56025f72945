"""Jobs that arrive over time: who goes next on a machine, decided by what has arrived."""
