"""The documentation's pages, and what makes a site of them and of the pages beside the code: `python -m corl.documentation`."""
