"""corl.compilation.announcing: that kernels are compiled is said once, to whoever listens, and to nobody who does not want it."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys

import pytest

from corl.compilation import announcing

LOGGERS = ("corl", "corl.compilation")
SCRIPT = """
import logging, sys
from corl.compilation import announcing
{prelude}
announcing.announce("compiling 3 kernels")
"""


def script(prelude, **keywords):
    """What a script with this before an announcement writes to standard error."""
    command = [sys.executable, "-P", "-c", SCRIPT.format(prelude=prelude)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **keywords)
    assert done.returncode == 0 and not done.stdout, done.stderr
    return done.stderr


@pytest.fixture
def levels():
    """The loggers' levels and the process's word are as before after the test."""
    before = [logging.getLogger(name).level for name in LOGGERS]
    said = announcing._announced
    yield
    announcing._announced = said
    for name, level in zip(LOGGERS, before, strict=True):
        logging.getLogger(name).setLevel(level)


@pytest.mark.parametrize(
    ("prelude", "written"),
    [
        ("", "corl: compiling 3 kernels\n"),
        ("logging.basicConfig()", "INFO:corl.compilation:compiling 3 kernels\n"),
        ("logging.getLogger('corl').setLevel(logging.WARNING)", ""),
    ],
    ids=["nothing set up", "logging set up", "silenced"],
)
def test_a_script_says_one_line(prelude, written):
    """On standard error, or through logging where that has been set up; none where the level of corl's logger is higher."""
    assert script(prelude) == written


@pytest.mark.usefixtures("levels")
@pytest.mark.parametrize("name", LOGGERS)
def test_the_level_decides(caplog, name):
    """Of either logger; a record has level INFO, though root's level is WARNING."""
    logging.getLogger(name).setLevel(logging.ERROR)
    announcing.announce("silent")
    logging.getLogger(name).setLevel(logging.DEBUG)
    announcing.announce("heard")
    assert [(record.name, record.levelname, record.message) for record in caplog.records] == [
        ("corl.compilation", "INFO", "heard")
    ]


def test_no_standard_error_is_no_error():
    """Closed, or none at all (a window without a console)."""
    assert script("sys.stderr.close()") == "" and script("sys.stderr = None") == ""


@pytest.mark.usefixtures("levels")
def test_what_nobody_has_announced(tmp_path, monkeypatch, caplog):
    """Kernels without a record are announced once they have taken their time, once in a process; fast ones are not."""
    for name in ("swift", "slow", "more"):
        (tmp_path / f"announced_{name}.py").write_text("from corl.jit import kernel\n@kernel\ndef one(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CORL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(announcing, "_announced", False)
    for noticed, name, said in ((1e9, "swift", 0), (0.0, "slow", 1), (0.0, "more", 1)):
        monkeypatch.setattr(announcing, "NOTICED", noticed)
        importlib.import_module(f"announced_{name}").one(1)
        assert caplog.messages == ["compiling kernels once for this machine"] * said


@pytest.mark.usefixtures("levels")
def test_who_tells_is_not_told_twice(tmp_path, monkeypatch, caplog):
    """`corl warm-up`, and the processes that help it, say by themselves what they compile."""
    (tmp_path / "announced_told.py").write_text("from corl.jit import kernel\n@kernel\ndef one(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CORL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(announcing, "_announced", False)
    monkeypatch.setattr(announcing, "NOTICED", 0.0)
    with announcing.announced_by_caller():
        importlib.import_module("announced_told").one(1)
    assert not caplog.messages


@pytest.mark.long
def test_a_cold_solve_from_python_says_that_it_compiles(tmp_path):
    """One line on standard error, as of the command; the second time there is nothing to say."""
    code = "import corl; print(corl.solve(([3, 2, 4], [1, 1, 2], 2), problem='knapsack', solver='dp', time_limit=0.2).status)"
    environment = os.environ | {"CORL_CACHE": str(tmp_path)}
    for lines in (1, 0):
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment, timeout=300)
        assert done.returncode == 0 and done.stderr.count("corl: compiling") == done.stderr.count("\n") == lines, done.stderr
