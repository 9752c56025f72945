"""Mixed-integer linear programs."""
