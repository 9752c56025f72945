"""Pages: whole in themselves, safe, of every problem, and alive in a browser where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest

import corl
from corl import registry
from corl.cli.main import main
from corl.problems.jobshop.drawing import critical
from corl.problems.jobshop.instance import Schedule, from_jobs
from corl.view.page import page
from support.families import family

CASES = {name: family(name).PAGE for name in registry.problems() if hasattr(family(name), "PAGE")}


def embedded(html):
    """What the page's script reads."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def solved(name):
    kind, options = CASES[name]
    generators = registry.problem(name).generators
    instance = corl.generate(name, kind if kind in generators else "", seed=1, **(options if kind in generators else {}))
    limits = getattr(family(name), "PAGE_LIMIT", {"iterations": 200})
    return corl.solve(instance, problem=name, seed=1, **limits)


@pytest.mark.parametrize("name", CASES)
def test_a_page_of_every_problem(name):
    """Nothing is loaded from elsewhere, nothing is large; the objective, the run and the picture are there."""
    result = solved(name)
    html = result.page()
    assert not re.search(r'(?:src|href)="(?!data:)', html) and "http" not in html.replace("http://www.w3.org", "")
    assert len(html) < 1_000_000
    shown = embedded(html)
    assert [tuple(each) for each in shown["trace"]] == [tuple(each) for each in result.trace]
    drawn = getattr(family(name), "PICTURES", True)
    assert (shown["scene"] is not None) == drawn and (drawn or "There is no picture of this problem" in html)
    if drawn:
        scene = shown["scene"]
        groups = len(scene["groups"]) or 1 << 30
        assert scene["points"] or scene["lines"] or scene["boxes"]
        assert all(each[3] < groups for each in scene["points"]) and all(each[5] < groups for each in scene["boxes"])
        assert np.isfinite([each[:2] for each in scene["points"]]).all()
        assert np.isfinite([each[:4] for each in scene["boxes"]]).all()
    assert page(result._problem(), result.data)  # the instance alone


def test_routes_with_loads_and_times():
    """The stops of a route: clients in order, times that follow each other, a load that is delivered to the last of it."""
    result = solved("vrp")
    scene = embedded(result.page())["scene"]
    stops = [[stop[0] for stop in group["steps"]] for group in scene["groups"]]
    assert stops == result._problem().to_json(result.data, result.solution)
    for group in scene["groups"]:
        rows = [dict(zip(scene["steps_head"], step)) for step in group["steps"]]
        assert rows[-1]["load"] == pytest.approx(0, abs=1e-9)
        assert rows[0]["load"] < float(group["cells"][2].split(" of ")[0].replace(",", ""))
        assert all(a["departure"] <= b["arrival"] for a, b in pairwise(rows))


def test_a_day_can_be_played():
    """Vehicles are at their stops at the times of the table, clients appear at their release, jobs at theirs."""
    from corl.modelling import RoutingModel, SchedulingModel

    day = RoutingModel("day", time="min")
    day.add_depot("yard", x=0, y=0)
    day.add_client("a", x=30, y=0, demand=1, service=5, release="08:00")
    day.add_client("b", x=40, y=0, demand=1, service=5, window=("08:50", "10:00"))
    day.add_vehicle("van")
    play = embedded(day.solve(iterations=50).result.page())["scene"]["play"]
    assert (play["begin"], play["seconds"]) == (480, 60) and play["points"] == [[480, None], [480, 515], [480, 530]]
    ((times, xs, ys, group),) = play["moves"]
    assert times == [485, 515, 520, 530, 535, 575], "it leaves as late as it can"
    assert (xs, ys, group) == ([0, 30, 30, 40, 40, 0], [0] * 6, 0) and play["end"] == times[-1]
    shop = SchedulingModel("makespan")
    shop.add_job("one", [("saw", 3)])
    shop.add_job("two", [("saw", 3)], release=2)
    scene = embedded(shop.solve(time_limit=1).result.page())["scene"]
    assert scene["play"]["boxes"] == [[0, 0], [2, 3]] and scene["play"]["end"] == 6 and not scene["play"]["moves"]
    assert embedded(solved("knapsack").page())["scene"]["play"] is None


def test_critical_operations():
    """Two jobs on two machines: the chain without a gap, not the operation with slack."""
    instance = from_jobs([[[(0, 3)], [(1, 2)]], [[(1, 1)], [(0, 4)]]], 2)
    schedule, duration = Schedule(np.array([0, 3, 0, 3]), np.array([0, 1, 1, 0], np.int32)), np.array([3, 2, 1, 4])
    assert critical(instance, schedule, duration).tolist() == [True, False, False, True]


def test_names_cannot_break_out():
    """What a file says is text, never markup."""
    from corl.modelling import KnapsackModel

    model = KnapsackModel(5, name="</script><img src=x onerror=alert(1)>")
    model.add_item("a", value=1, weight=1)
    html = model.solve().result.page()
    assert "<img" not in html and html.count("</script>") == 2


def test_command(tmp_path, capsys, monkeypatch):
    """A page of a result with its trace, of a solution without one, of the instance alone; a wrong file is one line, exit 3."""
    monkeypatch.chdir(tmp_path)
    result = corl.solve("tsp/uniform-100", iterations=50)
    result.write("run.json")
    result.write("best.tour")
    for solution, traced in ((["run.json"], True), (["best.tour"], False), ([], False)):
        assert main(["view", "tsp/uniform-100", *solution, "--output", "page.html"]) == 0
        shown = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))
        assert bool(shown["trace"]) == traced and bool(shown["scene"]["lines"]) == bool(solution)
    (tmp_path / "wrong.json").write_text("[1, 2]")
    assert main(["view", "tsp/uniform-100", "wrong.json"]) in (3, 4)
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["view", "tsp/uniform-100"]) == 0 and (tmp_path / "uniform-100.html").exists()


def test_in_a_notebook_and_a_browser(tmp_path, monkeypatch):
    """A notebook gets the page in a frame; `show` without a path opens a file that is the page."""
    import tempfile
    import webbrowser

    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = solved("knapsack")
    result.show()
    (file,) = tmp_path.glob("*.html")
    assert opened == [file.as_uri()] and file.read_text(encoding="utf-8") == result.page()
    assert result._repr_html_().startswith("<iframe srcdoc=") and "<script" not in result._repr_html_()


_LIVE = """<script>
const canvas = document.getElementById("picture"), box = canvas.getBoundingClientRect();
const at = (type, x, y, more) => canvas.dispatchEvent(new (type === "wheel" ? WheelEvent : PointerEvent)(type,
  { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true, cancelable: true, ...more }));
const seen = new Set(), picture = () => canvas.toDataURL();
requestAnimationFrame(() => setTimeout(() => {
  canvas.setPointerCapture = () => {};
  const before = picture();
  for (let x = 0; x < box.width; x += 6) for (let y = 0; y < box.height; y += 6) {
    at("pointermove", x, y); if (!document.getElementById("tip").hidden) seen.add(document.getElementById("tip").textContent);
  }
  at("wheel", 200, 200, { deltaY: -300 });
  const nearer = picture();
  at("dblclick", 0, 0); canvas.dispatchEvent(new MouseEvent("dblclick"));
  const back = picture();
  document.querySelector("#groups tbody tr").click();
  const slider = document.getElementById("time"), stressed = picture(), moments = new Set();
  if (slider) for (const value of [100, 500, 900]) {
    slider.value = value; slider.dispatchEvent(new Event("input"));
    moments.add(picture()); moments.add(document.getElementById("now").textContent);
  }
  const told = { zoomed: nearer !== before, back: back === before, stressed: stressed !== before, texts: seen.size,
    moments: moments.size, steps: document.querySelectorAll("#steps tbody tr").length };
  document.title = "told " + JSON.stringify(told);
}, 100));
</script></body>"""


@pytest.mark.long
@pytest.mark.parametrize("name", ["vrp", "jobshop", "memory"])
def test_alive_in_a_browser(name, tmp_path):
    """Pointing tells, the wheel zooms, a double click shows all again, a row is stressed; the console stays silent."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    file = tmp_path / "page.html"
    file.write_text(solved(name).page().replace("</body>", _LIVE), encoding="utf-8")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,900", "--virtual-time-budget=8000"]
    flags += ["--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run([browser, *flags, file.as_uri()], capture_output=True, text=True, timeout=120)
    assert "CONSOLE" not in done.stderr, done.stderr[-2000:]
    told = json.loads(re.search(r"<title>told (.*?)</title>", done.stdout)[1].replace("&quot;", '"'))
    assert told["zoomed"] and told["back"] and told["stressed"] and told["texts"] > 3
    assert told["moments"] == (0 if name == "memory" else 6)
    assert (told["steps"] > 0) == (name in ("vrp", "jobshop"))
