"""Players of the mallocGame: recipes of AlphaZero and MuZero for it."""
