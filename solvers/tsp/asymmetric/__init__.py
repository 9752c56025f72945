"""The engine of the solver `ils` for asymmetric instances."""
