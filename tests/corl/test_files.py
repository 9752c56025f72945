"""Files: gzip is seen through wherever text is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from corl import registry
from corl.errors import InputError
from corl.files import opened, plain_name, writing
from corl.solving import load
from corl.text import Text

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
