"""The tables of measurements: their rows, what they leave out, and their sums."""

from __future__ import annotations

import csv
import io
import math
import sys

import memory_cost_model as cost_model
import memory_mapping
import memory_players as players
import memory_priority as priority
import memory_replays
import memory_split
import memory_static
import numpy as np
import pytest

import corl
from corl import registry
from corl.problems.memory.generators import mixed
from corl.problems.memory.instance import Machine, MappingPlan
from corl.solvers.memory.constructions import by_priority
from corl.solvers.memory.layout import program_of
from corl.solvers.memory.priority.network import PriorityNetwork
from corl.solvers.memory.priority.solver import Plans, priority_weights


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.long
def test_rows_of_solvers(capsys):
    """Constructions once, searches for every limit; the base closes nothing, nobody closes more than all; --least leaves out."""
    given = ["--programs", "layered", "--fast-mib", "1", "--seconds", "0.05", "0.1", "--solvers", "learned-priority"]
    memory_mapping.main(given)
    rows = rows_of(capsys.readouterr().out)
    assert [row["limit"] for row in rows].count("") == 5 and [row["limit"] for row in rows][-2:] == ["0.05", "0.1"]
    assert float(rows[0]["closed"]) == 0.0 and all(float(row["closed"]) <= 1.0 for row in rows)
    assert all(float(row["microseconds"]) >= float(row["bound"]) for row in rows)
    memory_mapping.main([*given, "--least", "9"])
    assert not rows_of(capsys.readouterr().out)


@pytest.mark.long
def test_rows_of_static_allocation_beside_a_peer(capsys, tmp_path, monkeypatch):
    """The peer's allocation is judged as ours is: one that stacks all buffers is feasible, one without a file is none."""
    folder = tmp_path / "memory" / "minimalloc"
    folder.mkdir(parents=True)
    (folder / "A.9.csv").write_text("id,lower,upper,size\na,0,4,4\nb,2,6,5\nc,4,8,4\n")
    monkeypatch.setenv("CORL_DATA", str(tmp_path))
    stacking, silent = tmp_path / "stacking", tmp_path / "silent"
    stacking.write_text(f"""#!{sys.executable}
import csv, sys
given = dict(each[2:].split("=") for each in sys.argv[1:])
with open(given["input"]) as file, open(given["output"], "w") as found:
    print("id,lower,upper,size,offset", file=found)
    top = 0
    for each in csv.DictReader(file):
        print(each["id"], each["lower"], each["upper"], each["size"], top, sep=",", file=found)
        top += int(each["size"])
""")
    silent.write_text(f"#!{sys.executable}\n")
    for program, status in ((stacking, "feasible"), (silent, "none")):
        program.chmod(0o755)
        memory_static.main(["--sets", "challenging", "--seconds", "1", "--peer", str(program)])
        ours, peer = rows_of(capsys.readouterr().out)
        assert (ours["status"], float(ours["height"])) == ("within", 9.0)
        assert (peer["solver"], peer["status"], peer["height"]) == ("minimalloc", status, "13.0" if status == "feasible" else "")


@pytest.mark.long
def test_rows_of_the_priority(capsys, tmp_path, monkeypatch):
    """A row for each method; the summary says by how much they differ from the tuned compiler-like plan."""
    monkeypatch.setattr(memory_mapping, "programs", lambda names: [])
    priority.main(["--generated", "2"])
    text = capsys.readouterr().out
    assert {row["method"] for row in rows_of(text)} >= {"learned", "shuffled", "xla-like tuned"}
    file = tmp_path / "table.csv"
    file.write_text(text)
    priority.main(["--table", str(file)])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("| xla-like tuned | generated, 2 | +0.00 +- 0.00 |") for line in lines)


@pytest.mark.long
def test_rows_of_the_players(capsys, tmp_path):
    """What is built once and everything else at equal time; the bound is below them all."""
    players.main(["--programs", "1", "--size", "5", "--seconds", "0.3"])
    text = capsys.readouterr().out
    rows = rows_of(text)
    assert [row["limit"] for row in rows].count("") == 3 and {row["limit"] for row in rows[3:]} == {"0.3 s"} and len(rows) == 12
    assert all(float(row["microseconds"]) >= float(row["bound"]) for row in rows)
    file = tmp_path / "table.csv"
    file.write_text(text)
    players.main(["--table", str(file)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| generated | xla-like tuned |  | +0.00 | 0, 0 of 1 | +0.00 |")
    assert lines[-1].startswith("| generated | bound |")


def test_learning_pays():
    """On programs of other seeds than those of training the shipped network is ahead of the compiler's priority over the same
    items, of tuned xla-like, and of its own weights in other places."""
    trained = priority_weights("memory-priority")
    rivals = [priority.compiler(PriorityNetwork(1)), priority.shuffled(trained)]
    logs = []
    for number in range(30):
        program = program_of(mixed(size=40, seed=5_000_000_000 + number))
        value = Plans(program, trained, 0.0, 0).build()[0]
        others = [Plans(program, weights, 0.0, 0).build()[0] for weights in rivals] + [by_priority(program, 0.5, 1.0, True)[0]]
        logs.append([math.log(other / value) for other in others])
    means = np.mean(logs, axis=0)
    assert (means > 0.002).all() and means[1] > 0.01


@pytest.mark.long
def test_replays_of_a_plan():
    """The empty plan loses nothing in any game; of a plan whose runs are timed as the study times them, neither does that."""
    instance = mixed(size=12, seed=3)
    nothing = MappingPlan(np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64))
    slow = registry.problem("memory").evaluate(instance, nothing)
    found = memory_replays.replayed(instance, nothing)
    assert found.pop("load") == 0.0 and found.pop("left") == 0.0
    assert list(found.values()) == pytest.approx([slow] * len(found))
    kept = corl.solve(instance, problem="memory", solver="greedy-keep")  # it copies nothing in
    found = memory_replays.replayed(instance, kept.solution)
    assert found["stall"] == found["hidden"] == found["either"] == pytest.approx(kept.objective)
    assert found["load"] <= 1.0 and found["left"] == 0.0 and kept.objective < slow


@pytest.mark.long
def test_operations_of_the_cost_model():
    """Every operation of ResNet-50 is there as often as it runs; the rows' numbers are the traced ones."""
    rows = [row for _, row in cost_model.operations("resnet50", 1, Machine())]
    counts = {kind: sum(row["count"] for row in rows if row["operation"] == kind) for kind in {row["operation"] for row in rows}}
    others = {"batch_norm": 53, "relu": 49, "add": 16, "max_pool2d": 1, "mean": 1, "linear": 1}
    assert counts == {"conv2d": 53} | others
    first = rows[0]
    assert (first["shapes"], first["flops"]) == ("1x3x224x224 64x3x7x7", 2 * 64 * 112 * 112 * 3 * 49)
    assert first["bytes"] == 4 * (3 * 224 * 224 + 64 * 3 * 49 + 64 * 112 * 112)
    assert len({(row["operation"], row["shapes"]) for row in rows}) > 40


@pytest.mark.long
def test_calls_are_measured_apart_and_summed_up():
    """Longer calls measure longer; rows in the model's order correlate fully, rows against it fully the other way round."""
    short, long = cost_model.measured([lambda: sum(range(10)), lambda: sum(range(100_000))], 3)
    assert 0 < 10 * short < long
    rows = [
        {"model": "m", "batch": "1", "operation": "conv2d", "flops": str(100 - k), "bytes": str(k * k), "modelled_us": str(k + 1),
         "measured_us": str(2 * (k + 1) ** 2)} for k in range(8)
    ]  # fmt: skip
    _, _, whole, conv = cost_model.summary(rows)
    one = "1.000 [1.000, 1.000] | -1.000 [-1.000, -1.000] | 1.000 [1.000, 1.000]"
    assert whole.startswith(f"| m 1, all | 8 | {one} |") and conv.startswith(f"| m 1, conv2d | 8 | {one} |")
    assert whole.endswith("| 9.00 |")


def test_the_split_is_what_its_hashes_say():
    """48 different programs, half of them to judge on; the generators still make those that were chosen."""
    with memory_split.FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["part"] for row in rows) == ["choose"] * 24 + ["judge"] * 24
    assert len({row["sha256"] for row in rows}) == 48 and all(float(row["best"]) <= 0.995 * float(row["tuned"]) for row in rows)
    for part in ("choose", "judge"):
        made = memory_split.programs(part)
        assert [memory_split.content_hash(program) for program in made] == [row["sha256"] for row in rows if row["part"] == part]
