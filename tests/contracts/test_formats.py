"""Every format of every registered problem: what is written is read again, plain and packed."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examination import same
from families import drawn, family, small
from specimen import FORMATS, specimens

from corl import InputError, Problem, UsageError, registry
from corl.cli.main import main
from corl.loading import load

ENDINGS = sorted({suffix for _, suffix in FORMATS})
MANY = pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.long)], indirect=True)
NUMBERING = {"ids", "first_item", "first_machine"}
"""Fields of instances that say how their files number things; not every format can."""
NUMERALS = 4  # of a specimen that are replaced
EACH = pytest.mark.parametrize("name", registry.problems())


def written(name: str, instance: Any, folder: Path) -> dict[str, Path]:
    """An instance in each format of its problem, whatever the endings of others choose: ending -> file.

    A format that has not everything that an instance may have says so.
    """
    files: dict[str, Path] = {}
    for ending in sorted(ENDINGS, key=lambda ending: (name, ending) not in FORMATS):
        path = folder / f"a{ending}"
        path.unlink(missing_ok=True)
        try:
            registry.problem(name).write(instance, path)
        except UsageError:
            continue
        if path.read_bytes() not in [file.read_bytes() for file in files.values()]:
            files[ending] = path
    return files


@MANY
@EACH
def test_what_is_written_reads_back(name: str, count: int, tmp_path: Path):
    """The same instance, to the bit, from the plain file and the packed one, whose content is the plain one's; written again, the
    same bytes. A format may number things in its own way, but what was read or generated has one that does not."""
    problem, random = registry.problem(name), np.random.default_rng(count)
    instances = [*small(name), *(drawn(name, random) for _ in range(count))]
    for number, instance in enumerate(instances):
        files, exact = written(name, instance, tmp_path), number >= len(small(name))
        for ending, plain in files.items():
            packed = tmp_path / f"a{ending}.gz"
            problem.write(instance, packed)
            assert packed.read_bytes()[:2] == b"\x1f\x8b" and gzip.decompress(packed.read_bytes()) == plain.read_bytes()
            read = [load(file, name)[1] for file in (plain, packed)]
            assert same(*read) and same(instance, read[0], but=NUMBERING), (ending, instance)
            assert read[0].name in (instance.name, "a")  # where a format has no name, that of the file
            exact |= same(instance, read[0])
            problem.write(read[1], packed)
            assert gzip.decompress(packed.read_bytes()) == plain.read_bytes(), (ending, instance)
        assert files and exact, instance


@EACH
def test_files_are_recognised(name: str, tmp_path: Path):
    """By the problem that wrote them, where it recognises any (programs are milp's, not milp-branching's)."""
    if type(registry.problem(name)).recognises is not Problem.recognises:
        for instance in small(name):
            assert {registry.recognise(file).name for file in written(name, instance, tmp_path).values()} == {name}


_NUMERAL = re.compile(r"(?<![\w.])\d+(\.\d+)?(?![\w.])")


@pytest.mark.parametrize(("name", "suffix"), [pair for pair in FORMATS if pair[1] not in (".json", ".csv")])
def test_numbers_as_fortran_writes_them(name: str, suffix: str, tmp_path: Path):
    """A number with a D for its exponent's E means the same, wherever in a file it stands; or both are refused (as integers)."""
    problem, path, accepted = registry.problem(name), tmp_path / f"numbers{suffix}", 0
    for _, content in specimens(name, suffix):
        text = content.decode("utf-8")
        found = list(_NUMERAL.finditer(text))
        for match in found[:: 1 + len(found) // NUMERALS]:
            read = []
            for letter in "ED":
                numeral = f"{match[0]}{'' if match[1] else '.0'}{letter}+00"
                path.write_text(text[: match.start()] + numeral + text[match.end() :], encoding="utf-8")
                try:
                    read.append(problem.read(path))
                except InputError:
                    read.append(None)
            assert (read[0] is None) == (read[1] is None) and (read[0] is None or same(*read)), (match, text)
            accepted += read[0] is not None
    assert accepted or getattr(family(name), "INTEGERS", False)


@pytest.mark.parametrize("name", sorted({name for name, suffix in FORMATS if suffix == ".json"}))
def test_objects_of_json_files(name: str, tmp_path: Path):
    """A JSON file and its object in Python are the same instance, with `problem=` and, where it says its problem, without;
    a fault in one is an InputError that says what is accepted."""
    path = tmp_path / "object.json"
    for _, content in specimens(name, ".json"):
        path.write_bytes(content)
        value = json.loads(content)
        read = load(path, name)[1]
        assert same(read, load(value, name)[1], but={"name"})
        said = load({"problem": name, **value})
        assert said[0].name == name and same(read, said[1], but={"name"})
    for fault in ({}, {"nonsense": 1}, {1: 2}, {"comment": 1}):
        with pytest.raises(InputError, match="accepted: "):
            load({"problem": name} | fault)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
@EACH
def test_instances_go_into_a_pipe(name: str, tmp_path: Path, capsys: Any):
    """Where --output is a pipe, what is read from it is what standard output would get without."""
    assert main(["generate", name]) == 0
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "read", "wb") as file, subprocess.Popen(["cat", tmp_path / "pipe"], stdout=file) as reader:
        assert main(["generate", name, "--output", str(tmp_path / "pipe")]) == 0
        reader.wait(60)
    assert (tmp_path / "read").read_text(encoding="utf-8") == capsys.readouterr().out
