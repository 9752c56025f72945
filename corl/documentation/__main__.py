"""`python -m corl.documentation --output site`: the site, run in a source checkout (`pip install ".[docs]"`).

Warnings of mkdocs are errors. The site has the same folders as the repository, so that a link between two pages works in both.
Files that a page links to are copied to the site.
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
    """Build the site as the command line says, and return the exit code."""
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
    """Write the site to the folder `output`. Raises UsageError outside a checkout, without mkdocs, or for a malformed page."""
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
            copy = Path(folder) / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        try:
            write(load_config(str(configuration), docs_dir=folder, site_dir=str(output.resolve()), strict=True))
        except MkDocsException as error:
            raise UsageError(str(error)) from None


def pages(root: Path) -> list[Path]:
    """Return all pages of a checkout, including those beside the code."""
    return sorted({path for pattern in _PAGES for path in root.glob(pattern)})


def files(root: Path) -> Iterator[Path]:
    """Yield all pages of a checkout and the files that they link to, each once."""
    found = dict.fromkeys(pages(root))
    for page in list(found):
        for link in _LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if target.is_file() and target.is_relative_to(root):
                found[target] = None
    yield from found


if __name__ == "__main__":
    raise SystemExit(main())
