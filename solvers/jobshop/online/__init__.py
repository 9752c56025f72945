"""Online policies of a shop floor (corl.online)."""
