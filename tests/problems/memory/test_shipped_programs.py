"""`corl trace` and the shipped programs: made anew they are the same, the judge takes them, and what is wrong is one line."""

from __future__ import annotations

import dataclasses
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from corl.benchmark.running.references import read_references
from corl.cli.main import main
from corl.errors import UsageError
from corl.problems.memory.evaluation import run_plan
from corl.problems.memory.generators import traced
from corl.problems.memory.problem import Mapping
from corl.problems.memory.tracing.models import SHIPPED
from corl.problems.memory_static.problem import StaticAllocation
from corl.solvers.memory.bounds import quick_bound

FOLDER = resources.files("corl.instances") / "memory"
NAMES = [f"{model}-b{batch}" for model, batches in SHIPPED.items() for batch in batches]
NOTHING = (np.zeros((0, 4), np.int64), np.zeros((0, 4), np.int64))


def same(one, other):
    """Whether two programs are equal in every field."""
    pairs = [(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one)]
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


def test_every_shipped_program_is_there_and_small():
    there = {file.name.removesuffix(".json.gz") for file in FOLDER.iterdir() if file.name.endswith(".json.gz")}
    assert there == set(NAMES)
    assert all(len((FOLDER / f"{name}.json.gz").read_bytes()) < 100_000 for name in NAMES)


def test_every_shipped_program_has_a_reference_value():
    """A value of its own machine, 8 MiB, above the proven bound and below the time with everything in slow memory."""
    known = read_references(Path(str(FOLDER / "reference.csv")))
    assert set(known) == set(NAMES)
    for name in NAMES:
        program = traced(program=name, fast_mib=8.0)
        assert quick_bound(program) <= known[name].value < 1e6 * run_plan(program, NOTHING).total


@pytest.mark.parametrize("name", NAMES)
def test_shipped_programs_are_taken_by_the_judge(name):
    """All-slow takes the sum of the operations' rooflines."""
    program = traced(program=name, fast_mib=2.0)
    memory = np.bincount(program.access_op, program.access_bytes, program.ops) / program.machine.slow_bandwidth
    assert run_plan(program, NOTHING).total == pytest.approx(np.maximum(memory, program.compute).sum(), rel=1e-12)
    assert program.machine.fast_bytes == 2 * 2**20 and program.name == f"{name}-2"


@pytest.mark.parametrize("name", ["alexnet-b32", "unet-b1"])
def test_made_anew_they_are_the_same(name, tmp_path):
    model, batch = name.split("-b")
    file = tmp_path / f"{name}.json.gz"
    assert main(["trace", model, "--batch", batch, "--output", str(file)]) == 0
    with resources.as_file(FOLDER / file.name) as shipped:
        assert same(Mapping().read(shipped), Mapping().read(file))


@pytest.mark.long
def test_all_of_them_made_anew(tmp_path):
    from corl.problems.memory.tracing.__main__ import main as make

    assert make([str(tmp_path)]) == 0
    for name in NAMES:
        with resources.as_file(FOLDER / f"{name}.json.gz") as shipped:
            assert same(Mapping().read(shipped), Mapping().read(tmp_path / shipped.name)), name


def test_lifetimes_as_csv(tmp_path):
    """AlexNet's activations: most memory is needed for 55 x 55 x 64 numbers and the picture, or what is pooled of them."""
    file = tmp_path / "alexnet.csv"
    assert main(["trace", "alexnet", "--problem", "memory-static", "--option", "alignment=64", "--output", str(file)]) == 0
    made = StaticAllocation().read(file)
    assert made.n == 12 and set(made.alignment.tolist()) == {64}
    assert 2 * 64 * (55 * 55 + 27 * 27) <= StaticAllocation().describe(made)["load"] <= 2 * 64 * 55 * 55 + 2 * 3 * 224 * 224


def test_a_function_of_the_users(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "def make(batch=1):\n"
        "    return torch.nn.Linear(8, 4), torch.zeros(batch, 8)\n"
        "def keywords():\n"
        "    return torch.nn.Linear(8, 4), {'input': torch.zeros(2, 8)}\n"
        "def wrong():\n"
        "    return 1\n"
        "def broken():\n"
        "    raise ValueError('first\\nsecond')\n"
    )
    where, out = str(tmp_path / "mine.py"), str(tmp_path / "mine.json")
    assert main(["trace", f"{where}:make", "--batch", "3", "--output", out]) == 0
    program = Mapping().read(Path(out))
    assert program.name == "make-b3" and program.flops.tolist() == [2.0 * 3 * 8 * 4]
    assert main(["trace", f"{where}:keywords", "--dtype", "float16", "--output", out]) == 0
    assert sorted(Mapping().read(Path(out)).sizes.tolist()) == [8, 16, 32, 64]
    said_of = {"wrong": "does not return", "broken": "ValueError: first second", "absent": "no function 'absent'"}
    for name, message in said_of.items():
        capsys.readouterr()
        assert main(["trace", f"{where}:{name}"]) == 3
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["no_such_module:make"], 3, "cannot be imported"),
        (["no_such.py:make"], 3, "there is no such file"),
        (["resnet50", "--batch", "0"], 2, "accepted: 1 to"),
        (["resnet50", "--dtype", "int8"], 2, "dtype"),
        (["resnet50", "--option", "speed=1"], 2, "no option 'speed'"),
        (["resnet50", "--problem", "knapsack"], 2, "cannot be traced"),
    ],
)
def test_what_is_wrong_is_one_line(words, code, message, capsys):
    assert main(["trace", *words]) == code
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1


def test_without_the_extra(monkeypatch, capsys):
    """The names of transformers need the extra, and the line says which names do not."""
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert main(["trace", "BertModel"]) == 3
    said = capsys.readouterr().err
    assert "pip install '.[trace]'" in said and "resnet50" in said and said.count("\n") == 1


def test_programs_that_are_not_shipped():
    with pytest.raises(UsageError, match=r"'vgg' is not shipped; accepted: .*bert-b8"):
        traced(program="vgg")
