"""The site: built without a warning, whole, without a link to elsewhere that a page does not have itself; errors of one line."""

from __future__ import annotations

import re

import pytest

from corl.documentation import __main__ as documentation


@pytest.mark.slow
def test_the_site_is_built_strictly(tmp_path):
    """Every page is there, every heading of the reference has its docstring, and nothing is loaded from elsewhere."""
    pytest.importorskip("mkdocstrings", reason="the site needs the extra docs")
    assert documentation.main(["--output", str(tmp_path / "site")]) == 0
    site = tmp_path / "site"
    for page in documentation.pages():
        at = (site / page.relative_to(documentation._ROOT)).with_suffix(".html")
        html = (at.with_name("index.html") if page.name == "README.md" else at).read_text(encoding="utf-8")
        assert not re.search(r'<(script|img)[^>]*src="https?:|<link[^>]*"(stylesheet|preconnect)"[^>]*href="https?:', html), page
    reference = (site / "corl" / "documentation" / "reference.html").read_text(encoding="utf-8")
    for name in re.findall(r"^::: (\S+)", _page("reference.md"), re.MULTILINE):
        assert f'id="{name}"' in reference, name


def test_every_page_is_in_the_site_s_contents():
    """Nothing written for the site is left out of it."""
    contents = _page("mkdocs.yml")
    for page in documentation._ROOT.glob("corl/documentation/**/*.md"):
        assert page.relative_to(documentation._ROOT).as_posix() in contents


def test_outside_a_checkout(tmp_path, monkeypatch, capsys):
    """One line, exit 2."""
    monkeypatch.setattr(documentation, "_ROOT", tmp_path)
    assert documentation.main(["--output", str(tmp_path / "site")]) == 2
    assert capsys.readouterr().err == "corl.documentation: the site is built from a source checkout\n"


def _page(name):
    return (documentation._ROOT / "corl" / "documentation" / name).read_text(encoding="utf-8")
