"""`corl check FILE SOLUTION`: evaluate a solution file, or a certificate, independently of any solver."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corl.cli.main import one_line
from corl.errors import Infeasible, UsageError
from corl.files.json_values import to_json
from corl.files.solutions import judge, read_solution
from corl.tolerance import agrees

if TYPE_CHECKING:
    from corl.files.certificates import Verdict

__all__ = ["arguments", "execute"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="the instance; with --certificate its text, by default as named there"
    )
    parser.add_argument(
        "solution", metavar="SOLUTION", nargs="?", help="JSON (a result, or the solution alone) or the problem's own format"
    )
    parser.add_argument("--problem", metavar="NAME", help="the problem, if the content does not determine it")
    parser.add_argument("--certificate", metavar="FILE", help="a certificate to judge, instead of SOLUTION")
    parser.add_argument(
        "--archive", metavar="FILE", type=Path, help="with --certificate: write the bound's entry for ScheduleOpt/benchmarks"
    )
    parser.add_argument("--certify", metavar="FILE", type=Path, help="write a certificate of SOLUTION")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")


def execute(args: argparse.Namespace) -> int:
    if args.certificate is not None:
        return _check_certificate(args)
    if args.file is None or args.solution is None or args.archive is not None:
        raise UsageError("accepted: FILE and SOLUTION, or --certificate FILE, with --archive if wanted")
    return _check_solution(args)


def _check_solution(args: argparse.Namespace) -> int:
    """Judge a solution file; return the exit code."""
    from corl.formatting import value
    from corl.loading import load

    problem, instance = load(args.file, args.problem)
    claimed = None
    try:  # reading may already raise Infeasible, for example if a buffer has no offset
        solution, claimed = read_solution(problem, instance, Path(args.solution))
        objective = judge(problem, instance, solution, Path(args.solution))
    except Infeasible as error:
        _say(args, {"feasible": False, "objective": None, "claimed": claimed, "reason": str(error)}, f"infeasible: {error}")
        return 4
    claim_agrees = claimed is None or bool(agrees(claimed, objective))
    text = f"feasible, objective {value(objective)}"
    if not claim_agrees:
        text += f"; the file claims {value(claimed)}"
    if tolerated := problem.tolerance_note(instance, solution):
        text += f"; {tolerated}"
    found = {"feasible": True, "objective": objective, "claimed": claimed, "reason": None if claim_agrees else "wrong claim"}
    if args.certify is not None and claim_agrees:
        from corl.files.certificates import certified, write_certificate

        write_certificate(certified(problem, instance, solution, objective, args.file, args.solution), args.certify)
    _say(args, found | {"tolerated": tolerated}, text)
    return 0 if claim_agrees else 4


def _check_certificate(args: argparse.Namespace) -> int:
    """Judge a certificate from its instance's own text; return the exit code."""
    from corl.files.certificates import archive_entry, check_certificate
    from corl.files.opening import replacing

    if args.solution is not None or args.certify is not None:
        raise UsageError("--certificate holds the solution; accepted: FILE, the instance, without SOLUTION and --certify")
    try:
        verdict = check_certificate(args.certificate, args.file)
    except Infeasible as error:
        _say(args, {"feasible": False, "objective": None, "reason": str(error)}, f"infeasible: {error}")
        return 4
    entry = archive_entry(verdict.certificate)
    if args.archive is not None:
        with replacing(args.archive) as partial:
            partial.write_text(to_json(entry) + "\n", encoding="utf-8")
    given = verdict.certificate
    found = {"feasible": True, "objective": verdict.objective, "published": given.published, "better": verdict.better}
    _say(args, {"instance": given.instance, **found, "archive": entry}, _verdict_text(verdict))
    return 0


def _verdict_text(verdict: Verdict) -> str:
    """Return the verdict on a certificate as one line."""
    from corl.formatting import value

    given = verdict.certificate
    text = f"{given.instance}: feasible, objective {value(verdict.objective)}, instance {given.sha256[:12]}"
    if given.published is not None:
        than = "better than" if verdict.better else "not better than"
        text += f"; {than} {value(given.published)}" + (f" ({given.source})" if given.source else "")
    return text


def _say(args: argparse.Namespace, values: dict[str, Any], text: str) -> None:
    print(to_json(values) if args.json else one_line(text))
