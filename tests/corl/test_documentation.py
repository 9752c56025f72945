"""The site: built without a warning, whole, without a link to elsewhere that a page does not have itself; errors of one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from corl.documentation import __main__ as documentation

_CHECKOUT = Path(__file__).parents[2]


@pytest.mark.long
def test_the_site_is_built_strictly(tmp_path, monkeypatch):
    """Every page is there, every heading of the reference has its docstring, and nothing is loaded from elsewhere."""
    pytest.importorskip("mkdocstrings", reason="the site needs the extra docs")
    monkeypatch.chdir(_CHECKOUT)
    assert documentation.main(["--output", str(tmp_path / "site")]) == 0
    site = tmp_path / "site"
    pages = documentation.pages(_CHECKOUT)
    assert len(pages) > 30
    for page in pages:
        at = (site / page.relative_to(_CHECKOUT)).with_suffix(".html")
        html = (at.with_name("index.html") if page.name == "README.md" else at).read_text(encoding="utf-8")
        assert not re.search(r'<(script|img)[^>]*src="https?:|<link[^>]*"(stylesheet|preconnect)"[^>]*href="https?:', html), page
    reference = (site / "corl" / "documentation" / "reference.html").read_text(encoding="utf-8")
    for name in re.findall(r"^::: (\S+)", _page("reference.md"), re.MULTILINE):
        assert f'id="{name}"' in reference, name


def test_every_page_is_in_the_site_s_contents():
    """Nothing written for the site is left out of it."""
    contents = _page("mkdocs.yml")
    pages = [page.relative_to(_CHECKOUT).as_posix() for page in _CHECKOUT.glob("corl/documentation/**/*.md")]
    assert pages and all(page in contents for page in pages)


def test_outside_a_checkout(tmp_path, monkeypatch, capsys):
    """One line, exit 2."""
    monkeypatch.chdir(tmp_path)
    assert documentation.main(["--output", str(tmp_path / "site")]) == 2
    assert capsys.readouterr().err == "corl.documentation: the site is built in the top folder of a source checkout\n"


def _page(name):
    return (_CHECKOUT / "corl" / "documentation" / name).read_text(encoding="utf-8")
