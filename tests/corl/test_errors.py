"""Messages: what was meant, and how long they are."""

from __future__ import annotations

import pytest

from corl.cli.main import main
from corl.errors import hint, shortened


@pytest.mark.parametrize(
    ("name", "meant"),
    [("eaxx", "eax"), ("EAX", "eax"), ("ruin", "ruin-recreate"), ("recreate", "ruin-recreate"), ("ruin_rec", "ruin-recreate")],
)
def test_what_was_meant(name, meant):
    """Misspelt, in capitals, with underscores, or a part of the name."""
    assert hint(name, ["dp", "eax", "ruin-recreate"]) == f" (did you mean {meant!r}?)"


def test_nothing_like_it():
    """No suggestion is made up."""
    assert hint("zzz", ["eax", "ruin-recreate"]) == hint("", ["eax"]) == hint("x", []) == ""


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["solve", "tsp/uniform-100", "--solver", "neares-neighbour"], "nearest-neighbour"),
        (["solve", "tsp/uniform-100", "--solver", "ils", "--option", "breath=3"], "breadth"),
        (["solve", "tsp/uniform-100", "--problem", "ts"], "tsp"),
        (["generate", "tsp", "clusterd"], "clustered"),
        (["generate", "tsp", "--option", "sise=4"], "size"),
        (["train", "tsp", "--recipe", "policy_gradien", "--output", "x.safetensors"], "policy-gradient"),
        (["bench", "tsp/smok"], "tsp/smoke"),
        (["bench", "tsp/smoke", "--solvers", "iils"], "ils"),
        (["solve", "tsp/uniform-100", "--solver", "policy", "--option", "policy=tspbq"], "tsp-bq"),
    ],
)
def test_every_unknown_name_is_answered_by_the_nearest(arguments, meant, capsys, tmp_path, monkeypatch):
    """Solvers, options, problems, generators, recipes, suites, policies: one line with what was meant and what there is."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) in (2, 3)
    shown = capsys.readouterr().err
    assert f"(did you mean {meant!r}?)" in shown and " are: " in shown and shown.count("\n") == 1


def test_no_message_is_longer_than_can_be_read(tmp_path, capsys):
    """What is too much is left out of the middle; the beginning and the end stay."""
    text = "begin " + "x" * 5000 + " end"
    assert len(shortened(text)) <= 700 and shortened(text).startswith("begin x") and shortened(text).endswith("x end")
    assert shortened("short") == "short"
    (tmp_path / "deep.json").write_text('{"problem": "knapsack", "values": ' + "[" * 3000)
    for command in (["info", str(tmp_path / "deep.json")], ["info", "y" * 3000], ["list", "solvers", "z" * 3000]):
        assert main(command) in (2, 3)
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1 and len(shown) < 720
