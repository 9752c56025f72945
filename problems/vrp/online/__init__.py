"""Routing while requests arrive: the epochs of a day, which requests must go, and the sampling of requests."""
