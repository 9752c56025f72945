"""Policies for routing while requests arrive."""
