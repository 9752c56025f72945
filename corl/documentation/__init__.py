"""Pages of the documentation. `python -m corl.documentation` makes a site of these pages and of the pages beside the code."""
