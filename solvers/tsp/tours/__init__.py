"""Parts shared by the searches: a tour as an array, a queue of cities, the double bridge, and renumbered cities."""
