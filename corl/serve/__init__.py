"""Serving: jobs over HTTP (`corl serve`), and tools for agents (`corl mcp`)."""
