"""The program of the page on decisions over time, exactly as printed, follows a CSV file of events."""

from __future__ import annotations

import csv
import re
from itertools import islice
from pathlib import Path

import pytest

import corl
from support.counter import CounterStream

PAGE = Path(__file__).parents[3] / "corl" / "documentation" / "decisions-over-time.md"


def printed(pattern: str) -> str:
    """The only block of the page that a pattern matches."""
    (block,) = re.findall(rf"^```{pattern}^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return str(block)


@pytest.fixture
def follow():
    """The function of the page."""
    block = printed(r"python\n(import csv\n.*?)")
    assert len(block.splitlines()) <= 40
    names: dict[str, object] = {}
    exec(block, names)
    return names["follow"]


@pytest.fixture
def events(day, tmp_path):
    """A file with the events of a day that the policy shortest plays."""
    stream, rows = CounterStream(), []
    known, world = stream.begin(day), stream.day(day, 0)
    while (event := world.next_event()) is not None:
        rows.append(event)
        stream.observe(known, event)
        while stream.decidable(known):
            customer = min(known.waiting, key=lambda each: known.waiting[each])
            stream.perform(known, world.perform({"serve": customer}))
    with open(tmp_path / "events.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["time", "kind", "customer", "duration"])
        writer.writeheader()
        writer.writerows(rows)
    return tmp_path / "events.csv"


def test_it_decides_as_in_a_simulation(follow, day, events, tmp_path):
    """Also if it is ended and started again, which refuses the events that it has seen."""
    starts = corl.online.simulate("shortest", day).solution
    expected = sorted((starts[c], {"serve": c}) for c in range(len(starts)) if starts[c] >= 0)
    assert list(follow("shortest", day, events, tmp_path / "a.json")) == expected
    first = list(islice(follow("shortest", day, events, tmp_path / "b.json"), 2))
    assert first + list(follow("shortest", day, events, tmp_path / "b.json")) == expected


def test_it_names_the_line_of_a_bad_event(follow, day, events, tmp_path, capsys):
    """And continues."""
    lines = events.read_text().splitlines()
    events.write_text("\n".join([*lines[:2], "0,departure,3,", lines[1], *lines[2:]]) + "\n")
    found = list(follow("shortest", day, events, tmp_path / "state.json"))
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 2 and errors[0].startswith(f"{events}:3: event.time is 0; accepted: a number from ")
    assert errors[1].startswith(f"{events}:4: event.customer is 0, who has arrived")
    assert len(found) == (corl.online.simulate("shortest", day).solution >= 0).sum()


def test_the_printed_shop_floor(follow, tmp_path, monkeypatch, capsys):
    """Its events are taken, and its operations start."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_text(printed(r"text\n(time,kind,.*?)"), encoding="utf-8")
    exec(printed(r"python\n(shop = .*?)"), {"follow": follow})
    done = capsys.readouterr()
    assert not done.err
    assert [line.partition(" ")[0] for line in done.out.splitlines()] == ["0.0", "5.0"]
    assert "'job': 4, 'operation': 0, 'machine': 0" in done.out and "'job': 7, 'operation': 0, 'machine': 0" in done.out
