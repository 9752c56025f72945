"""The command line as a hostile user meets it."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from corl.cli.main import main, one_line

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files and signals")


def shell(script, folder):
    """Run a bash script with `corl` as $corl and the plug-in of `folder`; returns the CompletedProcess with bytes."""
    environment = os.environ | {"PYTHONPATH": str(folder), "corl": f"{sys.executable} -P -m corl"}
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, timeout=120)


@pytest.mark.parametrize("command", ["solve", "check", "generate", "list", "plot", "info"])
def test_every_command_has_help(command, capsys):
    """--help of each command describes every argument."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0 and f"usage: corl {command}" in capsys.readouterr().out
    parser = argparse.ArgumentParser()
    importlib.import_module(f"corl.cli.{command}").arguments(parser)
    assert all(action.help for action in parser._actions)


@pytest.mark.parametrize(
    ("arguments", "heads"),
    [
        (["solve", "tsp/uniform-500", "--solver", "policy"], ["solver policy (tsp)"]),
        (["solve", "--problem", "knapsack", "--solver", "policy"], ["solver policy (knapsack)"]),
        (["solve", "--solver", "cp-sat"], ["solver cp-sat (jobshop)", "solver cp-sat (knapsack)"]),
        (["train", "tsp", "--recipe", "imitation"], ["recipe imitation (tsp)"]),
        (["solve", "tsp/uniform-500"], []),
    ],
)
def test_help_lists_the_options_of_what_is_named_before_it(arguments, heads, capsys):
    """Each option with its default, what is accepted and its help; of every problem's where the problem is not known."""
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0 and f"usage: corl {arguments[0]}" in shown
    assert all(f"\noptions of the {head}:\n  --option " in shown for head in heads)
    assert ("options of the" in shown) == bool(heads)
    if "policy" in arguments:
        lines = "  --option rounds=0  (an integer from 0)\n"
        assert shown.count(lines) == 1


def test_help_of_an_unknown_solver_lists_the_names(capsys):
    """Whether the problem is known or not; in one line, as any wrong name."""
    for arguments in (["--problem", "tsp", "--solver", "polixy"], ["--solver", "polixy"]):
        assert main(["solve", *arguments, "--help"]) == 2
        shown = capsys.readouterr()
        assert "called 'polixy' (did you mean 'policy'?)" in shown.err and shown.err.count("\n") == 1 and not shown.out


@pytest.mark.parametrize("what", ["solvers", "recipes"])
def test_a_verbose_list_says_what_options_do(what, capsys):
    """Names, defaults and types without --verbose; what is accepted and the help with it; all of it in JSON."""
    shown = {}
    for form in ("", "--verbose", "--json"):
        assert main(["list", what, "knapsack", *([form] if form else [])]) == 0
        shown[form] = capsys.readouterr().out
    for row in json.loads(shown["--json"]):
        for option in row["options"]:
            head = f"--option {option['name']}={option['default']}  ("
            assert f"{head}{option['type']})" in shown[""] and head in shown["--verbose"]
            assert option["help"][:40] in shown["--verbose"]
    assert "a number above 0" in shown["--verbose"] and len(shown["--verbose"]) > len(shown[""])


def test_no_command_shows_the_help(capsys):
    """`corl` alone is a usage error that shows the commands and the exit codes."""
    assert main([]) == 2
    shown = capsys.readouterr().err
    assert "solve instance files" in shown and "130 interrupted" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "partition"], ["generate", "nope"], ["list", "solvers", "nope"], ["plot", "numbers.txt"],
        ["plot", "numbers.txt", "--output", "x.gif"], ["info", "numbers.txt", "--problem", "nope"],
        ["solve", "numbers.txt", "--option", "seed=3"], ["solve", "numbers.txt", "--plot", "x.gif"],
        ["solve", "numbers.txt", "./numbers.txt", "--output", "."], ["generate", "tsp", "--seed", "-1"],
        ["generate", "tsp", "--option", "seed=-1"], ["solve", "numbers.txt", "--option", "a=1", "--option", "a=2"],
    ],
)  # fmt: skip
def test_usage_errors(plugin, monkeypatch, capsys, arguments):
    """What cannot work is refused before any work, in one line, with exit code 2."""
    monkeypatch.chdir(plugin)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1 and not shown.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], "argument COMMAND: invalid choice: 'nope'"), (["list", "nope"], "list: argument what: invalid choice: 'nope'"),
        (["solve"], "the following arguments are required: FILE"), (["solve", "a", "--seed", "x"], "invalid int value: 'x'"),
        (["solve", "a", "--solver"], "argument --solver: expected one argument"), (["solve", "a", "--sed", "3"], "--sed"),
    ],
)  # fmt: skip
def test_a_command_that_cannot_be_parsed_is_one_line(arguments, words, capsys):
    """With exit code 2, the name of the command and where its help is."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    shown = capsys.readouterr().err
    assert ended.value.code == 2 and words in shown and shown.endswith("--help)\n") and shown.count("\n") == 1


@posix
def test_a_full_disk_is_one_line(capsys):
    """Behind --output as behind standard output: no internal error."""
    assert main(["generate", "tsp", "--size", "5", "--output", "/dev/full"]) == 2
    assert capsys.readouterr().err == "corl: /dev/full: cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    "text",
    [
        "", "nonsense", "[1, [2]]", '{"a": 1}', "[NaN]", "[" * 100_000, "\0",
        '{"problem": "tsp", "solution": [], "objective": 1}',
        '{"problem": "partition", "solution": [1], "objective": 1' + "0" * 400 + "}",
    ],
)  # fmt: skip
def test_what_is_no_solution_is_bad_input(plugin, tmp_path, capsys, text):
    """A solution file of any content ends in one line, with exit code 3 or (infeasible) 4."""
    (tmp_path / "a.json").write_text(text)
    code = main(["check", str(plugin / "numbers.txt"), str(tmp_path / "a.json")])
    shown = capsys.readouterr()
    assert (shown.err + shown.out).count("\n") == 1
    assert (code == 3 and "a.json" in shown.err) or (code == 4 and shown.out.startswith("infeasible"))


def test_unexpected_errors_are_one_line(plugin, monkeypatch, capsys):
    """A bug is "internal error" with exit code 1; CORL_DEBUG=1 shows the traceback."""
    import corl.loading

    monkeypatch.setattr(corl.loading, "load", lambda *a: 1 // 0)
    assert main(["info", "x"]) == 1
    assert "internal error: ZeroDivisionError" in capsys.readouterr().err
    monkeypatch.setenv("CORL_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info", "x"])


def test_a_file_that_cannot_be_written_loses_no_result(plugin, tmp_path, monkeypatch, capsys):
    """The result is printed before it is written, so a folder that vanished meanwhile costs the file alone."""
    import corl.files.opening

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(corl.files.opening.os, "replace", full)
    code = main(["solve", str(plugin / "numbers.txt"), "--iterations", "5", "--output", str(tmp_path / "x.json")])
    shown = capsys.readouterr()
    assert code == 2 and "verified" in shown.out and "x.json: cannot be written: No space" in shown.err
    assert not list(tmp_path.iterdir())


@posix
@pytest.mark.parametrize(
    "script",
    [
        "mkfifo f; $corl solve f", "$corl solve /dev/null", "$corl solve .", "$corl info /dev/zero --problem tsp",
        "truncate -s 3G s; $corl solve s; code=$?; rm s; exit $code", "$corl check numbers.txt .",
    ],
)  # fmt: skip
def test_strange_files(plugin_folder, script):
    """Pipes, devices, folders and huge files of zeros are bad input at once."""
    done = shell(script, plugin_folder)
    assert done.returncode == 3 and done.stderr.count(b"\n") == 1, done.stderr


@posix
def test_strange_names(plugin_folder, tmp_path):
    """Line ends, bytes that are no UTF-8, rich's markup and a terminal of ASCII: names are escaped, never an exception."""
    for name in (b"a\nb.txt", b"c\xff.txt", b"[bold]d[", "größe.txt".encode()):
        path = os.path.join(os.fsencode(tmp_path), name)
        with open(path, "wb") as file:
            file.write(b"PARTITION\n3\n4\n")
        command = [sys.executable, "-P", "-m", "corl", "solve", path, "--iterations", "5", "--output", tmp_path, "--progress"]
        environment = os.environ | {"PYTHONPATH": str(plugin_folder), "PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
        assert done.returncode == 0 and done.stdout.count(b"\n") == 5, done.stderr
    assert len([name for name in os.listdir(tmp_path) if name.endswith(".json")]) == 4
    assert one_line("a\nb\udcff") == "a\\nb\\udcff"


@posix
def test_streams_that_go_away(plugin_folder):
    """A reader that leaves, closed streams and a full disk: no traceback, and the exit codes stay in the list."""
    head = shell("$corl list solvers partition | true; echo ${PIPESTATUS[0]}", plugin_folder)
    assert head.stdout in (b"0\n", b"1\n") and not head.stderr
    assert shell("$corl solve numbers.txt --iterations 3 >&- 2>&-", plugin_folder).returncode == 0
    piped = shell("$corl generate tsp --size 5 --output /dev/stdout | cat", plugin_folder)
    assert piped.stdout.startswith(b"NAME") and not piped.stderr
    full = shell("$corl solve numbers.txt --iterations 3 > /dev/full", plugin_folder)
    assert full.returncode == 1 and full.stderr == b"corl: standard output cannot be written: No space left on device\n"


@posix
def test_sigterm_ends_a_background_job_in_preparation(toys):
    """Where a shell made Ctrl-C ignored, SIGTERM still ends the process before the clock starts: one line, exit code 130."""
    script = "trap '' INT; exec $corl solve toy.txt --option mode='endless preparation' --time-limit 60"
    environment = os.environ | {"PYTHONPATH": str(toys), "corl": f"{sys.executable} -P -m corl"}
    child = subprocess.Popen(["bash", "-c", script], cwd=toys, env=environment, stderr=subprocess.PIPE, text=True)
    while not (toys / "preparing").exists():
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130 and err == "corl: interrupted\n"


@pytest.mark.chance
@posix
def test_live_progress_on_a_terminal(plugin_folder):
    """On a terminal stderr shows one live line with incumbent, bound, gap and time; stdout holds the JSON alone."""
    import pty

    parent, terminal = pty.openpty()
    command = [sys.executable, "-P", "-m", "corl", "solve", "numbers.txt", "--time-limit", "0.6", "--json"]
    environment = os.environ | {"PYTHONPATH": str(plugin_folder), "TERM": "xterm", "COLUMNS": "100"}
    child = subprocess.Popen(command, cwd=plugin_folder, env=environment, stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(parent, 4096)
        except OSError:  # the other side is closed
            break
    out, _ = child.communicate(timeout=60)
    os.close(parent)
    assert json.loads(out)["verified"] and child.returncode == 0
    for word in (b"numbers", b"incumbent", b"bound", b"gap", b"of 0.6 s"):
        assert word in shown
