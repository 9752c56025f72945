"""Files: reading with errors that name file, line and field, atomic writing, JSON, pictures and HTML pages."""
