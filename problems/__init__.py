"""Problem families, one folder for each; import them as `corl.problems.NAME`."""

if __name__ != "corl.problems":
    raise ImportError(f"import this package as corl.problems, not as {__name__!r}: a second copy of every class would be made")
