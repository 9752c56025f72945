"""corl.preparation: a process prepares a solver once for all instances that are alike."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import corl
from corl import preparation, registry
from corl.errors import UsageError
from corl.options import option
from corl.solver import Solver


@dataclass(frozen=True)
class Rule:
    """A part of an instance."""

    hard: bool = False
    limits: np.ndarray | None = None


@dataclass(frozen=True)
class Instance:
    """As families have them."""

    name: str
    values: np.ndarray
    kind: str = "plain"
    factor: float = 1.0
    rule: Rule | None = None
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counting(Solver):
    """Counts what it prepares for."""

    size: int = option(1, "Any.", low=0)
    policy: object = option("", "Any.")

    preparation_size: ClassVar[int] = 4
    seen: ClassVar[list] = []

    def kind(self, instance):
        return "dear" if instance.factor > 10 else ""

    def prepare(self, instance):
        self.seen.append(instance)

    def solve(self, instance, run):
        pass


@dataclass(frozen=True)
class Careful(Counting):
    """Says nothing of what is alike."""

    preparation_size: ClassVar[int] = 0


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """As in a process that has prepared nothing."""
    monkeypatch.setattr(preparation, "_done", set())
    Counting.seen.clear()


BASE = Instance("first", np.zeros(9))
ALIKE = {
    "name": replace(BASE, name="second", ids=("a", "b")),
    "values": replace(BASE, values=np.ones(9)),
    "a size above what makes a difference": replace(BASE, values=np.ones(5)),
    "a number of the same kind": replace(BASE, factor=2.0),
}
OTHERS = {
    "size": replace(BASE, values=np.zeros(3)),
    "type of array": replace(BASE, values=np.zeros(9, np.float32)),
    "dimensions": replace(BASE, values=np.zeros((9, 2))),
    "word": replace(BASE, kind="other"),
    "kind": replace(BASE, factor=11.0),
    "rule": replace(BASE, rule=Rule()),
    "flag of a rule": replace(BASE, rule=Rule(hard=True)),
    "array of a rule": replace(BASE, rule=Rule(limits=np.zeros(2))),
}


@pytest.mark.parametrize("other", ALIKE)
def test_once_for_what_is_alike(other):
    """Neither values nor names, nor sizes from `alike` on, make a difference."""
    for instance in (BASE, ALIKE[other], BASE):
        preparation.prepare(Counting(), instance)
    assert Counting.seen == [BASE]


def test_again_for_another_kind():
    """What `kind` says, and types, words, truth values and small sizes anywhere in the instance, make one; then never again."""
    for _ in range(2):
        for instance in (BASE, *OTHERS.values()):
            preparation.prepare(Counting(), instance)
    assert len(Counting.seen) == 1 + len(OTHERS)


def test_options_make_a_difference():
    """A solver with others prepares anew, and one with an object as an option (a policy in memory) always."""
    for solver, count in ((Counting(), 1), (Counting(size=2), 2), (Counting(size=2), 2), (Counting(policy=object()), 4)):
        preparation.prepare(solver, BASE)
        preparation.prepare(solver, BASE)
        assert len(Counting.seen) == count


def test_a_file_that_changed_is_another(tmp_path):
    """An option that names a file: where that is written again, the solver prepares anew, and then no more."""
    path = tmp_path / "policy.safetensors"
    for content in (b"small", b"a larger one"):
        path.write_bytes(content)
        preparation.prepare(Counting(policy=str(path)), BASE)
        preparation.prepare(Counting(policy=str(path)), BASE)
    assert len(Counting.seen) == 2


def test_a_solver_that_does_not_say_prepares_every_time():
    """A plug-in's, whose `prepare` may look at anything."""
    preparation.prepare(Careful(), BASE)
    preparation.prepare(Careful(), BASE)
    assert len(Counting.seen) == 2


def test_what_failed_is_done_again(monkeypatch):
    """A policy that was missing may be there the next time."""

    def fail(solver, instance):
        raise UsageError("no policy")

    with monkeypatch.context() as failing:
        failing.setattr(Counting, "prepare", fail)
        with pytest.raises(UsageError):
            preparation.prepare(Counting(), BASE)
    preparation.prepare(Counting(), BASE)
    assert Counting.seen == [BASE]


def test_a_second_solve_prepares_nothing(monkeypatch):
    """`corl.solve` of another instance of the kind, by a shipped solver."""
    prepared = []
    monkeypatch.setattr(registry.solver("knapsack", "greedy"), "prepare", lambda solver, instance: prepared.append(instance))
    for values in ([3, 2, 4], [1, 5, 2, 2]):
        corl.solve((values, [1] * len(values), 2), problem="knapsack", solver="greedy")
    assert len(prepared) == 1


@pytest.mark.parametrize("problem", registry.problems())
def test_shipped_solvers_say_what_is_alike(problem):
    """All that prepare do, but those whose engines have a state (HiGHS keeps a process, SCIP's policies a copy), and `online`,
    whose policy prepares itself."""
    for short in registry.solvers(problem):
        cls = registry.solver(problem, short)
        assert (
            cls.preparation_size
            or cls.prepare is Solver.prepare
            or problem in ("milp", "milp-branching")
            or cls.requires
            or short in ("ortools", "online")
        )
