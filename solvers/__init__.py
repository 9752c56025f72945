"""Solvers: generic ones here, the others in a folder named after their problem; imported as `corl.solvers.NAME`."""

if __name__ != "corl.solvers":
    raise ImportError(f"import this package as corl.solvers, not as {__name__!r}: a second copy of every class would be made")
