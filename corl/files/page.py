"""HTML pages in one style, light and dark: self-contained files that load nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from corl.version import __version__

__all__ = ["render"]


def render(package: str, values: Mapping[str, Any], filters: Mapping[str, Callable[..., str]] | None = None) -> str:
    """Return the page that the template `page.html` of a package renders from values and corl's `version`.

    The template extends "page", which is beside this file and documents its blocks.
    """
    from jinja2 import DictLoader, Environment, StrictUndefined

    sources = {name: (resources.files(name) / "page.html").read_text(encoding="utf-8") for name in (package, "corl.files")}
    loader = DictLoader({"page": sources["corl.files"], package: sources[package]})
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= dict(filters or {})
    return environment.get_template(package).render(version=__version__, **values)
