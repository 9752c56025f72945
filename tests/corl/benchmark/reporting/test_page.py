"""The HTML page: safe whatever names say, alone, and at work in a browser."""

from __future__ import annotations

import dataclasses
import html.parser
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from contests import contest, run

from corl.benchmark.reporting.markdown import report_markdown
from corl.benchmark.reporting.page import page
from corl.benchmark.reporting.report import Report, build, of_suite

HOSTILE = '<img src=x onerror="document.title=1">'


PROBE = """<script>
const first = table => [...table.tBodies[0].rows].map(row => row.cells[0].dataset.v);
const table = document.querySelector("table.summary"), heads = table.tHead.rows[0].cells, result = {errors: window.errors};
heads[2].querySelector("button").click(); result.up = first(table);
heads[2].querySelector("button").click(); result.down = first(table);
heads[0].querySelector("button").click(); result.name = first(table);
const shown = () => [...table.tBodies[0].rows].filter(row => !row.hidden).length;
result.shown = [shown()];
for (const button of document.querySelectorAll(".switch button")) { button.click(); result.shown.push(shown()); }
result.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
result.width = document.documentElement.clientWidth;
result.background = getComputedStyle(document.body).backgroundColor;
document.body.dataset.result = JSON.stringify(result);
</script></body>"""


def test_names_are_data(store):
    """Names, reasons and options of any content are escaped: nothing of them becomes markup or a Markdown column."""
    hostile = {HOSTILE: HOSTILE}
    records = [
        run(HOSTILE, HOSTILE, objective=None, outcome="crash", reason=HOSTILE, options=hostile, reference_source=HOSTILE),
        run("a|b", "</script><script>alert(1)</script>", commit=HOSTILE, versions=hostile, machine=hostile),
    ]
    made = store(records, {"problem": "tsp", "instances": {HOSTILE: {"group": HOSTILE}}})
    made.add_curve(HOSTILE, 1, HOSTILE, 2.0)
    made.add_training(HOSTILE, {HOSTILE: HOSTILE})
    report = build(made)
    text = page(report)

    class Tags(html.parser.HTMLParser):
        seen: set[str] = set()  # noqa: RUF012
        scripts = 0

        def handle_starttag(self, tag, attributes):
            self.seen.add(tag)
            self.scripts += tag == "script"
            assert not any(name.startswith("on") for name, _ in attributes)

    tags = Tags()
    tags.feed(text)
    assert "img" not in tags.seen and tags.scripts == 1
    assert "<img" not in re.sub(r"\\<", "", report_markdown(report)) and "a\\|b" in report_markdown(report)


def test_the_page_loads_nothing():
    """No address of a network stands in the page but in names of XML's own."""
    text = page(Report("x.db", [of_suite(contest())], {}, {}))
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", text) and "@import" not in text and "url(" not in text
    assert "http" not in text.replace("http://www.w3.org", "")


def browse(chromium: str, text: str, folder: Path, *flags: str) -> dict:
    """What the page comes to in a headless Chromium: the probe's findings, errors on the console among them."""
    catch = "<head><script>window.errors = []; window.addEventListener('error', e => window.errors.push(e.message));</script>"
    file = folder / "probed.html"
    file.write_text(text.replace("<head>", catch, 1).replace("</body>", PROBE, 1), encoding="utf-8")
    quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--window-size=390,844")
    command = [chromium, *quiet, f"--user-data-dir={folder / 'profile'}", *flags, "--dump-dom", file.as_uri()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    try:
        dom, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    found = re.search(r'data-result="([^"]*)"', dom)
    assert found, dom[:500]
    return json.loads(html.unescape(found[1]))


@pytest.fixture
def chromium() -> str:
    """The browser's command, where there is one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    return found


def test_the_page_in_a_browser(chromium, tmp_path):
    """In Chromium: no script error, columns sort both ways, unknown values last, the switch filters, nothing is too wide."""
    records = [*contest(step=3.0, solvers=("c", "a", "b")), *contest(step=3.0, solvers=("c", "a", "b"), time_limit=1.0)]
    lost = {"solver": "none", "objective": None, "outcome": "nothing", "trace": ()}
    records += [dataclasses.replace(r, **lost) for r in contest(solvers=("x",))]
    text = page(Report("x.db", [of_suite(records)], {}, {}))
    found = browse(chromium, text, tmp_path)
    assert found["errors"] == []
    assert found["up"][-1] == found["down"][-1] == "none" and found["name"] == sorted(found["name"])
    assert list(dict.fromkeys(found["up"])) == ["c", "a", "b", "none"]
    assert found["down"][:-1] == found["up"][-2::-1]
    assert found["shown"] == [4, 3, 4, 7] and not found["wide"] and found["width"] <= 500
    assert found["background"] == "rgb(255, 255, 255)"
    dark = browse(chromium, text, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert dark["background"] == "rgb(20, 24, 29)" and dark["errors"] == []
