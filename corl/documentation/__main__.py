"""`python -m corl.documentation --output site`: the site, run in a source checkout (`pip install ".[docs]"`).

Warnings are errors. The site's folders are the repository's, so that a link between two pages works in both; files that are
linked to come along.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from corl.errors import CorlError, UsageError

__all__ = ["build", "files", "main", "pages"]

_PAGES = ("README.md", "problems/**/*.md", "instances/*/results/*.md", "corl/**/*.md")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def main(arguments: list[str] | None = None) -> int:
    """Build what the command line says; 0, or the exit code of what was wrong."""
    parser = argparse.ArgumentParser(prog="python -m corl.documentation", description="Builds the documentation as a site.")
    parser.add_argument("--output", type=Path, default=Path("site"), help="the folder to write; default site")
    given = parser.parse_args(arguments)
    try:
        build(given.output)
    except CorlError as error:
        print(f"corl.documentation: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def build(output: Path) -> None:
    """Write the site. Raises UsageError outside a checkout, without mkdocs, or where a page is not as it should be."""
    root = Path.cwd()
    configuration = root / "corl" / "documentation" / "mkdocs.yml"
    if not configuration.exists():
        raise UsageError("the site is built in the top folder of a source checkout")
    try:
        from mkdocs.commands.build import build as write
        from mkdocs.config import load_config
        from mkdocs.exceptions import MkDocsException
    except ImportError:
        raise UsageError('mkdocs is not installed: pip install ".[docs]"') from None
    with tempfile.TemporaryDirectory() as folder:
        for path in files(root):
            there = Path(folder) / path.relative_to(root)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, there)
        try:
            write(load_config(str(configuration), docs_dir=folder, site_dir=str(output.resolve()), strict=True))
        except MkDocsException as error:
            raise UsageError(str(error)) from None


def pages(root: Path) -> list[Path]:
    """All pages of a checkout, those beside the code as well."""
    return sorted({path for pattern in _PAGES for path in root.glob(pattern)})


def files(root: Path) -> Iterator[Path]:
    """All pages of a checkout and the files that they link to, each once."""
    found = dict.fromkeys(pages(root))
    for page in list(found):
        for link in _LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if target.is_file() and target.is_relative_to(root):
                found[target] = None
    yield from found


if __name__ == "__main__":
    raise SystemExit(main())
