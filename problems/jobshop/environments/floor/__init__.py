"""A shop floor over time: jobs arrive, machines break down, and set-ups depend on the sequence; decided with what is known."""
