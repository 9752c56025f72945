"""What is known of a shop floor at one moment, and simulated days."""
