"""Progress: lines where stderr is no terminal, one live line where it is."""

from __future__ import annotations

import io
import sys

import pytest

from corl.progress import Progress


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "0\nsaid\n1\n2\n"),
        ({"every": 1e9}, "0\nsaid\n"),
        ({"every": 1e9, "ending": True}, "0\nsaid\n2\n"),
        ({"shown": False, "ending": True}, "said\n"),
    ],
)
def test_lines(options, expected, capsys):
    """Off a terminal updates print at most one line every so many seconds, and once more at the end where asked for."""
    steps = [0]
    with Progress(lambda: str(steps[-1]), **options) as progress:
        assert not progress.live
        progress.update()
        progress.say("said")
        for step in (1, 2):
            steps.append(step)
            progress.update()
    assert capsys.readouterr().err == expected


def test_nothing_is_shown_of_what_never_began(capsys):
    """The line at the end follows others only."""
    with Progress(lambda: "a", ending=True):
        pass
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("done", [None, 0.57])
def test_a_live_line(monkeypatch, done):
    """On a terminal the line is drawn, also what looks like markup, with a bar where there is a fraction, and then erased."""
    terminal = Terminal()
    for name, value in {"TERM": "xterm", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(lambda: "[red]name", fraction=None if done is None else lambda: done) as progress:
        assert progress.live
        progress.update()
        progress.say("a [b]\nline")
    shown = terminal.getvalue()
    assert "[red]name" in shown and "a [b] line" in shown and ("57 %" in shown) == (done is not None)
    assert "\x1b[2K" in shown.rpartition("[red]name")[2]
