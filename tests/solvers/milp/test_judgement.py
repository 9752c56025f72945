"""The comparison of a trained policy with SCIP: parts of a folder, the choice, the verdict, and what is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import corl
from corl.cli.main import main
from corl.errors import UsageError
from corl.learning.training import train
from corl.problems.milp.generators import multiple_knapsack
from corl.problems.milp.problem import Milp
from corl.solvers.milp.folder import parts
from corl.solvers.milp.imitation import judgement as judging
from corl.solvers.milp.imitation.judgement import CANDIDATES, SETTINGS, Judgement, seconds_of
from corl.splitting import FEWEST_FILES

OPTIONS = {"samples": 8, "share": 1.0, "each": 4, "updates": 4}


@pytest.fixture
def folder(tmp_path):
    """The least number of programs."""
    (tmp_path / "programs").mkdir()
    for seed in range(FEWEST_FILES):
        Milp().write(multiple_knapsack(items=30, knapsacks=4, seed=seed), tmp_path / "programs" / f"k{seed}.mps")
    return tmp_path / "programs"


def judged(times, files=5):
    """A comparison after all its solves; `times`: solver -> its seconds on each program."""
    made = Judgement([Path(f"c{k}") for k in range(2)], [Path(f"j{k}") for k in range(files)])
    for solver, file, _ in made.remaining():
        made.add(solver, file, times.get(solver, 9.0))
    return made


def test_parts_of_a_folder(folder):
    """Every file is in one part, always the same one; too few files are refused in one line."""
    found = parts(str(folder))
    assert tuple(map(len, found)) == (3, 2, 5) and len(set(found.train) | set(found.choose) | set(found.judge)) == 10
    assert parts(str(folder)) == found
    for k in range(30):
        (folder / f"more{k}.lp").touch()
    assert tuple(map(len, parts(str(folder)))) == (22, 6, 12)
    for path in [*found.train, *folder.glob("*.lp")]:
        path.unlink()
    with pytest.raises(UsageError, match="7 programs; accepted: 10 or more"):
        parts(str(folder))


def test_the_verdict():
    """Ratios of seconds + 1 to the best setting, not to the defaults; a gain needs the whole interval below 1."""
    made = judged({"scip": 19.0, "scip-pscost": 7.0, CANDIDATES[1]: 3.0})
    assert made.chosen() == ("scip-pscost", CANDIDATES[1]) and made.gains and made.ratio().value == pytest.approx(0.5)
    text = made.sentence("own.safetensors")
    assert text.startswith("0.50 [0.50, 0.50] of the time of the best of 5 SCIP settings (--solver scip-pscost) on 5 programs")
    assert text.endswith("use --solver learned-branching --option root_cuts=true --option policy=own.safetensors")
    lost = judged({"scip-pscost:root_cuts=true": 4.0, CANDIDATES[0]: 5.0})
    assert not lost.gains and lost.sentence("f").startswith("no gain: use SCIP, --solver scip-pscost --option root_cuts=true; ")
    unsure = judged({"scip": 3.0, CANDIDATES[0]: 2.5}, 6)
    for k, file in enumerate(unsure.judge):
        unsure.add(CANDIDATES[0], file, (1.0, 5.0)[k % 2])
    assert unsure.ratio().value < 1.0 < unsure.ratio().high and not unsure.gains


def test_a_comparison_continues():
    """What is done is in the state and not done again; the limit follows from the time with the defaults."""
    made = Judgement([Path("a"), Path("b")], [Path(f"j{k}") for k in range(5)])
    solves = made.remaining()
    first = [next(solves)]
    made.add("scip", Path("a"), 10.0)
    first += [next(solves)]
    made.add(*first[1][:2], 10.0)
    assert [solve[0] for solve in first] == list(SETTINGS[:2]) and [solve[2] for solve in first] == [300.0, 45.0]
    again = Judgement(made.choose, made.judge)
    again.load_state_dict(made.state_dict())
    left = []
    for solver, file, _ in again.remaining():
        left.append((solver, file.name))
        again.add(solver, file, 10.0)
    assert len(left) == 2 * 7 - 2 + 5 * 2 and left[0] == (SETTINGS[2], "a") and len(set(left)) == len(left)


@pytest.mark.parametrize("gain", [True, False])
def test_a_policy_without_gain_is_not_written(folder, tmp_path, capsys, monkeypatch, gain):
    """One sentence says the verdict; no judged program is trained on; without a gain there is no file, and no snapshot."""
    kept, read, asked = parts(str(folder)), [], []
    original = Milp.read

    def noted(self, path):
        read.append(Path(path))
        return original(self, path)

    def seconds(solver, file, policy, limit):
        asked.append((solver, file))
        assert corl.load_policy(policy) is not None
        return 1.0 if gain and solver in CANDIDATES else 3.0

    monkeypatch.setattr(Milp, "read", noted)
    monkeypatch.setattr(judging, "seconds_of", seconds)
    output = tmp_path / "own.safetensors"
    words = ["train", "milp", "--instances", str(folder), "--steps", "60", "--workers", "0", "--output", str(output)]
    for name, value in OPTIONS.items():
        words += ["--option", f"{name}={value}"]
    for _ in range(2):
        assert main(words) == 0
    told = capsys.readouterr().out
    assert ("0.50 [0.50, 0.50] of the time" in told) == gain == output.exists() == ("written" in told)
    assert ("no gain: use SCIP" in told) != gain and list(tmp_path.glob("*snapshot*")) == []
    assert read and set(read) <= set(kept.train) and {file for _, file in asked} == set(kept.choose) | set(kept.judge)


def test_an_interrupted_comparison_is_resumed(folder, tmp_path, monkeypatch):
    """Ctrl-C during a solve writes a snapshot and no policy; the resumed run does the other solves and says the verdict."""
    asked = []

    def seconds(solver, file, policy, limit):
        if len(asked) == 4 and None not in asked:
            return asked.append(None)
        asked.append((solver, file))
        return 2.0

    monkeypatch.setattr(judging, "seconds_of", seconds)
    given = {"instances": str(folder), "steps": 1000, "workers": 0, "device": "cpu", "output": tmp_path / "own.safetensors"}
    first = train("milp", "branching", **given, **OPTIONS)
    assert first.limit == "interrupted" and first.network is None and len(list(tmp_path.glob("*.snapshot.*"))) == 1
    second = train("milp", "branching", resume=True, **given, **OPTIONS)
    assert second.limit == "finished" and second.notes[-1].startswith("no gain: use SCIP") and second.network is None
    done = [each for each in asked if each is not None]
    assert len(set(done)) == len(done) == 2 * 7 + 5 * 2


def test_programs_that_end_at_the_root_are_counted(folder):
    """A note says how many trees there were without a choice."""
    train_part = parts(str(folder)).train
    Milp().write(multiple_knapsack(items=4, knapsacks=1, seed=1), train_part[0])
    training = train("milp", "branching", instances=str(folder), judge=False, steps=60, workers=0, device="cpu", **OPTIONS)
    assert training.metrics["at_root"] == 1
    assert len(training.notes) == 1 and training.notes[0].startswith("1 of ") and "ended at the root" in training.notes[0]


def test_solves_are_timed(tmp_path):
    """Every setting is a solver with options that `corl solve` accepts, and takes processor time."""
    program = multiple_knapsack(items=8, knapsacks=2, seed=1)
    Milp().write(program, tmp_path / "k.mps")
    times = [seconds_of(solver, tmp_path / "k.mps", "", 60.0) for solver in SETTINGS]
    times += [seconds_of(solver, tmp_path / "k.mps", "milp-auctions", 60.0) for solver in CANDIDATES]
    assert all(0.0 < x < 60.0 for x in times) and np.isfinite(times).all()
    optima = {corl.solve(program, solver="scip", heuristics=flag).objective for flag in (True, False)}
    assert len(optima) == 1
