"""The study of long training: its list of runs, the choice of weights, and that it survives kill -9."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from long_training import Chooser, Machine, Run, read_runs, train_all
from safetensors.torch import load_file

from corl.errors import InputError
from corl.learning import snapshots
from corl.networks.attention import AttentionPolicy
from corl.networks.checkpoints import load_policy
from corl.networks.policy import Shape
from corl.problems.tsp.problem import Tsp

STUDY = Path(__file__).with_name("long_training.py")
RUN = """
[[run]]
name = "{name}"
task = "tsp"
recipe = "imitation"
size = 12
minutes = {minutes}
{more}
"""
OPTIONS = (
    "options = { teacher = 'ils', teacher_iterations = 3, size = 8, width = 8, layers = 1, heads = 2, batch = 4, watch = 0 }"
)


def test_the_list_is_read():
    """The runs of the shipped list are of known tasks and build their recipes."""
    from corl import options
    from corl.learning.recipe import recipe_class

    runs = read_runs(STUDY.with_suffix(".toml"))
    assert len({run.name for run in runs}) == len(runs) > 0
    for run in runs:
        assert options.build(recipe_class("tsp" if run.task == "atsp" else run.task, run.recipe), run.options)


@pytest.mark.parametrize("fault", ["task = 'chess'", "best_of = ['later']", "minuets = 3"])
def test_faults_of_the_list_are_refused(tmp_path, fault):
    """An unknown task, a run that comes later and a misspelt key are errors that name the file."""
    text = "[[run]]\nname = 'a'\nrecipe = 'bq'\n" + ("" if fault.startswith("task") else "task = 'tsp'\n") + fault + "\n"
    (tmp_path / "runs.toml").write_text(text)
    with pytest.raises(InputError, match=r"runs\.toml"):
        read_runs(tmp_path / "runs.toml")


def chooser(folder, count=8):
    """A Chooser on tours of 10 cities, whose reference is written down so that no teacher is asked."""
    lines = [f"tsp-10-choose-{k},1.0,best known,none" for k in range(count)]
    (folder / "references.csv").write_text("name,value,status,source\n" + "\n".join(lines) + "\n")
    return Chooser(Run("a", "tsp", "bq", 10, 1.0, {}), folder, count)


def network():
    """A new policy for tours."""
    torch.manual_seed(0)
    from learning_splits import instances

    return AttentionPolicy.sized(Tsp(), instances("tsp", "choose", 1, 10)[0], Shape("plane", "", 8, 1, 2))


def test_weights_are_exported_only_when_they_are_better(tmp_path):
    """The first weights are; the same ones again are not; the same ones are after ten times worse ones."""
    made, policy = chooser(tmp_path), network()
    assert [made.look(policy, 1.0, 10), made.look(policy, 2.0, 20)] == [True, False]
    best = tmp_path / "exported" / "a.npy"
    np.save(best, 10.0 + np.load(best))
    assert made.look(policy, 3.0, 30)
    with (tmp_path / "curve.csv").open(newline="") as table:
        assert [row["exported"] for row in csv.DictReader(table)] == ["1", "0", "1"]


def test_exported_weights_have_16_bits_and_load(tmp_path):
    """The exported file's tensors are float16, and the policy in it has the weights to that precision."""
    policy = network()
    chooser(tmp_path).look(policy, 1.0, 10)
    file = tmp_path / "exported" / "a.safetensors"
    assert {tensor.dtype for tensor in load_file(file).values()} == {torch.float16}
    for one, other in zip(load_policy(file).parameters(), policy.parameters()):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_what_a_kill_left_is_removed(tmp_path):
    """Half a snapshot, which no later run would write over, is gone when training goes on; finished networks stay."""
    (tmp_path / ".corl-half").mkdir()
    (tmp_path / ".corl-half" / "a.snapshot.safetensors").write_bytes(b"half")
    (tmp_path / "a.safetensors").write_bytes(b"whole")
    train_all([], tmp_path, Machine())
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_minutes_are_of_the_processor_unless_workers_make_the_states():
    """One process counts its own time, so that a pause or a busy machine costs nothing; with workers the wall's clock counts."""
    alone, many = Machine().limits(2.0), Machine(60.0, "cuda", 14).limits(2.0)
    assert (alone["clock"], alone["workers"], alone["time_limit"]) == (time.process_time, 0, 120.0)
    assert (many["clock"], many["workers"], many["device"], many["save_every"]) == (time.monotonic, 14, "cuda", 60.0)


@pytest.mark.long
@pytest.mark.parametrize("workers", [0, 1])
def test_killed_it_resumes_and_the_next_run_continues_the_best(tmp_path, workers):
    """SIGKILL loses what came after the last snapshot; the same command then ends the run, and one that is the best of it begins
    with its weights; started once more, nothing is trained. The first run has 0.2 minutes beyond its snapshot, on any machine."""

    def write_runs(minutes):
        runs = RUN.format(name="first", minutes=minutes, more=OPTIONS)
        runs += RUN.format(name="second", minutes=0.02, more="best_of = ['first']\noptions = { rate = 1e-9 }")
        (tmp_path / "runs.toml").write_text(runs)

    write_runs(100.0)
    command = [sys.executable, str(STUDY), "--installed", "--folder", str(tmp_path), "--save-every", "1"]
    command += ["--workers", str(workers)]
    command += ["--runs", str(tmp_path / "runs.toml")]
    child = subprocess.Popen(command)
    snapshot = snapshots.path_of(tmp_path / "first.safetensors")
    while child.poll() is None and not snapshot.exists():
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    killed = snapshots.read(snapshot)
    before = killed["step"]
    assert child.returncode == -signal.SIGKILL and before > 0 and not (tmp_path / "first.done").exists()
    write_runs(killed["seconds"] / 60.0 + 0.2)
    subprocess.run(command, check=True, timeout=600)
    with (tmp_path / "curve.csv").open(newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["run"] for row in rows] == ["first", "second"] and int(rows[0]["step"]) > before
    first, second = (load_file(tmp_path / f"{name}.safetensors") for name in ("first", "second"))
    assert all(torch.allclose(first[name], second[name], atol=1e-3) for name in first)
    subprocess.run(command, check=True, timeout=600)
    with (tmp_path / "curve.csv").open(newline="") as table:
        assert len(list(csv.DictReader(table))) == 2
