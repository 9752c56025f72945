"""Files: gzip is seen through wherever text is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from corl import registry
from corl.errors import InputError
from corl.files.json_values import from_json
from corl.files.opening import opened, plain_name, writing
from corl.files.text import Text
from corl.loading import load

SHIPPED = Path(__file__).resolve().parents[2] / "instances" / "tsp"


@pytest.mark.parametrize(
    ("name", "stem", "suffix"),
    [("a.tsp", "a", ".tsp"), ("a.tsp.gz", "a", ".tsp"), ("b.c.MPS.GZ", "b.c", ".MPS"), ("x.gz", "x", "")],
)
def test_plain_name(name, stem, suffix):
    """Stem and suffix are those of the file inside."""
    assert (plain_name(f"folder/{name}").stem, plain_name(name).suffix) == (stem, suffix)


def test_compression_is_known_by_content(tmp_path):
    """Packed bytes are read under any name, plain ones under a .gz name; an empty file stays one."""
    for name, content in (("a.txt", gzip.compress(b"1 2\n")), ("b.gz", b"1 2\n")):
        (tmp_path / name).write_bytes(content)
        assert Text.read(tmp_path / name).content == "1 2\n"
    (tmp_path / "c.gz").write_bytes(b"")
    with opened(tmp_path / "c.gz") as stream:
        assert stream.read() == b""


def test_writing(tmp_path):
    """A .gz name is packed, with the same bytes every time; others are not; both read back."""
    for name in ("a.txt", "a.txt.gz", "b.txt.gz"):
        with writing(tmp_path / name) as stream:
            stream.write("é\n" * 100)
        assert Text.read(tmp_path / name).content == "é\n" * 100
    packed = (tmp_path / "a.txt.gz").read_bytes()
    assert packed == (tmp_path / "b.txt.gz").read_bytes() and len(packed) < 100 < (tmp_path / "a.txt").stat().st_size


@pytest.mark.parametrize("cut", [5, 12, -6, -1])
def test_damaged_gzip_is_an_input_error(tmp_path, cut):
    """A file that ends too early, or whose bytes are wrong, is named."""
    whole = gzip.compress(bytes(range(256)) * 50)
    for content in (whole[:cut], whole[:30] + b"\xff" * 20 + whole[50:]):
        (tmp_path / "a.gz").write_bytes(content)
        with pytest.raises(InputError, match=r"a\.gz: damaged gzip data"):
            Text.read(tmp_path / "a.gz")


def test_a_packed_file_that_is_too_large(tmp_path):
    """The limit holds for what is inside, so that a small file cannot fill the memory."""
    (tmp_path / "a.gz").write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(InputError, match="too large"):
        Text.read(tmp_path / "a.gz", largest=1000)


def test_a_small_file_that_unpacks_to_very_much(tmp_path):
    """70 MB of lines in 70 kB are refused before they are read as lines; 10 MB are not, nor is what is not packed."""
    lines = b"1 1 1\n" * 1_700_000
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines * 7, 1))
    with pytest.raises(InputError, match=r"too large; accepted: text of at most 67,108,864 bytes, or 100 times the size of the"):
        Text.read(tmp_path / "a.gz")
    (tmp_path / "a.gz").write_bytes(gzip.compress(lines, 1))
    assert len(Text.read(tmp_path / "a.gz").content) == len(lines)


@pytest.mark.parametrize(("problem", "name"), [("tsp", "a.tsp"), ("jobshop", "a.txt"), ("bandits", "a.json"), ("milp", "a.mps")])
def test_every_problem_reads_packed_files(tmp_path, problem, name):
    """The same instance, with the same name, from a file and from the file packed; its problem is recognised."""
    adapter = registry.problem(problem)
    instance = next(iter(adapter.generators.values()))(seed=1)
    adapter.write(instance, tmp_path / name)
    packed = Path(tmp_path / "packed" / f"{name}.gz")
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    assert registry.recognise(packed).name == problem
    one, two = adapter.read(tmp_path / name), adapter.read(packed)
    assert one.name == two.name and adapter.describe(one) == adapter.describe(two)


def test_loading_a_packed_file(tmp_path):
    """What `corl.solve` and the commands load may be packed."""
    (tmp_path / "u.tsp.gz").write_bytes(gzip.compress((SHIPPED / "uniform-100.tsp").read_bytes()))
    problem, instance = load(tmp_path / "u.tsp.gz", None)
    assert (problem.name, instance.name, instance.n) == ("tsp", "uniform-100", 100)


def test_json_is_not_nested_without_end():
    """100 levels are read, brackets in texts are none; more is a line, where readers that recurse died or quoted it all."""
    assert from_json("[" * 100 + "]" * 100) and from_json('["' + "[" * 500 + '\\"{"]') and from_json('"' + "[" * 500 + '"')
    for text in ("[" * 101 + "]" * 101, '{"a":' * 101 + "0" + "}" * 101, '["]"' + ',["]"' * 120 + "]" * 121, "[" * 10**5):
        with pytest.raises(InputError) as error:
            from_json(text)
        assert len(str(error.value)) < 200


def test_errors_keep_their_length():
    """What a file says may be of any length; a message is a line that can be read."""
    error = InputError("bad " + "x" * 5000 + "; accepted: a number", file="f", line=3, field="y" * 500)
    assert len(str(error)) < 320 and str(error).endswith("; accepted: a number") and str(error).startswith("f:3: yyy")


def test_duplicate_keys_are_refused():
    """A key that an object has twice is named; the same key in different objects is as it was."""
    assert from_json('[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]
    for text in ('{"a": 1, "b": 2, "a": 1}', '[{"x": {"b": [], "a": 1, "a": {}}}]'):
        with pytest.raises(InputError, match=r'^not JSON: the key "a" is given twice in an object$'):
            from_json(text)
