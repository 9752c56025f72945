"""`corl train`: limits, curves, snapshots, and that a run killed and resumed ends with the bits of an unbroken one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

import corl
from corl.cli.main import main
from corl.learning import session, snapshots
from corl.learning.training import train
from corl.networks import checkpoints
from corl.store import Store


@pytest.fixture(scope="session")
def lesson_folder(tmp_path_factory) -> Path:
    """A folder with toy_lesson.py as an installed distribution: the recipe "lesson" of tsp, the network "toy-line"."""
    folder = tmp_path_factory.mktemp("lesson")
    (folder / "toy_lesson.py").write_bytes(Path(__file__).with_name("toy_lesson.py").read_bytes())
    info = folder / "toy_lesson-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-lesson\nVersion: 1.0\n")
    points = "[corl.recipes]\ntsp.lesson = toy_lesson:Lesson\n[corl.networks]\ntoy-line = toy_lesson:Line\n"
    (info / "entry_points.txt").write_text(points)
    return folder


@pytest.fixture
def lesson(lesson_folder, searched, tmp_path):
    """A function that runs `corl train tsp --recipe lesson --output NAME ARGUMENTS` here; returns exit code and output."""
    searched(lesson_folder)

    def train(name, *arguments):
        output = tmp_path / f"{name}.safetensors"
        command = ["train", "tsp", "--recipe", "lesson", "--output", output, "--workers", "0", *arguments]
        return main([str(argument) for argument in command]), output

    yield train
    sys.modules.pop("toy_lesson", None)


def same(a: Path, b: Path) -> bool:
    first, second = load_file(a), load_file(b)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def test_a_run_leaves_network_facts_and_curves(lesson, tmp_path, capfd):
    """The checkpoint has the facts of the run, the store its curves, standard output two lines."""
    code, output = lesson("a", "--steps", 30, "--seed", 5, "--option", "inputs=2", "--store", tmp_path / "s.db", "--progress")
    shown = capfd.readouterr()
    assert code == 0 and shown.out.startswith("tsp  lesson  30 of 30 steps") and str(output) in shown.out
    assert "30 steps" in shown.err
    network, header = checkpoints.load(output)
    facts = header["training"]
    assert network.config == {"problem": "tsp", "inputs": 2} and corl.load_policy(output).config == network.config
    assert (facts["recipe"], facts["seed"], facts["steps"], facts["options"]["inputs"]) == ("lesson", 5, 30, 2)
    with Store(tmp_path / "s.db") as store:
        curves = store.curves()["tsp lesson seed 5"]
        assert store.trainings()["tsp lesson seed 5"]["steps"] == 30
    assert [step for step, _ in curves["loss"]] == list(range(30))
    assert curves["loss"][-1][1] < 0.5 * curves["loss"][0][1]
    assert curves["fraction"][15][1] == 0.5


@pytest.mark.parametrize("at", [0, 11])
def test_ctrl_c_saves_and_the_resumed_run_ends_alike(lesson, tmp_path, at, capfd):
    """Ctrl-C ends a run after its step, with code 130, a network and a snapshot; resumed, it ends with the unbroken bits."""
    _, whole = lesson("whole", "--steps", 25, "--store", tmp_path / "whole.db")
    code, output = lesson("part", "--steps", 25, "--option", f"interrupt_at={at}", "--store", tmp_path / "part.db")
    assert code == 130 and checkpoints.read_header(output)["training"]["steps"] == at + 1
    assert snapshots.read(snapshots.path_of(output))["step"] == at + 1
    assert "--resume" in capfd.readouterr().out
    again = ("--steps", 25, "--option", f"interrupt_at={at}", "--store", tmp_path / "part.db", "--resume")
    assert lesson("part", *again)[0] == 0 and same(output, whole)
    with Store(tmp_path / "whole.db") as one, Store(tmp_path / "part.db") as two:
        assert one.curves() == two.curves()


def test_another_seed_gives_other_bits(lesson):
    """The comparison above could fail: a run of another seed ends elsewhere; one of the same seed, however fast, writes the
    same bytes.
    """
    (_, one), (_, two) = lesson("one", "--steps", 5), lesson("two", "--steps", 5, "--save-every", 0)
    _, other = lesson("other", "--steps", 5, "--seed", 1)
    assert one.read_bytes() == two.read_bytes() and not same(one, other)


def test_killed_by_sigkill_it_resumes_to_the_same_bits(lesson, lesson_folder, tmp_path):
    """SIGKILL loses only what came after the last snapshot, and resuming ends with the bytes of an unbroken run, whatever the
    number of workers.
    """
    _, whole = lesson("whole", "--steps", 60)
    output = tmp_path / "killed.safetensors"
    command = [sys.executable, "-P", "-m", "corl", "train", "tsp", "--recipe", "lesson", "--steps", "60", "--output", str(output)]
    environment = os.environ | {"PYTHONPATH": str(lesson_folder), "TOY_LESSON_WAITS_AT": "30"}
    child = subprocess.Popen([*command, "--save-every", "0"], env=environment, cwd=tmp_path)
    while child.poll() is None and not (tmp_path / "waiting").exists():
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert child.returncode == -signal.SIGKILL and not output.exists()
    assert snapshots.read(snapshots.path_of(output))["step"] == 30
    assert lesson("killed", "--steps", 60, "--resume")[0] == 0
    assert output.read_bytes() == whole.read_bytes()


def test_a_finished_run_goes_on_where_it_ended(lesson):
    """Resumed with more steps, a finished run makes only the new ones; with no more, none."""
    _, output = lesson("a", "--steps", 10)
    before = output.read_bytes()
    assert lesson("a", "--steps", 10, "--resume")[0] == 0 and output.read_bytes() == before
    assert lesson("a", "--steps", 20, "--resume")[0] == 0
    assert checkpoints.read_header(output)["training"]["steps"] == 20


def test_the_time_limit_ends_a_run(lesson, tmp_path, monkeypatch, capfd):
    """With a time limit the fraction runs to 1 and the run ends with the first step beyond it; its seconds are in the store."""
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(session, "time", clock)
    monkeypatch.setattr(time, "sleep", lambda seconds: setattr(clock, "now", clock.now + seconds))
    code, output = lesson("a", "--time-limit", 10, "--option", "pause=0.75", "--store", tmp_path / "s.db")
    facts = checkpoints.read_header(output)["training"]
    assert code == 0 and "(time_limit)" in capfd.readouterr().out
    assert facts["steps"] == 14 and facts["metrics"]["fraction"] == 1.0 and "seconds" not in facts
    with Store(tmp_path / "s.db") as store:
        assert store.trainings()["tsp lesson seed 0"]["seconds"] == 10.5
        assert [share for _, share in store.curves()["tsp lesson seed 0"]["fraction"]][:2] == [0.075, 0.15]


def test_the_time_limit_is_by_the_clock_that_is_given(knapsack):
    """With a clock that shows 3 seconds more at each look, a limit of 100 s ends the run after 33 looks at most."""
    ticks = iter(range(3, 3000, 3))
    options = {"size": 6, "batch": 2, "samples": 2, "width": 8, "layers": 1, "heads": 2, "watch": 0}
    done = train(knapsack.NAME, "policy-gradient", time_limit=100.0, clock=lambda: float(next(ticks)), workers=0, **options)
    assert done.limit == "time_limit" and 0 < done.step < 33 and done.seconds >= 100.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs a time_limit or a number of steps"),
        (["--steps", 0], "steps: 0 is not accepted"),
        (["--steps", 3, "--option", "inputs=0"], "inputs is 0; accepted: an integer from 1"),
        (["--steps", 3, "--option", "input=2"], r"no option 'input' \(did you mean 'inputs'\?\); there are: inputs, pause"),
        (["--steps", 3, "--recipe", "lessen"], r"no recipe for tsp is called 'lessen' \(did you mean 'lesson'"),
        (["--steps", 3, "--device", "abacus"], "device: 'abacus' is not available"),
        (["--steps", 3, "--output", "no/such/a.safetensors"], "there is no folder no/such"),
        (["--steps", 3, "--output", "a.pt"], "written to a .safetensors file"),
        (["--steps", 3, "--workers", 500], r"workers: 500 is not accepted; it takes up to \d+, 4 for "),
        (["--steps", 3, "--executor", "ray"], "workers: 0 is not accepted with the executor ray; it takes an integer from 1"),
    ],
)
def test_mistakes_are_one_line(lesson, tmp_path, monkeypatch, capfd, arguments, words):
    """Bad options, names and places end with exit code 2 and one line that says what is accepted."""
    monkeypatch.chdir(tmp_path)
    code, _ = lesson("a", *arguments)
    shown = capfd.readouterr().err
    assert code == 2 and len(shown.splitlines()) == 1
    assert re.search(words, shown), shown


@pytest.mark.parametrize("arguments", [[], ["--workers", 1]])
def test_without_ray_nothing_is_trained_by_it(lesson, monkeypatch, capfd, arguments):
    """Where Ray is missing, `--executor ray` says so before training, for recipes without workers too."""
    monkeypatch.setitem(sys.modules, "ray", None)
    for recipe in ("lesson", "policy-gradient"):
        code, output = lesson("a", "--steps", 1, "--executor", "ray", "--recipe", recipe, *arguments)
        shown = capfd.readouterr().err
        assert code == 2 and not output.exists() and len(shown.splitlines()) == 1 and "needs the package ray" in shown


def test_a_finished_run_can_be_repeated(lesson):
    """Its snapshot is not in the way of a new run, which does not resume from it either."""
    _, output = lesson("a", "--steps", 3)
    before = output.read_bytes()
    assert lesson("a", "--steps", 3)[0] == 0 and output.read_bytes() == before
    assert lesson("a", "--steps", 9, "--option", "interrupt_at=0")[0] == 130
    assert snapshots.read(snapshots.path_of(output))["step"] == 1
    assert lesson("a", "--steps", 9)[0] == 2


def test_a_network_that_was_not_written_is_not_given_up(lesson, capfd):
    """Killed between its last step and the writing of the network, a run has not finished."""
    _, output = lesson("a", "--steps", 3)
    output.unlink()
    assert lesson("a", "--steps", 3)[0] == 2 and "resume that run" in capfd.readouterr().err
    assert lesson("a", "--steps", 3, "--resume")[0] == 0 and output.exists()


def test_snapshots_are_not_lost_by_mistake(lesson, capfd):
    """Starting anew over a snapshot, resuming with another seed or option, and a damaged snapshot are refused."""
    _, output = lesson("a", "--steps", 9, "--option", "interrupt_at=2")
    snapshot = snapshots.path_of(output)
    for arguments, code, words in (
        (["--steps", 3], 2, "the snapshot of an unfinished run exists; resume that run, or remove the file"),
        (["--steps", 5, "--resume", "--option", "interrupt_at=2", "--seed", 4], 2, "a run with seed = 0, not 4"),
        (["--steps", 5, "--resume", "--option", "inputs=4"], 2, "a run with options ="),
    ):
        assert lesson("a", *arguments)[0] == code
        assert words in capfd.readouterr().err
    snapshot.write_bytes(snapshot.read_bytes()[:-5])
    assert lesson("a", "--steps", 5, "--option", "interrupt_at=2", "--resume")[0] == 3
    assert "damaged" in capfd.readouterr().err


def test_recipes_are_listed(lesson, capsys):
    """`corl list recipes` shows a plug-in's recipe with its options and what a step is, and the generic ones."""
    assert main(["list", "recipes", "tsp"]) == 0
    shown = capsys.readouterr().out
    assert "a line through points" in shown and "--option inputs=3  (int)" in shown and "step: one optimiser step" in shown
    assert "policy-gradient" in shown and "self-improvement" in shown and "imitation" in shown


@pytest.mark.parametrize("recipe", ["evolution", "policy-gradient", "q-learning", "self-improvement"])
def test_generic_recipes_resume_to_the_same_bits(knapsack, tmp_path, recipe):
    """A generic recipe broken off and resumed ends with the weights of an unbroken run, and starts from a checkpoint."""
    small = {"width": 8, "layers": 1, "heads": 2, "size": 6, "batch": 8, "samples": 4, "watch": 4}
    generations = {"updates": 2, "batch": 16, "episodes": 8}
    small |= {"baseline": "greedy-rollout", "every": 2} if recipe == "policy-gradient" else generations
    if recipe == "evolution":
        small = small | {"batch": 4, "pairs": 4, "every": 2}
        del small["updates"], small["episodes"]
    small = {name: value for name, value in small.items() if name != "samples" or recipe not in ("evolution", "q-learning")}
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"

    def run(output, until):
        def watch(session):
            if session.step + 1 == until:
                session.interrupt()

        limits = {"steps": 6, "workers": 0, "resume": True}
        return train(knapsack.NAME, recipe, output=output, **small, on_progress=watch, **limits).step

    assert run(whole, 6) == 6 and [run(parts, until) for until in (3, 5, 6)] == [3, 5, 6]
    assert same(whole, parts)
    again = train(knapsack.NAME, recipe, steps=1, workers=0, **small | {"start": str(whole)})
    assert again.limit == "steps"
