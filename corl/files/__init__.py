"""Files: opened, written whole, read with errors that name file, line and field; JSON; pictures."""
