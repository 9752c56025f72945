"""The engine behind `ils` for asymmetric instances."""
