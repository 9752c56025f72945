"""Search over environments: what a problem attaches to, and the searches."""
