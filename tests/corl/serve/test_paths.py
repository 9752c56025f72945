"""No path in the data of a client is opened."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corl.errors import CorlError
from corl.loading import generate
from corl.networks.checkpoints import SHIPPED_ONLY
from corl.result import Result
from corl.serve.limits import Limits
from corl.serve.request import read_request
from corl.solving import solve
from support.serving import SQUARE

_opened: list[str] = []
_watched = ""


def _hook(event: str, arguments: tuple) -> None:
    if _watched and event == "open" and os.path.abspath(os.fsdecode(arguments[0])) == _watched:
        _opened.append(_watched)


sys.addaudithook(_hook)  # which cannot be removed


@pytest.fixture
def secret(tmp_path, monkeypatch) -> Iterator[Path]:
    """A file that a client names; the test fails if it is opened."""
    global _watched
    monkeypatch.setenv(SHIPPED_ONLY, "1")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "secret-file"
    path.write_text(SQUARE)
    _watched = str(path)
    _opened.clear()
    yield path
    _watched = ""
    assert not _opened


def requests(path: str) -> dict[str, dict]:
    """Requests that name a path, each in another place."""
    generator = {"problem": "memory", "generator": "model", "parameters": {"file": path}}
    policy = {"kind": "network", "checkpoint": path, "digest": "", "search": "", "simulations": 0}
    return {
        "instance": {"instance": path},
        "problem": {"instance": SQUARE, "problem": path},
        "name": {"instance": SQUARE, "name": path},
        "solver": {"instance": SQUARE, "solver": path},
        "policy": {"instance": SQUARE, "solver": "policy", "options": {"policy": path}},
        "text": {"instance": SQUARE, "solver": "tree-search", "options": {"policy": [path]}},
        "warm start": {"instance": SQUARE, "warm_start": {"problem": "tsp", "solution": path}},
        "list": {"instance": SQUARE, "warm_start": [path]},
        "policy of a solution": {"instance": None, "warm_start": policy},
        "generator": {"instance": generator},
        "generator in a text": {"instance": json.dumps(generator)},
    }


@pytest.mark.parametrize("place", requests(""))
@pytest.mark.parametrize("form", ["absolute", "relative"])
def test_no_named_file_is_opened(secret, tmp_path, place, form):
    """Wherever a request names one, relative to the current folder or not. Each is refused, or else its solve."""
    request = requests(str(secret) if form == "absolute" else secret.name)[place]
    if request["instance"] is None:
        from corl.registry import problem

        bandits = problem("bandits")
        bandits.write(generate("bandits", "capacity", arms=6, pulls=2, seed=0), tmp_path / "arms.json")
        request["instance"] = (tmp_path / "arms.json").read_text()
    (inside := tmp_path / "inside").mkdir()
    if (place, form) == ("name", "relative"):
        assert _solved(request, inside).objective == 40  # the name of the file that the server itself writes
    else:
        with pytest.raises(CorlError):
            _solved(request, inside)
    assert not list(inside.iterdir())


def _solved(request: dict, folder: Path) -> Result:
    found = read_request(json.dumps(request).encode(), Limits(), folder)
    return solve(found.instance, **found.arguments | {"time_limit": 0.5})


def test_the_watch_works(secret):
    """Opening the file is noticed."""
    secret.read_text()
    assert _opened
    _opened.clear()
