"""Files, generators and the drawing of memory mapping."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from corl.cli.main import main
from corl.errors import InputError, UsageError
from corl.problems.memory import generators
from corl.problems.memory.instance import Machine, MappingPlan
from corl.problems.memory.problem import Mapping

MAPPING = Mapping()
GOOD = {
    "problem": "memory",
    "name": "two",
    "machine": {"fast_bytes": 64, "fast_bandwidth": 8, "slow_bandwidth": 1, "copy_bandwidth": 1},
    "tensors": [{"name": "x", "size": 8, "kind": "input"}, {"name": "y", "size": 8}, {"name": "z", "size": 4, "kind": "output"}],
    "ops": [
        {"name": "a", "unit": "matrix", "flops": 5, "reads": ["x"], "writes": ["y"]},
        {"name": "b", "reads": [["y", 6]], "writes": ["z"]},
    ],
    "aliases": [["x", "y"]],
}
TRACED = {
    "format": "corl-memmap-1",
    "name": "traced",
    "ops": [{"name": "a", "kind": "add", "flops": 3, "mat": False, "ins": [[0, 8], [0, 8], [1, 4]], "outs": [[2, 8]]}],
    "tensors": [
        {"id": 0, "name": "x", "size": 8, "kind": "input"},
        {"id": 1, "name": "w", "size": 4, "kind": "weight"},
        {"id": 2, "name": "w", "size": 8, "kind": "output"},
    ],
}


def changed(base, *path, value):
    """A deep copy of a JSON value with one place changed."""
    copy = json.loads(json.dumps(base))
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return copy


def same(one, other):
    """Whether two instances agree in everything."""
    left, right = asdict(one), asdict(other)
    return all(np.array_equal(left[key], right[key]) for key in left)


@pytest.mark.parametrize("name", ["layered", "dag", "file"])
@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_files_round_trip(tmp_path, name, ending):
    """What is written is read back the same, for both generators and for a program with partial accesses and aliases."""
    if name == "file":
        (tmp_path / "good.json").write_text(json.dumps(GOOD))
        instance = MAPPING.read(tmp_path / "good.json")
        assert instance.access_bytes.tolist() == [8, 8, 6, 4] and instance.group.tolist() == [0, 0, -1]
    else:
        instance = MAPPING.generators[name](seed=3)
    MAPPING.write(instance, tmp_path / f"again{ending}")
    assert same(MAPPING.read(tmp_path / f"again{ending}"), instance)
    assert MAPPING.recognises((tmp_path / "again.json").read_text()[:4096] if ending == ".json" else '{"problem": "memory"')


def test_traced_programs(tmp_path):
    """Numbers instead of names, a name twice, a tensor read twice by one operation: its bytes add up."""
    path = tmp_path / "traced.json"
    path.write_text(json.dumps(TRACED))
    instance = MAPPING.read(path)
    assert instance.tensor_names == ("x", "w", "w#2") and instance.kinds == ("input", "weight", "output")
    assert instance.access_bytes.tolist() == [16, 4, 8] and not instance.matrix[0]
    assert instance.machine == Machine() and MAPPING.recognises(path.read_text())


def test_generator_call(tmp_path):
    """A file may be the call of a generator."""
    call = {"problem": "memory", "name": "small", "generator": "dag", "parameters": {"ops": 5, "seed": 2}}
    (tmp_path / "call.json").write_text(json.dumps(call))
    read, made = MAPPING.read(tmp_path / "call.json"), generators.dag(ops=5, seed=2)
    assert read.name == "small" and read.sizes.tolist() == made.sizes.tolist()


FAULTS = {
    "negative size": (changed(GOOD, "tensors", 1, "size", value=-8), "tensors[1].size"),
    "a size that is no integer": (changed(GOOD, "tensors", 1, "size", value=1.5), "tensors[1].size"),
    "negative flops": (changed(GOOD, "ops", 0, "flops", value=-1), "ops[0].flops"),
    "negative capacity": (changed(GOOD, "machine", "fast_bytes", value=-1), "machine.fast_bytes"),
    "no bandwidth": (changed(GOOD, "machine", "slow_bandwidth", value=0), "machine.slow_bandwidth"),
    "an unknown key of the machine": (changed(GOOD, "machine", "fast", value=1), "machine"),
    "a tensor read before it exists": (changed(GOOD, "ops", 0, "reads", value=["z"]), "read before it exists"),
    "a tensor written twice": (changed(GOOD, "ops", 1, "writes", value=["y", "z"]), "twice"),
    "an input that is written": (changed(GOOD, "ops", 1, "writes", value=["x", "z"]), "has kind input"),
    "an output that nothing writes": (changed(GOOD, "ops", 1, "writes", value=[]), "tensors[2]"),
    "an unknown tensor": (changed(GOOD, "ops", 1, "reads", value=["q"]), "ops[1].reads[0]"),
    "negative bytes": (changed(GOOD, "ops", 1, "reads", value=[["y", -6]]), "ops[1].reads[0]"),
    "an unknown unit": (changed(GOOD, "ops", 0, "unit", value="tensor"), "ops[0].unit"),
    "an unknown kind": (changed(GOOD, "tensors", 0, "kind", value=[]), "tensors[0].kind"),
    "two tensors of one name": (changed(GOOD, "tensors", 1, "name", value="x"), "tensors[1].name"),
    "an alias of nothing": (changed(GOOD, "aliases", value=[["x", "q"]]), "aliases[0]"),
    "a tensor in two groups": (changed(GOOD, "aliases", value=[["x", "y"], ["y", "z"]]), "aliases[1]"),
    "no operations": (changed(GOOD, "ops", value=[]), "ops"),
    "operations that are no list": (changed(GOOD, "ops", value=3), "ops"),
    "a list": ([GOOD], "object"),
    "an unknown generator": ({"problem": "memory", "generator": "x"}, "generator"),
    "a wrong parameter": ({"problem": "memory", "generator": "dag", "parameters": {"ops": -1}}, "ops"),
    "an unknown format": (changed(TRACED, "format", value="corl-memmap-9"), "format"),
    "an unknown number": (changed(TRACED, "ops", 0, "ins", value=[[7, 1]]), "ops[0].ins[0]"),
    "a number twice": (changed(TRACED, "tensors", 1, "id", value=0), "tensors[1].id"),
    "mat that is no truth value": (changed(TRACED, "ops", 0, "mat", value=1), "ops[0].mat"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_bad_files_end_in_one_line_and_exit_code_3(tmp_path, capsys, fault):
    """The line begins with the file and names the field."""
    value, named = FAULTS[fault]
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(value))
    assert main(["solve", str(path), "--problem", "memory"]) == 3
    said = capsys.readouterr().err.strip()
    assert "\n" not in said and str(path) in said and named in said


def test_the_line_of_a_fault(tmp_path):
    """Faults of JSON, of entries of a list and of the machine name their line; what is wrong is shown."""
    path = tmp_path / "bad.json"
    path.write_text('{"problem": "memory",\n"tensors": [\n{"name": "x", "size": 1},\n\n{"name": "y", "size": -1}], "ops": []}')
    with pytest.raises(InputError, match=r"bad\.json:5: tensors\[1\]\.size"):
        MAPPING.read(path)
    with pytest.raises(InputError, match=r"-1 is not accepted"):
        MAPPING.read(path)
    path.write_text('{"problem": "memory", "tensors": [],\n"machine": {\n "fast_bytes": -1}, "ops": []}')
    with pytest.raises(InputError, match=r"bad\.json:3: machine\.fast_bytes"):
        MAPPING.read(path)
    path.write_text('{"problem": "memory",\n"tensors": [}')
    with pytest.raises(InputError, match=r"bad\.json:2: not JSON"):
        MAPPING.read(path)


@pytest.mark.parametrize(("name", "parameters"), [("dag", {"reach": 0}), ("dag", {"fast_mib": -1.0})])
def test_generators_refuse(name, parameters):
    """Parameters out of range are the caller's fault."""
    with pytest.raises(UsageError, match="accepted"):
        generators.GENERATORS[name](**parameters)


def test_generators_differ_by_seed_alone():
    """More fast memory is given to the same program."""
    for make in (generators.layered, generators.dag):
        assert make(seed=1, fast_mib=1.0).sizes.tolist() == make(seed=1, fast_mib=2.0).sizes.tolist()
    assert (generators.layered(seed=0).group >= 0).any()


def test_model_reads_a_file_under_corl_data(tmp_path, monkeypatch):
    """The generator `model` puts a program in a file on a machine with as much fast memory as asked for."""
    (tmp_path / "traced.json").write_text(json.dumps(TRACED))
    monkeypatch.setenv("CORL_DATA", str(tmp_path))
    made = generators.model(file="traced.json", fast_mib=0.5)
    assert made.name == "traced-0.5" and made.machine.fast_bytes == 2**19
    itself = '{"problem": "memory", "generator": "model", "parameters": {"file": "self.json"}}'
    (tmp_path / "self.json").write_text(itself)
    with pytest.raises(InputError, match="generator: 'model' is not accepted"):
        MAPPING.read(tmp_path / "self.json")
    for outside in ("../p.json", str(tmp_path.parent / "p.json")):
        with pytest.raises(UsageError, match="outside the folder CORL_DATA"):
            generators.model(file=outside)
    monkeypatch.delenv("CORL_DATA")
    with pytest.raises(UsageError, match="CORL_DATA"):
        generators.model(file="traced.json")


def test_all_slow_alexnet(data, monkeypatch):
    """A traced AlexNet with everything in slow memory: 605.6 us."""
    monkeypatch.setenv("CORL_DATA", str(data))
    instance = generators.model(file="memory/models/alexnet_b32.json")
    assert MAPPING.describe(instance)["all_slow_microseconds"] == pytest.approx(605.636, abs=1e-3)


def test_drawing(tiny):
    """A rectangle a residency at its time and bytes; stalls are coloured; without a plan the map is empty."""
    from matplotlib.figure import Figure

    from corl.problems.memory.evaluation import run_plan

    instance = tiny(2, aliases=False)
    t = int(np.flatnonzero(np.array(instance.kinds) == "input")[0])
    plan = MappingPlan(np.array([[t, 0, 4, 1]]), np.array([[t, 0, 0, 1]]))
    axes = Figure().add_subplot()
    MAPPING.draw(instance, plan, axes)
    timeline = run_plan(instance, plan)
    boxes = [patch for patch in axes.patches if patch.get_y() == pytest.approx(1 / 2**20)]
    assert boxes[0].get_height() == pytest.approx(instance.sizes[t] / 2**20)
    assert boxes[0].get_width() == pytest.approx(1e6 * timeline.total - 1e6 * timeline.start[0])
    assert f"{1e6 * timeline.total:,.2f} µs" in axes.get_title()
    empty = Figure().add_subplot()
    MAPPING.draw(instance, None, empty)
    assert len(empty.patches) < len(axes.patches)


def test_the_suite_can_be_read():
    """The shipped suite names generators, programs and solvers that there are."""
    from corl.benchmark.running.suite import read_suite

    suite = read_suite("memory/mapping-standard")
    assert len(suite.sources) == 32 and not suite.notices
    assert [suite.sources[k].load().machine.fast_bytes for k in (0, -1)] == [2**20, 2**23]
