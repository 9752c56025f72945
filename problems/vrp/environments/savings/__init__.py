"""The environment `savings`: after each action, the cost of a completion by the savings heuristic (Clarke and Wright)."""
