"""HTML pages in one style, for light and dark mode: self-contained files that load nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from corl.version import __version__

__all__ = ["render"]


def render(
    package: str, values: Mapping[str, Any], filters: Mapping[str, Callable[..., str]] | None = None, parent: str = ""
) -> str:
    """Return the HTML of the template `page.html` in a package.

    Args:
        package: The package; its template extends "page", the page.html beside this file, or the one of `parent`.
        values: The template's variables; `version`, the version of corl, is added.
        filters: The template's filters.
        parent: Another package, whose template this one extends by the package's name.
    """
    from jinja2 import DictLoader, Environment, StrictUndefined

    sources = {
        name: (resources.files(name) / "page.html").read_text(encoding="utf-8")
        for name in {package, parent or package, "corl.files"}
    }
    loader = DictLoader({"page": sources.pop("corl.files")} | sources)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= dict(filters or {})
    return environment.get_template(package).render(version=__version__, **values)
