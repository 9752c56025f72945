"""The site: built without a warning, whole, without a link to elsewhere that a page does not have itself; errors of one line."""

from __future__ import annotations

import importlib
import inspect
import re
import tomllib
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


def test_install_commands_name_no_foreign_package():
    """What a page installs is this checkout or a package that pyproject lists; extras are those that pyproject has. The name corl
    belongs to another package on the index."""
    metadata = tomllib.loads((_CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = metadata["optional-dependencies"]
    listed = [*metadata["dependencies"], *(each for group in extras.values() for each in group)]
    known = {re.split(r"[\[<>=~; ]", each)[0].lower() for each in listed} - {metadata["name"]} | {"torch", "scikit-learn"}
    wrong = []
    for path in documentation.files(_CHECKOUT):
        text = path.read_text(encoding="utf-8") if path.suffix in (".md", ".py") else ""
        for line in re.findall(r"pip install ([^\n`()&]*)", text):
            for word in re.findall(r"[^\s\"']+", line.split(";")[0]):
                base, _, extra = (word.rstrip("].,:") or ".").partition("[")
                if base == ".":
                    wrong += [f"{path}: {word}" for each in extra.split(",") if each and each not in extras]
                elif not word.startswith("-") and base.lower() not in known and "/" not in word and "{" not in word:
                    wrong.append(f"{path}: {word}")
    assert not wrong


def test_figures_are_on_the_pages_that_their_rows_link_to():
    """Every figure with a decimal point in a table of README or choosing.md is on a page that its row links to."""
    wrong = []
    for page in (_CHECKOUT / "README.md", _CHECKOUT / "corl" / "documentation" / "choosing.md"):
        for line in page.read_text(encoding="utf-8").splitlines():
            links = [(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+\.(?:md|csv))", line)]
            if not line.startswith("|") or not links:
                continue
            linked = " ".join(path.read_text(encoding="utf-8") for path in links if path.is_file())
            figures = re.findall(r"(?<![\w.])\d+\.\d+(?= ?%| and | to | times| of the| s\b)", re.sub(r"\([^)]*\)", "", line))
            wrong += [f"{page.name}: {figure} in {line[:60]}" for figure in figures if figure not in linked]
    assert not wrong


def test_arguments_are_listed_as_the_reference_page_reads_them():
    """Of every function on the reference page with more than three arguments, each is an entry of the section Args."""
    reference = (_CHECKOUT / "corl" / "documentation" / "reference.md").read_text(encoding="utf-8")
    for place in re.findall(r"^::: (\S+)$", reference, re.MULTILINE):
        module, _, name = place.rpartition(".")
        each = getattr(importlib.import_module(module), name)
        if inspect.isfunction(each) and len(parameters := inspect.signature(each).parameters) > 3:
            section = inspect.getdoc(each).partition("Args:")[2]
            assert [key for key in parameters if not re.search(rf"^    \*{{0,2}}{key}: [A-Z\"]", section, re.MULTILINE)] == [], (
                place
            )
