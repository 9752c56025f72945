"""Static allocation: the judge, files, generators and the adapter."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.cli.main import main
from corl.errors import Infeasible, InputError, UsageError
from corl.files.text import Text
from corl.problems.memory_static import formats
from corl.problems.memory_static.formats import read_text
from corl.problems.memory_static.instance import StaticInstance, make_instance, sections
from corl.problems.memory_static.problem import StaticAllocation

STATIC = StaticAllocation()
CSV = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
KINDS = ("plain", "aligned", "fixed")


def same(a: StaticInstance, b: StaticInstance) -> bool:
    """The same buffers."""
    return a.ids == b.ids and all(
        np.array_equal(getattr(a, key), getattr(b, key)) for key in ("lower", "upper", "size", "alignment", "fixed")
    )


@settings(deadline=None, max_examples=300)
@given(buffers=st.integers(1, 7), seed=st.integers(0, 10**6), top=st.integers(1, 14), kind=st.sampled_from(KINDS))
def test_the_judge_agrees_with_the_definition(random_instance, overlap, buffers, seed, top, kind):
    """At random offsets: the height where no pair overlaps and alignments and fixed offsets hold; otherwise Infeasible."""
    instance = random_instance(buffers, seed, kind)
    offsets = np.random.default_rng(seed).integers(0, top, buffers) * instance.alignment
    if seed % 2:
        offsets = np.where(instance.fixed >= 0, instance.fixed, offsets)
    wrong = overlap(instance, offsets.tolist()) or bool(((instance.fixed >= 0) & (instance.fixed != offsets)).any())
    if wrong:
        with pytest.raises(Infeasible):
            STATIC.evaluate(instance, offsets)
    else:
        assert STATIC.evaluate(instance, offsets) == (offsets + instance.size).max()


@pytest.mark.parametrize(
    ("offsets", "words"),
    [([8, 8, 4, 0], "shape"), ([8, 8, 4, 4, -1], "offset of buffer 'b5' is -1"), ([8.0, 8, 4, 4, 0], "offsets are integers"),
     ([8, 8, 5, 4, 0], "buffers '(b1|b2|b3)' and '(b1|b2|b3)' overlap"), ([[1], [2, 3]], "for every buffer"),
     ([0, 4, 8, 0, 0], "overlap")],
)  # fmt: skip
def test_faults_of_solutions_are_named(offsets, words):
    """In the file's ids."""
    with pytest.raises(Infeasible, match=words):
        STATIC.evaluate(read_text(Text(CSV)), offsets)


def test_too_many_buffers_are_counted_first(monkeypatch):
    """No memory is taken for the lines of a file that has too many of them; comments and blank lines are none."""
    monkeypatch.setattr(formats, "LARGEST_BUFFERS", 10_000)
    lines = [f"{k},0,3,4\n" for k in range(20_000)]
    many, most = Text("id,lower,upper,size\n" + "".join(lines)), "id,lower,upper,size\n" + "\n# x\n".join(lines[:10_000])
    tracemalloc.start()
    with pytest.raises(InputError, match="20,000 buffers; accepted: up to 10,000"):
        read_text(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20 and len(read_text(Text(most)).ids) == 10_000


def test_alignment_and_fixed_offsets_are_judged():
    """A multiple of the alignment; the offset that is given."""
    instance = make_instance("", [0, 0], [2, 2], [3, 2], alignment=[1, 4], fixed=[0, -1])
    assert STATIC.evaluate(instance, [0, 4]) == 6
    with pytest.raises(Infeasible, match="no multiple of its alignment, 4"):
        STATIC.evaluate(instance, [0, 3])
    with pytest.raises(Infeasible, match="it is fixed at 0"):
        STATIC.evaluate(instance, [2, 0])


def test_formats():
    """minimalloc's columns in any order, synonyms, an inclusive end, comments, quoted names, alignments and offsets."""
    instance = read_text(Text(CSV))
    assert instance.ids[0] == "b1" and instance.upper.tolist() == [3, 9, 9, 21, 21] and instance.comment == ""
    old = "# small\nbuffer_id,start,size,end\n" + "".join(
        f"{name},{low},{size},{int(up) - 1}\n" for name, low, up, size in (row.split(",") for row in CSV.split()[1:])
    )
    assert same(instance, read_text(Text(old))) and read_text(Text(old)).comment == "small"
    full = read_text(Text('id,lower,upper,size,alignment,offset\n"a,b",-3,2,5,4,8\nc,0,1,2,,\n'))
    assert full.ids == ("a,b", "c") and full.alignment.tolist() == [4, 1] and full.fixed.tolist() == [8, -1]
    assert STATIC.recognises(CSV) and STATIC.recognises(old)
    assert not STATIC.recognises("id,size\n") and not STATIC.recognises("3 10\n")
    assert STATIC.to_json(instance, [8, 8, 4, 4, 0]) == {"b1": 8, "b2": 8, "b3": 4, "b4": 4, "b5": 0}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (CSV.replace("b2,3,9,4", "b2,3,9,-4"), r":3: size: '-4' is not accepted; accepted: an integer"),
        (CSV.replace("b2,3,9,4", "b2,9,3,4"), r":3: upper: the buffer ends at 3 and starts at 9; accepted: a later end"),
        (CSV.replace("b2,3,9,4", "b2,3,9.5,4"), r":3: upper: '9.5'"),
        (CSV.replace("b2,3,9,4", "b2,3,9"), r":3: 3 cells; the header names 4"),
        (CSV.replace("b2,", "b1,"), r":3: id: 'b1' is given twice, first in line 2"),
        (CSV.replace("upper", "gaps"), r":1: header: no column 'gaps' is known; accepted: id, lower"),
        (CSV.replace(",size", "").replace(",4\n", "\n"), r":1: header: column 'size' is missing"),
        ("id,lower,upper,size\n", r"no buffers"),
        ("id,lower,upper,size,offset\na,0,5,4,0\nb,5,9,4,0\nc,4,6,4,3\n", r":4: offset: overlaps the buffer of line 2 in memory"),
        ("id,lower,upper,size,alignment,offset\na,0,5,4,8,4\n", r":2: offset: 4 is no multiple of the alignment, 8"),
    ],
)
def test_bad_input_is_one_line_and_exit_3(tmp_path: Path, capsys, content, place):
    """The command line names file, line and field."""
    file = tmp_path / "bad.csv"
    file.write_text(content)
    assert main(["solve", str(file), "--problem", "memory-static"]) == 3
    told = capsys.readouterr().err.strip()
    assert "\n" not in told and "bad.csv" in told
    with pytest.raises(InputError, match=place):
        STATIC.read(file)


def test_bad_solution_files(tmp_path):
    """Buffers that are missing, unknown, changed or given twice; files without offsets."""
    instance, file = read_text(Text(CSV)), tmp_path / "a.csv"
    good = "id,lower,upper,size,offset\n" + "".join(f"{row},0\n" for row in CSV.split()[1:])
    for content, kind, words in [
        (good.replace("b5,0,21,4,0\n", ""), Infeasible, "'b5' has no offset"),
        (good.replace("b5", "b6"), Infeasible, "no buffer 'b6'"),
        (good.replace("b5", "b" * 5000), Infeasible, "no buffer 'b{37}...'"),
        (good.replace("b5,0,21,4,0", "b5,0,21,3,0"), Infeasible, "another lifetime or size"),
        (good.replace("b5", "b4"), InputError, "given twice"),
        (CSV, InputError, "'offset' is missing"),
        (good.replace("21,4,0", "21,4,"), InputError, "offset: ''"),
    ]:
        file.write_text(content)
        with pytest.raises(kind, match=words):
            STATIC.read_solution(instance, file)
    for value, kind in (([1], InputError), ({"b1": 0.5}, InputError), ({"b1": 0}, Infeasible)):
        with pytest.raises(kind):
            STATIC.from_json(instance, value)


def test_generators_are_what_they_say():
    """The comment makes the instance again; tiled and peaks reach a load of 2**20; wrong parameters are refused."""
    for name, generate in STATIC.generators.items():
        sized = {"layers": 30} if name == "network" else {"size": 120}
        instance = generate(**sized, seed=7)
        assert same(instance, generate(**sized, seed=7)) and not same(instance, generate(**sized, seed=8))
        assert name in instance.comment and "--seed 7" in instance.comment
        with pytest.raises(UsageError):
            generate(**dict.fromkeys(sized, 0))
        if name in ("tiled", "peaks"):
            assert instance.n == 120 and sections(instance).load.max() == 2**20
    nested = STATIC.generators["network"](layers=30, training=True)
    assert nested.n > 60 and (nested.upper - nested.lower).max() > 100


def test_adapt():
    """An array of rows, or an object with alignments and fixed offsets; anything else is refused."""
    instance = STATIC.adapt([[0, 3, 4], [3, 9, 4]])
    assert instance.ids == ("0", "1") and instance.size.tolist() == [4, 4]
    assert STATIC.adapt({"lower": [0], "upper": [3], "size": [4], "fixed": [2]}).fixed.tolist() == [2]
    for data in (3, [[1, 2]], [[0, 3, -4]], [[3, 0, 4]], [["a", "b", "c"]], {"lower": [0]}, {"width": [1]}, [[0, 1.5, 2]]):
        with pytest.raises(InputError):
            STATIC.adapt(data)
    with pytest.raises(InputError, match="fixed offsets of buffers '0' and '1' overlap"):
        STATIC.adapt({"lower": [0, 1], "upper": [3, 4], "size": [4, 4], "fixed": [2, 5]})


def test_drawing_and_facts(random_instance, tmp_path):
    """A picture of an instance and of a solution; facts for `corl info`."""
    from corl.files.drawing import save

    instance = random_instance(9, 2)
    for solution in (None, np.cumsum(instance.size) - instance.size):
        save(STATIC, instance, solution, tmp_path / "a.svg")
        assert (tmp_path / "a.svg").stat().st_size > 1000
    assert STATIC.describe(instance)["buffers"] == 9


def test_command_line(tmp_path, capsys):
    """generate, info, solve into CSV, check; a capacity that is too small is infeasible, said in words."""
    file, answer = tmp_path / "a.csv", tmp_path / "answer.csv"
    assert main(["generate", "memory-static", "network", "--option", "layers=5", "--output", str(file)]) == 0
    assert main(["info", str(file)]) == 0
    solve = ["solve", str(file), "--solver", "first-fit", "--option"]
    assert main([*solve, "passes=6", "--output", str(answer)]) == 0
    assert main(["check", str(file), str(answer)]) == 0
    capsys.readouterr()
    assert main([*solve, "capacity=100"]) == 4
    assert "infeasible: buffer '" in capsys.readouterr().out


def test_the_verdict_on_a_file_without_an_offset_is_infeasible(tmp_path, capsys):
    """Not an error: `corl check` says so on standard output, as it does of what the judge refuses, as text and as JSON."""
    (tmp_path / "b.csv").write_text("id,lower,upper,size\na,0,3,4\nb,0,3,4\n")
    (tmp_path / "s.csv").write_text("id,lower,upper,size,offset\na,0,3,4,0\n")
    assert main(["check", str(tmp_path / "b.csv"), str(tmp_path / "s.csv")]) == 4
    assert capsys.readouterr().out == "infeasible: buffer 'b' has no offset\n"
    assert main(["check", str(tmp_path / "b.csv"), str(tmp_path / "s.csv"), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["feasible"] is False
