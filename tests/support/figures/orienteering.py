"""Figures of the orienteering problem."""

from __future__ import annotations

from .cells import Row, interval, mean, number, percent, row, rows, table
from .vrp import gap, rate

__all__ = ["equal_time", "matched", "oplib", "policies", "policies_later", "standard", "summary"]


_OPLIB_HEAD = ["", "files", "at least its run", "at least the published", "ours, mean %", "EA4OP's run, mean %", "ours, worst %"]


def _runs(program: str, part: str) -> list[Row]:
    """Rows of a program on the files whose names contain `part`."""
    return [each for each in rows("orienteering/oplib", program=program) if part in each["file"]]


def _gap(run: Row) -> float:
    """Return by how much a run is below the published score, in %."""
    return 100.0 * (1.0 - float(run["score"]) / float(run["published"]))


def _oplib_line(label: str, part: str) -> list[str]:
    ours, theirs = (_runs(program, part) for program in ("ruin-recreate", "EA4OP"))
    score = {each["file"]: float(each["score"]) for each in theirs}
    reached = sum(float(each["score"]) >= float(each["published"]) for each in ours)
    matched = sum(float(each["score"]) >= score[each["file"]] for each in ours)
    means = [number(mean(_gap(each) for each in found), 2) for found in (ours, theirs)]
    return [label, str(len(ours)), str(matched), str(reached), *means, number(max(_gap(each) for each in ours), 2)]


def oplib() -> str:
    """Scores on OPLib beside EA4OP's in its own time, by generation."""
    lines = [_oplib_line(f"generation {generation}", f"-gen{generation}-") for generation in (1, 2, 3, 4)]
    return table(_OPLIB_HEAD, [*lines, _oplib_line("all", "-gen")])


def summary() -> str:
    """The last line of `oplib`, for the problem's page."""
    return table(_OPLIB_HEAD, [_oplib_line("OPLib", "-gen")])


def matched() -> tuple[int, int, str]:
    """Return the number of files, on how many of them ours is at least as good as EA4OP's own run, and their numbers of nodes."""
    files, reached = _oplib_line("", "-gen")[1:3]
    nodes = sorted(int(each["nodes"]) for each in _runs("EA4OP", "-gen"))
    return int(files), int(reached), f"{nodes[0]} to {number(nodes[-1], 0)}"


def standard() -> str:
    """Scores below EA4OP's after 4 and 27 seconds."""
    lines = []
    for group in ("rd400-gen2", "pr1002-gen3"):
        for limit in (4, 27):
            run = row("orienteering/standard", group=group, time_limit=limit)
            below = percent(run["mean_gap_percent"]) + (" (above it)" if float(run["mean_gap_percent"]) < 0 else "")
            reached = f"{run['reached']} of {run['runs']}"
            lines.append([group, f"{limit} s", f"{number(run['mean_cpu_seconds'], 1)} s", below, reached])
    return table(["", "limit", "processor time", "below EA4OP's score, mean", "runs at least as good"], lines)


def policies() -> str:
    """Gaps of the rule and a network, judged in the first round."""
    labels = {"rule-greedy": "rule", "imitation-greedy": "network"}
    return table(["gap in %", "greedy"], ([label, gap("orienteering", name, "judge")] for name, label in labels.items()))


def policies_later() -> str:
    """Gaps of the rule with and without a beam and of short searches, judged in the second round."""
    beam, search = "rule-beam16:0.03", "solver-ruin-recreate-"
    rule_rates = f"{rate('orienteering', 'rule-greedy', 'judge-2')}, {rate('orienteering', beam, 'judge-2')}"
    lines = [["rule", *(gap("orienteering", name, "judge-2") for name in ("rule-greedy", beam)), rule_rates]]
    for iterations, label in ((1000, "`ruin-recreate`, 1,000 iterations"), (4000, "`ruin-recreate`, 4,000")):
        name = f"{search}{iterations}"
        lines.append([label, gap("orienteering", name, "judge-2"), "", rate("orienteering", name, "judge-2")])
    return table(["gap in %", "greedy", "beam 16", "instances a second"], lines)


def policies_plane() -> str:
    """Gaps of the shipped network and of the rule with and without a beam, judged in the split of long training."""

    def cells(policy: str, beam: str) -> list[str]:
        names = (f"{policy}-greedy", f"{policy}-{beam}")
        rates = ", ".join(rate("orienteering", name, "long") for name in names)
        return [*(gap("orienteering", name, "long") for name in names), rates]

    lines = [["`orienteering-bq`", *cells("orienteering-bq", "beam16")], ["rule", *cells("rule", "beam16:0.03")]]
    return table(["gap in %", "greedy", "beam 16", "instances a second"], lines)


def equal_time() -> str:
    """Scores with seeds of ruins by a network and by hand, below those with uniform seeds."""
    labels = {"op-400": "`generation-2`, 400 nodes, 1 s", "op-1000": "`generation-3`, 1,000 nodes, 2 s"}
    lines = []
    for regime, label in labels.items():
        found = [row("orienteering/equal-time", regime=regime, part="judge", arm=arm) for arm in ("learned-2", "rule-1")]
        lines.append([label, found[0]["instances"], *(interval(each, "above_uniform") for each in found)])
    return table(["", "instances", "learned", "by hand"], lines)
