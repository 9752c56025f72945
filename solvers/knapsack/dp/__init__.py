"""Dynamic programming over the core, that is, over items whose density is near the break item's."""
