"""Problem families, one folder each; imported as `corl.problems.NAME`."""

if __name__ != "corl.problems":
    raise ImportError(f"import this package as corl.problems, not as {__name__!r}: a second copy of every class would be made")
