"""Damaged suites, checkpoints and stores: an error of one line that names the file, or what works like any other."""

from __future__ import annotations

import contextlib
import json
import math
import random
import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from examination import examined, refused
from mutation import mutant
from specimen import ROOT

from corl.benchmark.reporting.drawings import solutions_of
from corl.benchmark.reporting.duel import duel
from corl.benchmark.reporting.export import export
from corl.benchmark.reporting.markdown import report_markdown
from corl.benchmark.reporting.page import page
from corl.benchmark.reporting.report import build, report_json
from corl.benchmark.running.runner import missing
from corl.benchmark.running.suite import read_suite
from corl.errors import InputError, UsageError
from corl.networks import checkpoints
from corl.record import Record
from corl.store import Store

MANY = pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.long)], indirect=True)


@MANY
def test_damaged_suites(count: int, tmp_path: Path):
    """TOML files; instances beside the suite are not there."""
    files = [file.read_bytes() for file in sorted((ROOT / "instances").glob("*/*.toml"))]
    path, generator = tmp_path / "mutant.toml", random.Random(count)

    def examine() -> None:
        with refused(tmp_path):  # it may be a file beside the suite that is at fault
            assert read_suite(path).definition()

    faults = examined((mutant(generator.choice(files), generator) for _ in range(count)), path, examine)
    assert not faults, "\n".join(faults)


@MANY
def test_damaged_checkpoints(count: int, tmp_path: Path):
    """Bytes of the file, the JSON of its header, and the JSON within that, sealed anew as somebody's own program might."""
    import torch

    from corl.networks.attention import AttentionPolicy

    path, generator = tmp_path / "mutant.safetensors", random.Random(count)
    checkpoints.save(path, AttentionPolicy("tsp", "plane", inputs=3, pairs=2, width=8, layers=1, heads=2, feedforward=8))
    content = path.read_bytes()
    weights = checkpoints.load(path)[0].state_dict()

    def mutants() -> Iterator[bytes]:
        length = int.from_bytes(content[:8], "little")
        head, body = content[8 : 8 + length], content[8 + length :]
        for number in range(count):
            if number % 3 == 0:
                changed = mutant(head, generator)
            else:
                table = json.loads(head)
                inner = mutant(table["__metadata__"]["corl"].encode(), generator)
                if number % 3 == 1:
                    inner = _sealed(inner, weights)
                table["__metadata__"]["corl"] = inner.decode("utf-8", "replace")
                changed = json.dumps(table).encode()
            yield len(changed).to_bytes(8, "little") + changed + body

    def examine() -> None:
        with refused(path):
            checkpoints.read_header(path)
            assert isinstance(checkpoints.load(path)[0], torch.nn.Module)

    faults = examined(mutants(), path, examine)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("count", [20, pytest.param(1_000, marks=pytest.mark.long)], indirect=True)
def test_crafted_checkpoints(count: int, tmp_path: Path):
    """Networks that come with the package, their configurations damaged and sealed anew: in 2 s and 500 MB."""
    from safetensors.torch import load_file, save

    path, generator = tmp_path / "crafted.safetensors", random.Random(count)
    whole = [(checkpoints.read_header(file), load_file(file)) for file in checkpoints.shipped().values()]
    loaded = 0

    def mutants() -> Iterator[bytes]:
        for number in range(count):
            header, weights = whole[number % len(whole)]
            config = mutant(json.dumps(header["config"]).encode(), generator)
            with contextlib.suppress(ValueError):  # what is no JSON is for the test above
                inner = _sealed(json.dumps(header | {"config": json.loads(config)}).encode(), weights)
                yield save(weights, {"corl": inner.decode()})

    def examine() -> None:
        nonlocal loaded
        with refused(path):
            checkpoints.load(path)
            loaded += 1

    for header, weights in whole:
        path.write_bytes(save(weights, {"corl": json.dumps(header)}))
        assert checkpoints.load(path)[1] == header
    faults = examined(mutants(), path, examine, seconds=2.0, memory=500 * 2**20)
    assert not faults, "\n".join(faults)
    assert 0 < loaded < count


def _sealed(inner: bytes, weights: dict) -> bytes:
    """A header with the digest that it should have; as it is where it is no object."""
    try:
        header = json.loads(inner)
        if isinstance(header, dict):
            header["digest"] = checkpoints._digest(header, weights)
        return json.dumps(header).encode()
    except (ValueError, TypeError):
        return inner


@pytest.mark.parametrize("count", [150, pytest.param(1_000, marks=pytest.mark.long)], indirect=True)
def test_damaged_stores(count: int, tmp_path: Path):
    """Bytes of the SQLite file, and single values of its tables, through all that reads a store."""
    path, generator = tmp_path / "mutant.db", random.Random(count)
    suite = read_suite("tsp/smoke")
    with Store(path, create=True) as store:
        for number in range(12):
            store.add(_record("ab"[number % 2], number // 2, suite.name))
        store.add_suite(suite.name, suite.definition(), "corl bench tsp/smoke")
        store.add_training("t", {"problem": "tsp"})
        store.add_curve("t", 1.0, "loss", 0.5)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    content = path.read_bytes()

    def examine() -> None:
        with refused(path, (InputError, UsageError)), Store(path) as store:
            for record in store.records():
                store.solution(record)
            report = build(store)
            assert report_json(report) and report_markdown(report) is not None
            if generator.random() < 0.1:
                assert page(report, solutions_of(store, report.suites))
            duel(store, "a", "b").lines()
        for use in (lambda: export(store, suite.name, tmp_path / "out.csv"), lambda: missing(suite, store, resume=True)):
            with refused(path, (InputError, UsageError)), Store(path) as store:
                use()

    faults = examined(_damaged_stores(content, path, generator, count), path, examine)
    assert not faults, "\n".join(faults)


_WRONG = (
    "", "x", "[]", "{}", "null", "[1]", '{"x": 1}', -1, 0, 0.5, 1e308, -1e308, math.inf, None, 2**62, "nan", '"a"',
    b"\0\xff", b"", b"\0" * 24, b"\xff" * 48, struct.pack("<6d", 5.0, 1e308, -1e308, 1.0, 2.0, 0.0),
    "1e999", '{"a": NaN}', '{"a": 1, "a": 2}', "[" * 10**5, "9" * 5000, "\ud7ff\n\x1b", "<script>", "a" * 10**4, '["x"]', "[{}]",
)  # fmt: skip


def _damaged_stores(content: bytes, path: Path, generator: random.Random, count: int) -> Iterator[bytes]:
    for number in range(count):
        for side in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + side).unlink(missing_ok=True)
        if number % 3 == 0:
            at = generator.randrange(len(content))
            yield generator.choice((content[:at], content[:at] + bytes([generator.randrange(256)]) + content[at + 1 :]))
            continue
        path.write_bytes(content)
        with sqlite3.connect(path) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            table = generator.choice((*tables, "runs"))
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            row = "rowid" if table != "curves" else "run"
            which = f"{row} IN (SELECT {row} FROM {table} LIMIT 1)" if generator.random() < 0.7 else "TRUE"
            with contextlib.suppress(sqlite3.IntegrityError):
                change = f'UPDATE {table} SET "{generator.choice(columns)}" = ? WHERE {which}'
                connection.execute(change, (generator.choice(_WRONG),))
        connection.close()
        yield path.read_bytes()


def _record(solver: str, seed: int, suite: str) -> Record:
    return Record(
        suite=suite, problem="tsp", instance="x", solver=solver, seed=seed, time_limit=1.0, iterations=None, outcome="ok",
        objective=10.0 + seed, bound=9.0, reference=10.0, reference_status="proven", limit="time_limit", runtime=1.0,
        setup_seconds=0.3, wall_seconds=2.0, cpu_seconds=1.9, peak_bytes=10**8, trace=((0.1, 11.0, None), (0.2, 10.5, 9.0)),
        solution=[0, 1, 2], solver_name="ils", options={"kick": 3}, facts={"dimension": 3}, cores=(0,),
        started="2026-01-01T00:00:00Z", versions={"corl": "0"}, machine={"processor": "p"}, commit="abc",
    )  # fmt: skip
