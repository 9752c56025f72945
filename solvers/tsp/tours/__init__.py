"""What the searches share: a tour as an array, a queue of cities, the double bridge, and cities renumbered along a curve."""
