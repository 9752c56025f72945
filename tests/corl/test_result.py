"""Result: JSON both ways, files."""

from __future__ import annotations

import contextlib
import json
import math
import os
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corl
from corl.cli.main import main
from corl.errors import InputError, UsageError
from corl.files.opening import replacing
from corl.result import Result, relative_gap
from corl.termination import LIMITS, STATUSES, Limit, Status

KEYS = {
    "problem", "instance", "status", "limit", "reason", "sense", "objective", "bound", "gap", "runtime", "setup_seconds",
    "solution", "trace", "solver", "options", "seed", "versions", "verified", "tolerated", "discarded",
}  # fmt: skip


def make(**changes: object) -> Result:
    """A small result."""
    values = {
        "problem": "tsp", "instance": "a", "status": "feasible", "limit": "time_limit", "sense": "min", "objective": 12.5,
        "bound": 10.0, "runtime": 1.0, "setup_seconds": 0.5, "solution": [1, 2, 3], "trace": ((0.1, 12.5, None),),
        "solver": "eax", "options": {"population": None}, "seed": 3, "versions": {"corl": "0"}, "verified": True,
    }  # fmt: skip
    return Result(**(values | changes))


def test_json_has_the_documented_keys():
    """to_json has exactly the keys that the README documents."""
    assert set(json.loads(make().to_json())) == KEYS


@given(st.floats(), st.one_of(st.none(), st.floats()))
def test_json_never_holds_nan(objective, bound):
    """What is not finite becomes null: every JSON reader can read it."""
    values = json.loads(make(objective=objective, bound=bound).to_json(), parse_constant=pytest.fail)
    assert values["objective"] is None or math.isfinite(values["objective"])


@given(st.floats(-1e9, 1e9), st.one_of(st.none(), st.floats(-1e9, 1e9)), st.integers(0, 2**31))
def test_json_round_trip(objective, bound, seed):
    """from_json inverts to_json."""
    result = make(objective=objective, bound=bound, seed=seed)
    again = Result.from_json(result.to_json())
    assert again.objective == objective and again.trace == result.trace and again.to_json() == result.to_json()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"problem": 1}', "nonsense", make().to_json().replace("feasible", "fine")])
def test_bad_json_is_an_input_error(text):
    """Anything that is no result is one clear error."""
    with pytest.raises(InputError):
        Result.from_json(text)


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just(10**400), st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(), st.integers(), max_size=2), st.just([[1, 2]]), st.just([[None, 1, 1]]),
)  # fmt: skip


def read_or_refused(text: str) -> bool:
    """Whether `from_json` gives a result that writes itself with all keys, or raises InputError."""
    try:
        result = Result.from_json(text)
    except InputError:
        return True
    return set(json.loads(result.to_json())) == KEYS


@given(st.sampled_from(sorted(KEYS)), JUNK)
def test_a_wrong_type_in_any_field_is_an_input_error(key, value):
    """One field replaced by anything: either a result that writes itself, or InputError."""
    text = json.dumps(json.loads(make().to_json()) | {key: value})
    assert read_or_refused(text)


@given(st.data())
def test_mutated_json_is_an_input_error(data):
    """Text cut out of a result's JSON, and text put in: either a result, or InputError."""
    text = make().to_json()
    first, last = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    assert read_or_refused(text[:first] + data.draw(st.text(max_size=5)) + text[last:])


def test_odd_values_become_json():
    """NumPy values, tuples as keys, sets, paths and infinities anywhere are written as JSON."""
    numbers = [np.int64(3), np.bool_(True), np.inf, -0.0]
    odd = {(1, 2): np.float32(0.5), "a": np.arange(3), "b": {1}, "c": Path("x"), "d": numbers, "e": 10**400}
    written = json.loads(make(options=odd, instance="b\udcff").to_json(), parse_constant=pytest.fail)
    assert written["options"] == {"(1, 2)": 0.5, "a": [0, 1, 2], "b": [1], "c": "x", "d": [3, True, None, 0], "e": 10**400}
    assert written["instance"] == "b\udcff"


def test_every_status_and_limit_is_documented(capsys):
    """The overview and `corl solve --help` name the values of `status` and `limit`, which are all that JSON may hold."""
    with pytest.raises(SystemExit):
        main(["solve", "--help"])
    overview = Path(__file__).parents[2] / "corl" / "documentation" / "overview.md"
    shown, page = capsys.readouterr().out, overview.read_text(encoding="utf-8")
    assert set(get_args(Status)) == set(STATUSES) and set(get_args(Limit)) == set(LIMITS)
    for word in (*STATUSES, *LIMITS):
        assert f"  {word} " in shown and f"`{word}`" in page
    for field in ("status", "limit"):
        with pytest.raises(InputError, match=f"{field}: .*accepted: .*infeasible, unbounded"):
            Result.from_json(make(**{field: "broken"}).to_json())


def test_json_written_before_there_was_a_reason_is_read():
    """Files without the keys `reason`, `tolerated` and `discarded` hold none."""
    values = json.loads(make(reason="because", tolerated="a little", discarded=2).to_json())
    again = Result.from_json(json.dumps(values))
    assert (again.reason, again.tolerated, again.discarded) == ("because", "a little", 2)
    del values["reason"], values["tolerated"], values["discarded"]
    again = Result.from_json(json.dumps(values))
    assert (again.reason, again.tolerated, again.discarded) == ("", "", 0)


def test_gap():
    """The gap is relative to the objective, 0 where they meet, None where unknown or undefined."""
    assert relative_gap(10.0, 9.0) == pytest.approx(0.1)
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(0.0, 1.0) is None and relative_gap(1.0, None) is None


def test_writing_needs_the_instance(tmp_path):
    """A result read back without its instance says what it lacks."""
    result = Result.from_json(make().to_json())
    with pytest.raises(UsageError, match="instance"):
        result.write(tmp_path / "a.tour")
    result.write(tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text() == result.to_json() + "\n"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_modes_are_those_of_files_written_in_place(tmp_path):
    """A new file's mode follows the umask, whatever its writer gave it (safetensors gives 0600); that of an old file stays."""
    for mask, name, mode in ((0o022, "a", 0o644), (0o007, "b", 0o660), (0o022, "b", 0o660)):
        before = os.umask(mask)
        try:
            with replacing(tmp_path / name) as partial:
                partial.touch(mode=0o600)
        finally:
            os.umask(before)
        assert (tmp_path / name).stat().st_mode & 0o777 == mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_files_are_replaced_whole(tmp_path):
    """A failed write leaves the old file and no litter; a link stays a link."""
    (tmp_path / "a.json").write_text("old")
    with contextlib.suppress(ZeroDivisionError), replacing(tmp_path / "a.json") as partial:
        partial.write_text("half")
        _ = 1 // 0
    assert (tmp_path / "a.json").read_text() == "old" and len(list(tmp_path.iterdir())) == 1
    (tmp_path / "link.json").symlink_to(tmp_path / "a.json")
    make().write(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink() and "feasible" in (tmp_path / "a.json").read_text()
    for path in (tmp_path / "none" / "a.json", tmp_path):
        with pytest.raises((OSError, UsageError)):
            make().write(path)


def test_the_json_schema():
    """It is a schema, results fit it, and what from_json refuses does not."""
    jsonschema = pytest.importorskip("jsonschema")
    check = jsonschema.Draft202012Validator(corl.Result.json_schema())
    check.check_schema(check.schema)
    values = json.loads(corl.solve("tsp/uniform-100", solver="ils", iterations=50).to_json())
    assert check.is_valid(values)
    for key, wrong in {"status": "perfect", "runtime": "1", "trace": [[1, 2]], "seed": 1.5, "versions": {"corl": 1}}.items():
        assert not check.is_valid(values | {key: wrong}), key
        with pytest.raises(corl.InputError):
            corl.Result.from_json(json.dumps(values | {key: wrong}))
    assert not check.is_valid({key: value for key, value in values.items() if key != "solver"})
