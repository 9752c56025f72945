"""The version of the package, and the versions of the engines that it uses, which results record."""

import contextlib
import functools
import sys

__all__ = ["DISTRIBUTION", "__version__", "versions"]

__version__ = "0.1.0"
DISTRIBUTION = "corl-solvers"  # the name of the package for pip
_ENGINES = ("numpy", "scipy", "numba", "torch", "ortools", "pyscipopt", "pyvrp", "fast_tsp")


def versions() -> dict[str, str]:
    """Return the versions of corl, Python, and every engine that this process has imported."""
    import platform
    from importlib import metadata

    found = {"corl": __version__, "python": platform.python_version()}
    for name in _ENGINES:
        if name in sys.modules:
            with contextlib.suppress(metadata.PackageNotFoundError):
                found[name] = _installed(name)
    return found


@functools.cache
def _installed(name: str) -> str:
    """Return a package's version, cached because reading its metadata takes milliseconds."""
    from importlib import metadata

    return metadata.version(name)
