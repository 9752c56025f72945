"""Certificates: written, read, and judged from the text of their instance, by `corl check` and without corl."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from corl.cli.main import main
from corl.errors import InputError
from corl.files.certificates import archive_entry, check_certificate, read_certificate, text_hash, write_certificate

STANDARD = "2 2\n0 3 1 2\n1 4 0 1\n"
FLEXIBLE = "2 2 1.5\n2 1 1 3 2 1 5 2 2\n1 2 1 4 2 4\n"  # machines count from 1
SCHEDULES = {
    "standard": {"start": [[0, 4], [0, 4]], "machine": [[0, 1], [1, 0]]},
    "flexible": {"start": [[0, 4], [0]], "machine": [[1, 2], [2]]},
}
OBJECTIVES = {"standard": 6, "flexible": 6}


def write(folder: Path, kind: str) -> tuple[Path, Path]:
    """The files of an instance and of its certificate, which `corl check` has written."""
    instance, solution, certificate = folder / f"{kind}.txt", folder / "solution.json", folder / "certificate.json"
    instance.write_text({"standard": STANDARD, "flexible": FLEXIBLE}[kind])
    solution.write_text(json.dumps(SCHEDULES[kind]))
    assert main(["check", str(instance), str(solution), "--problem", "jobshop", "--certify", str(certificate)]) == 0
    return instance, certificate


def program() -> str:
    """The program on the page that checks a certificate without corl."""
    page = (Path(__file__).resolve().parents[2] / "corl" / "documentation" / "records.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.mark.parametrize("kind", SCHEDULES)
def test_a_certificate_holds_the_solution_and_is_judged(tmp_path, capsys, kind):
    """From the instance's own text: the objective value, whether it is better, and the archive's entry."""
    instance, path = write(tmp_path, kind)
    found = read_certificate(path)
    assert (found.objective, found.solution, found.sha256) == (OBJECTIVES[kind], SCHEDULES[kind], text_hash(instance))
    write_certificate(replace(found, published=7.0, processor_seconds=90.0, date="2026-11-27"), path)
    assert check_certificate(path, instance).better
    capsys.readouterr()
    entry = tmp_path / "entry.json"
    assert main(["check", "--certificate", str(path), str(instance), "--archive", str(entry)]) == 0
    assert f"{kind}: feasible, objective 6, instance {found.sha256[:12]}; better than 7" in capsys.readouterr().out
    written = json.loads(entry.read_text())
    assert written == archive_entry(read_certificate(path)) and written["instance"] == kind
    assert (written["ub"]["value"], written["ub"]["time"], written["ub"]["certificate"]) == (6, 1.5, "yes")


def test_line_ends_and_blanks_do_not_change_the_hash(tmp_path):
    """A checkout may have other line ends."""
    for name, text in (("a", "2 2\n0 3"), ("b", "2\t2 \r\n  0 3\r\n"), ("c", "2 2\n0 4")):
        (tmp_path / name).write_bytes(text.encode())
    assert text_hash(tmp_path / "a") == text_hash(tmp_path / "b") != text_hash(tmp_path / "c")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": 5.0}, "objective: 5; the solution has 6"),
        ({"sha256": "0" * 64}, "sha256: '0000"),
        ({"solution": {"start": [[0, 4]], "machine": [[0, 1]]}}, "solution: accepted: {"),
    ],
)
def test_false_certificates_are_refused(tmp_path, change, message):
    """A wrong claim, another instance, and a solution of another shape, each with the field."""
    instance, path = write(tmp_path, "standard")
    write_certificate(replace(read_certificate(path), **change), path)
    with pytest.raises(InputError) as error:
        check_certificate(path, instance)
    assert message in str(error.value)


def test_an_infeasible_schedule_has_exit_code_4(tmp_path, capsys):
    """The judge names the violated constraint."""
    instance, path = write(tmp_path, "standard")
    found = read_certificate(path)
    write_certificate(replace(found, solution={"start": [[0, 2], [0, 4]], "machine": [[0, 1], [1, 0]]}), path)
    assert main(["check", "--certificate", str(path), str(instance)]) == 4
    assert "infeasible: operation 1 of job 0 starts at 2" in capsys.readouterr().out


def test_the_instance_is_found_below_the_folder(tmp_path, monkeypatch, capsys):
    """By the certificate's `file`; elsewhere the message asks for FILE."""
    _, path = write(tmp_path, "standard")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--certificate", str(path)]) == 0
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert main(["check", "--certificate", str(path)]) == 3
    assert "file: 'standard.txt' is not below this folder; accepted: the instance 'standard' as FILE" in capsys.readouterr().err


def test_a_bad_certificate_names_line_and_field(tmp_path, capsys):
    """One line, as every error."""
    _, path = write(tmp_path, "standard")
    path.write_text(path.read_text().replace('"objective": 6', '"objective": "6"'))
    assert main(["check", "--certificate", str(path)]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "certificate.json:4: objective" in error


@pytest.mark.parametrize(
    "arguments", [[], ["shop.txt"], ["shop.txt", "s.json", "--archive", "e"], ["a", "b", "--certificate", "c"]]
)
def test_arguments_that_do_not_fit_are_refused(arguments, capsys):
    """FILE and SOLUTION, or a certificate."""
    assert main(["check", *arguments]) == 2
    assert "accepted: FILE" in capsys.readouterr().err


@pytest.mark.parametrize("kind", SCHEDULES)
def test_the_program_without_corl_accepts_what_is_right(tmp_path, monkeypatch, kind):
    """The page's program, on both text formats."""
    instance, _ = write(tmp_path, kind)
    instance.rename(tmp_path / "shop.txt")
    monkeypatch.chdir(tmp_path)
    source = program()
    assert "corl" not in source and len([line for line in source.splitlines() if line and "import" not in line]) <= 24
    exec(compile(source, "records.md", "exec"), {})


@pytest.mark.parametrize(
    ("kind", "solution", "objective"),
    [
        ("standard", {"start": [[0, 2], [0, 4]], "machine": [[0, 1], [1, 0]]}, 6),  # before its predecessor ends
        ("standard", {"start": [[0, 3], [0, 4]], "machine": [[0, 1], [1, 0]]}, 5),  # machine 1 does two operations at once
        ("standard", {"start": [[0, 4], [0, 4]], "machine": [[0, 1], [1, 0]]}, 5),  # another makespan
        ("standard", {"start": [[0], [0, 4]], "machine": [[0], [1, 0]]}, 5),  # an operation is missing
        ("flexible", {"start": [[0, 3], [0]], "machine": [[1, 2], [2]]}, 5),
        ("flexible", {"start": [[0], [0]], "machine": [[1], [2]]}, 4),
    ],
)
def test_the_program_without_corl_refuses_what_is_wrong(tmp_path, monkeypatch, kind, solution, objective):
    """Every constraint of the judge is in it."""
    instance, path = write(tmp_path, kind)
    write_certificate(replace(read_certificate(path), solution=solution, objective=float(objective)), path)
    instance.rename(tmp_path / "shop.txt")
    monkeypatch.chdir(tmp_path)
    with pytest.raises((AssertionError, LookupError)):
        exec(compile(program(), "records.md", "exec"), {})
