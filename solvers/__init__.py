"""Solvers, in a folder for each problem, and modules that several solvers share; import them as `corl.solvers.NAME`."""

if __name__ != "corl.solvers":
    raise ImportError(f"import this package as corl.solvers, not as {__name__!r}: a second copy of every class would be made")
