"""The page of a run while it is solved."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import numpy as np
import pytest

import corl
from corl.cli.main import main
from corl.loading import load
from corl.run import Improvement
from corl.view import live as live_pages
from corl.view.live import LivePage
from corl.view.page import page


def asked(address: str, mark: str = "") -> tuple[int, str, str]:
    """The status, the mark and the text of an answer."""
    request = urllib.request.Request(address, headers={"If-None-Match": mark} if mark else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["ETag"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("ETag", ""), ""


@pytest.fixture
def cities():
    return load(np.array([[0, 0], [0, 3], [4, 3], [4, 0]]), "tsp")


def test_a_page_follows_its_run(cities):
    """From the bare instance to the result; what a browser has already is not sent again, and no other path answers."""
    with LivePage(*cities) as live:
        status, first, text = asked(live.address)
        assert status == 200 and 'id="live"' in text and "follow()" in text
        assert asked(live.address, first)[0] == 304
        live._due = 0.0
        live.update(Improvement(0.5, 16.0, None, np.array([0, 2, 1, 3])))
        status, second, text = asked(live.address, first)
        assert status == 200 and second != first and ">16<" in text and '"trace":[[0.5,16.0,null]]' in text
        live.finish(corl.solve(cities[1], problem="tsp", solver="exact", time_limit=20))
        _, _, text = asked(live.address, second)
        assert "optimal" in text and 'id="live"' not in text and "follow()" not in text
        assert asked(live.address[:-1])[0] == 404
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(live.address, timeout=5)


def test_the_first_page_is_made_before_the_run(cities, monkeypatch):
    """It takes long, because of imports; counted as a share of the run, it would delay the second one for long."""
    made = []

    def counted(*given, **keywords):
        made.append(given)
        return page(*given, **keywords)

    monkeypatch.setattr(live_pages, "page", counted)
    with LivePage(*cities) as live:
        assert len(made) == 1
        asked(live.address)
        assert len(made) == 1
        live.update(Improvement(0.5, 16.0, None, np.array([0, 2, 1, 3])))
        assert ">16<" in asked(live.address)[2]


def test_rendering_takes_a_small_share_of_the_time(cities):
    """A run that improves all the time is not drawn all the time."""
    with LivePage(*cities) as live:
        mark = asked(live.address)[1]
        live._due = float("inf")
        live.update(Improvement(0.5, 16.0, None, np.array([0, 2, 1, 3])))
        assert asked(live.address, mark)[0] == 304


def test_the_command_says_where_its_page_is(tmp_path, capsys):
    """On standard error; the result is as without a page."""
    corl.registry.problem("tsp").write(load(np.array([[0, 0], [0, 3], [4, 3], [4, 0]]), "tsp")[1], tmp_path / "four.tsp")
    assert main(["solve", str(tmp_path / "four.tsp"), "--solver", "exact", "--live", "--json"]) == 0
    printed = capsys.readouterr()
    assert re.search(r"array is shown at http://127\.0\.0\.1:\d+/\S{16}\n", printed.err)
    assert '"status": "optimal"' in printed.out
