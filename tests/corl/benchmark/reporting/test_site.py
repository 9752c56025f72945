"""The site of a store: where peers are ahead of us comes first, programs are shown fairly, nothing comes from elsewhere."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import pytest
from contests import contest, run
from test_page import HOSTILE, browse, chromium  # noqa: F401

from corl.benchmark.reporting.published import PublishedResult
from corl.benchmark.reporting.report import build
from corl.benchmark.site.pages import write_site
from corl.benchmark.site.standings import standings
from corl.errors import UsageError

SOLVERS = {"a": {"solver": "eax"}, "b": {"solver": "fast-tsp"}, "p": {"solver": "p", "held": ""}}

PROBE = """<script>
const shown = () => [...document.querySelectorAll("table.standings tbody tr")].filter(row => !row.hidden).length;
const result = {errors: window.errors, shown: [shown()]};
for (const [name, choice] of [["whose", "ours"], ["limit", "1 s"], ["whose", ""]]) {
  const select = document.querySelector(`select[data-filter=${name}]`);
  select.value = choice; select.dispatchEvent(new Event("change")); result.shown.push(shown());
}
result.hidden = document.querySelector(".filters").hidden;
document.body.dataset.result = JSON.stringify(result);
</script></body>"""


def of(store, records, solvers=SOLVERS, **more):
    """The standings of the only suite of a store."""
    definition = {"problem": "tsp", "solvers": solvers} | more
    (report,) = build(store(records, definition)).suites
    return standings(report, definition)


def texts(folder) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_a_peer_ahead_is_the_first_line(store, tmp_path):
    """With the difference, its interval and the number of instances; solvers of others in corl are peers like programs."""
    found = of(store, contest(step=-0.5, solvers=("a", "b")))
    (line,) = found.ahead
    assert re.fullmatch(r"b ahead of a on s at 10 s by 0.\d+ % \[0.\d+ %, 0.\d+ %\] of the reference, 8 instances", line)
    assert found.main == "a" and [each.whose for each in found.lines] == ["ours", "fast-tsp"]


@pytest.mark.parametrize(
    ("solvers", "words"),
    [("ab", "No peer is ahead of ours in 1 comparison,"), ("a", "No peer has been run: nothing is compared.")],
)
def test_no_peer_ahead_and_none_there(store, tmp_path, solvers, words):
    """Are two different statements: behind in every comparison, or nothing to compare with."""
    write_site(store(contest(step=0.5, solvers=solvers), {"problem": "tsp", "solvers": SOLVERS}), tmp_path / "site")
    assert all(words in page for name, page in texts(tmp_path / "site").items() if name in ("index.html", "tsp.html"))


def test_a_smaller_mean_that_may_be_chance_says_so(store):
    """Of few instances there is no interval: the line stays, and says that nothing is shown."""
    (line,) = of(store, contest(instances=2, seeds=1, step=-3.0)).ahead
    assert line.endswith("2 instances, not significant")


def test_failures_of_ours_count(store):
    """A peer that is worse where both solved, but solves what ours does not, is in the list."""
    records = contest(step=0.5)
    lost = {"outcome": "crash", "objective": None, "trace": ()}
    records = [replace(r, **lost) if r.solver == "a" and r.instance == "i0" else r for r in records]
    assert of(store, records).ahead == ["b ahead of a on s at 10 s; a failed in 3 runs, b in 0"]


def test_strata_in_which_a_peer_has_the_smaller_mean(store):
    """Are named also where the peer is behind on the whole set."""
    records = contest(step=1.0)
    records = [replace(r, objective=106.5) if r.solver == "b" and r.instance in ("i6", "i7") else r for r in records]
    groups = {f"i{k}": {"group": "large" if k > 5 else "small"} for k in range(8)}
    assert of(store, records, instances=groups).ahead == ["b has the smaller mean on s at 10 s in: large"]


def test_a_program_is_timed_by_its_runs_at_every_limit(store):
    """Its trace is one point, the end: the time to a gap and the curve are those of its shorter runs, from the first on."""
    records = contest(solvers=("a",)) + contest(solvers=("a",), time_limit=1.0)
    for limit, objective in ((1.0, 100.5), (10.0, 100.05)):
        end = {"time_limit": limit, "runtime": limit + 0.3, "trace": ((limit + 0.3, objective, None),)}
        records += [run("p", f"i{k}", seed, objective, **end) for k in range(8) for seed in range(3)]
    found = of(store, records)
    times = [(each.share, each.median) for line in found.lines if line.row.solver == "p" for each in line.times]
    assert times == [(1.0, 1.0), (1.0, 10.0), (0.0, None)]
    (curve,) = (curve for curve in found.curves if curve.label == "p")
    assert curve.x[0] >= 1.0 and curve.y[0] == pytest.approx(0.005, rel=0.01) and curve.y[-1] == pytest.approx(0.0005, rel=0.01)
    assert [line.held for line in found.lines if line.row.solver == "p"] == ["", ""]


def test_a_program_with_one_limit_has_a_mark(store):
    """One point is no line: the curve is a short one that ends at the limit."""
    records = contest(solvers=("a",))
    records += [run("p", f"i{k}", seed, 102.0, trace=((10.4, 102.0, None),)) for k in range(8) for seed in range(3)]
    (curve,) = (curve for curve in of(store, records).curves if curve.label == "p")
    assert len(curve.x) == 2 and curve.x[-1] == pytest.approx(10.0) and curve.y[0] == curve.y[1] == pytest.approx(2 / 102)


def test_the_files_of_a_site(store, tmp_path):
    """The overview leads to problems, these to reports and to all runs as CSV; every link inside is to a file of the site."""
    made = store(contest(step=-0.5, cpu_seconds=9.5), {"problem": "tsp", "solvers": SOLVERS})
    written = write_site(made, tmp_path / "site", command="corl report runs.db --site site")
    pages = texts(tmp_path / "site")
    assert {path.name for path in written} == set(pages) == {"index.html", "tsp.html", "suite-s.html", "suite-s.csv"}
    for name, page in pages.items():
        if name.endswith(".html"):
            links = re.findall(r"""(?:src|href)=["']([^"'#][^"']*)""", page)
            assert {link for link in links if link != "data:,"} <= set(pages), name
            assert "http" not in page.replace("http://www.w3.org", "") and "@import" not in page and "url(" not in page
    assert pages["tsp.html"].index("b ahead of a") < pages["tsp.html"].index("<table") and "b ahead of a" in pages["index.html"]
    assert "corl bench s.toml" in pages["tsp.html"] and "corl report runs.db --site site" in pages["tsp.html"]
    rows = list(csv.DictReader(pages["suite-s.csv"].splitlines()))
    assert len(rows) == 48 and {row["cpu_seconds"] for row in rows} == {"9.5"} and float(rows[0]["gap_percent"]) > 0.0


def test_published_results_are_marked_and_not_compared(store, tmp_path):
    """They are in a table of their own, and never in the first line."""
    theirs = PublishedResult("tsp", "LKH", "", "all", "a laptop", "2020", "a paper", 8.0, None, 0.001, 60.0)
    made = store(contest(step=0.5), {"problem": "tsp", "solvers": SOLVERS})
    write_site(made, tmp_path / "site", [theirs])
    page = texts(tmp_path / "site")["tsp.html"]
    assert "LKH (published)" in page and "No peer is ahead of ours in 1 comparison" in page
    assert page.count("LKH") == 1


def test_names_are_data_in_a_site(store, tmp_path):
    """Labels and reasons of any content are neither markup, nor names of files elsewhere, nor formulas."""
    records = [run(HOSTILE, "../../x", suite="s", outcome="crash", objective=None, reason="=1+1", trace=())]
    write_site(store([*records, run("a", "i")], {"problem": "tsp", "solvers": {}}), tmp_path / "site")
    pages = texts(tmp_path / "site")
    assert "<img" not in pages["tsp.html"] + pages["suite-s.html"] and "'=1+1" in pages["suite-s.csv"]


def test_a_store_without_runs(store, tmp_path):
    """Is an error, and no folder is made."""
    with pytest.raises(UsageError, match="holds no runs"):
        write_site(store([]), tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_the_filters_in_a_browser(chromium, store, tmp_path, monkeypatch):  # noqa: F811
    """In Chromium: no script error; the choices hide what does not fit, together, and show it again."""
    monkeypatch.setattr("test_page.PROBE", PROBE)
    records = contest(solvers=("a", "b", "c")) + contest(solvers=("a", "b", "c"), time_limit=1.0)
    write_site(store(records, {"problem": "tsp", "solvers": SOLVERS}), tmp_path / "site")
    found = browse(chromium, (tmp_path / "site" / "tsp.html").read_text(), tmp_path)
    assert found == {"errors": [], "shown": [6, 4, 2, 3], "hidden": False}
