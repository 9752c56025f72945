"""Problem in parts: what a family leaves out says so in one line; what it has is found by its methods, not by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from corl import Problem, registry
from corl.errors import UsageError
from corl.parts import Files, Pictures, Process


class Judged(Problem):
    """A problem with its judge alone."""

    name, instance_type = "judged", list

    def evaluate(self, instance, solution):
        return float(sum(solution))


def test_a_judge_is_a_problem():
    """Without parts it is judged, and each part refuses in one line that names the problem."""
    problem = Judged()
    assert problem.evaluate([], [1, 2]) == 3.0 and problem.better(1.0, 2.0) and problem.worst == float("inf")
    assert not problem.has_environment and not problem.has_decisions and not problem.takes_policies
    for refuse in (
        lambda: problem.read(Path("x")), lambda: problem.write([], Path("x")), lambda: problem.environment([[]], 1),
        lambda: problem.decisions([], []), lambda: problem.draw([], None, None), lambda: problem.read_solution([], Path("x")),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=r"^.*judged.*$"):
            refuse()


def test_parts_do_not_overlap():
    """No method belongs to two parts, or to a part and to the problem itself: the order of the bases decides nothing."""
    own = {part: {name for name in vars(part) if not name.startswith("_")} for part in (Files, Process, Pictures, Problem)}
    shared = {"name", "instance_type"}
    for part, names in own.items():
        for other, others in own.items():
            assert part is other or not (names & others) - shared


def test_families_have_the_part_that_they_declare():
    """Features and environments are those of a decision process; who tells decisions has an environment."""
    for name in registry.problems():
        problem = registry.problem(name)
        assert problem.has_environment or not (problem.features or problem.environments or problem.has_decisions), name
