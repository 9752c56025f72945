"""The orienteering problem: the most score within a limit on the length."""
