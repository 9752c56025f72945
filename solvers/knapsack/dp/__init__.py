"""Dynamic programming over the core, that is, over items whose density is near that of the first one that does not fit."""
