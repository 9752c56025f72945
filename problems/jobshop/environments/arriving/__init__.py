"""Jobs that arrive over time: which job a free machine processes next, decided without knowledge of future arrivals."""
