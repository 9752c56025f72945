"""Demonstrations: episodes that follow the solutions of a teacher, labelled with the right action in each state.

A teacher is a solver whose solutions a policy imitates; a lesson is a set of such episodes. As in BQ-NCO (Drakulic et al.,
NeurIPS 2023), the state after any number of a solution's decisions is itself an instance, and the remaining decisions are its
solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.decoding import CountedEvaluator
from corl.decoding.play import DecisionStep
from corl.decoding.rollouts import roll_out
from corl.errors import UsageError
from corl.learning.episodes import Choice, Episodes, random_choice, record

if TYPE_CHECKING:
    from corl.learning.session import Training
    from corl.networks.policy import Arrays, NetworkPolicy

__all__ = ["Teacher", "check_teacher", "demonstrate", "follow", "lessons", "taught_by", "teacher_plays"]

_NO_ACTION = -2  # equal to no listed action, not even to -1, an empty slot
_WHOLE_SHARE = 0.3  # share of the episodes that the teacher plays from the beginning
_MAX_POLICY_SHARE = 0.8  # the greatest share of an episode's actions that the policy plays before the teacher completes it


class Teacher(NamedTuple):
    """A solver whose solutions are imitated, limited by iterations."""

    solver: str
    iterations: int
    """The limit of the solver for each instance."""
    completes: bool = False
    """Whether the solver completes episodes that the policy began (Solver.complete), instead of solving instances."""
    starts: int = 1
    """The number of random starts from which each solution is followed, at most `Problem.start_count` (the cities of a tour)."""


def check_teacher(recipe: Any, problem: str) -> None:
    """Raise UsageError if a recipe's teacher is no solver of the problem that iterations can limit.

    (With a limit in seconds its solutions, and so the trained weights, would depend on how busy the machine is.)
    """
    from corl import registry

    if not recipe.teacher:
        return
    limited = [name for name in registry.solvers(problem) if registry.solver(problem, name).iteration]
    if recipe.teacher not in limited:
        if recipe.teacher != "auto":
            registry.solver(problem, recipe.teacher)  # raises for an unknown name
        raise UsageError(f"teacher is {recipe.teacher}; accepted: a solver limited by iterations: {', '.join(limited) or 'none'}")


def teacher_plays(recipe: Any, training: Training) -> bool:
    """Return whether the teacher of a recipe, if it has one, plays the next generation."""
    return bool(recipe.teacher) and training.fraction < recipe.taught


def demonstrate(
    policy: NetworkPolicy,
    problem: Problem,
    instances: Sequence[Any],
    teacher: Teacher,
    states: int | None,
    random: np.random.Generator,
) -> Episodes:
    """Return labelled episodes that lead to a teacher's solutions, or that the policy began and the teacher completed.

    Args:
        policy: The policy whose features describe the states; if `teacher.completes`, it also plays the first actions.
        problem: The problem.
        instances: The instances.
        teacher: The teacher.
        states: The number of states kept of each episode; None: every state (see `follow`).
        random: The source of random numbers.
    """
    if teacher.completes:
        return _completed(policy, problem, instances, teacher, states, random)
    seeds = [int(random.integers(2**31)) for _ in instances]
    solutions = taught_by(teacher, problem, instances, seeds)
    which = [i for i, one in enumerate(instances) for _ in range(min(teacher.starts, problem.start_count(one)))]
    return lessons(policy, problem, [instances[i] for i in which], [solutions[i] for i in which], states, random)


def taught_by(teacher: Teacher, problem: Problem, instances: Sequence[Any], seeds: Sequence[int]) -> list[Any]:
    """Return a teacher's solution of each instance, with the seed of the same index; None for an instance that it does not solve.

    The solutions are equal to those of `corl.solve`, but a call takes less time: the same solver object serves all instances, it
    proves no bounds, and the versions of engines are not looked up.
    """
    import corl
    from corl import registry
    from corl.preparation import prepare
    from corl.run import Run

    solver, found = registry.solver(problem.name, teacher.solver)(), []
    for given, seed in zip(instances, seeds):
        refusal = solver.accepts(given)
        if refusal or solver.own_process(given):  # corl.solve raises the error, or starts the process
            result = corl.solve(given, problem=problem.name, solver=solver, iterations=teacher.iterations, seed=seed)
            found.append(result.solution)
            continue
        prepare(solver, given)
        run = Run(problem, given, iterations=teacher.iterations, seed=seed, proves=False)
        run.start()
        if not run.should_stop:
            solver.solve(given, run)
        found.append(run.solution)
    return found


def lessons(
    policy: NetworkPolicy,
    problem: Problem,
    instances: Sequence[Any],
    solutions: Sequence[Any],
    states: int | None,
    random: np.random.Generator,
) -> Episodes:
    """Return the episodes that lead to given solutions (`Problem.decisions`), each from a random start.

    An instance without a solution (None) is played at random; its moves are kept only if `states` is None. The other arguments
    are those of `follow`.
    """
    keys = np.array([int(random.integers(problem.start_count(one))) for one in instances], np.uint64)
    plans = [
        np.zeros(0, np.int64) if found is None else np.asarray(problem.decisions(given, found, key, policy.environment))
        for given, found, key in zip(instances, solutions, keys.tolist())
    ]
    return follow(policy, problem, instances, plans, keys, states, random)


def follow(
    policy: NetworkPolicy,
    problem: Problem,
    instances: Sequence[Any],
    plans: Sequence[NDArray[np.integer]],
    keys: NDArray[np.uint64],
    states: int | None,
    random: np.random.Generator,
    begins: Sequence[int] = (),
) -> Episodes:
    """Return the episodes that follow plans, which are sequences of actions.

    An episode that is longer than its plan continues with random actions. The policy target of a move is the action taken, and
    the value target is the sum of the rewards from this move on.

    Args:
        policy: The policy whose features describe the states.
        problem: The problem.
        instances: The instances, one per episode.
        plans: For each episode its actions, int [T]; or int [T, W], several right actions for each state, -1 after the last. Of
            these the first is taken. If a plan is [T, W], the policy targets are sets of right actions, bool.
        keys: uint64 [E], the key of each `reset`.
        states: The number of states drawn at random from each plan. A drawn state is kept if it has at least two actions and the
            environment lists the planned one. None: every state is kept.
        random: The source of random numbers.
        begins: For each plan, the number of leading actions whose states are not kept; by default 0.
    """
    rows = np.arange(len(instances))
    environment = problem.environment(instances, len(rows), name=policy.environment)
    lengths = np.array([len(plan) for plan in plans])
    is_drawn = np.zeros((len(plans), int(lengths.max(initial=0))), bool)
    for row, (length, begin) in enumerate(zip(lengths, begins or [0] * len(plans))):
        is_drawn[row, begin + random.permutation(length - begin)[: length if states is None else states]] = True
    choose_at_random, has_sets = random_choice(random), any(plan.ndim > 1 for plan in plans)
    max_right = max((plan.shape[1] for plan in plans if plan.ndim > 1), default=1)
    steps = np.full((len(plans), is_drawn.shape[1] + 1, max_right), _NO_ACTION, np.int64)
    for row, plan in enumerate(plans):
        right = plan if plan.ndim > 1 else plan[:, None]
        steps[row, : len(plan), : right.shape[1]] = right
    steps[steps < 0] = _NO_ACTION

    def planned(decision: DecisionStep) -> NDArray[np.int64]:
        """Return the right actions of R states, int64 [R, max_right], filled up with _NO_ACTION."""
        right_actions: NDArray[np.int64] = steps[decision.episode, min(decision.number, is_drawn.shape[1])]
        return right_actions

    def choose(decision: DecisionStep, observed: Arrays) -> Choice:
        right_actions = planned(decision)
        is_planned, random_choices = decision.actions == right_actions[:, :1], choose_at_random(decision, observed)
        listed = is_planned.any(axis=1)
        slot = np.where(listed, is_planned.argmax(axis=1), random_choices.slot)
        target = np.where(listed[:, None], is_planned, random_choices.policy).astype(np.float32)
        if has_sets:
            target = (decision.actions[:, :, None] == right_actions[:, None, :]).any(axis=2)
        action = np.where(right_actions[:, 0] != _NO_ACTION, right_actions[:, 0], decision.taken(slot))
        return Choice(slot, target, np.zeros(len(slot)), action)

    def keep(decision: DecisionStep) -> NDArray[np.bool_]:
        is_planned = decision.actions == planned(decision)[:, :1]
        is_kept: NDArray[np.bool_] = is_planned.any(axis=1) & ((decision.actions >= 0).sum(axis=1) > 1)
        if is_kept.any():
            is_kept[is_kept] = is_drawn[decision.episode[is_kept], decision.number]
        return is_kept

    base = environment.reset(rows, rows, keys)
    episodes = record(policy, environment, rows, base, choose, None if states is None else keep)
    if episodes.moves:
        episodes.moves["value"] = episodes.moves["returns"].copy()
    return episodes


def _completed(
    policy: NetworkPolicy,
    problem: Problem,
    instances: Sequence[Any],
    teacher: Teacher,
    states: int | None,
    random: np.random.Generator,
) -> Episodes:
    """Return episodes that the policy begins, sampled at a random temperature, and the teacher completes from a random state.

    After Tassel, Gebser and Schekotihin (ICAPS 2023). As in DAgger (Ross, Gordon and Bagnell, AISTATS 2011), the policy learns on
    states that it reaches itself. The teacher plays the first episodes from the beginning. Their mean length estimates the
    lengths of the other episodes, which is needed to choose the states where the policy stops.
    """
    from corl import registry

    solver, rows = registry.solver(problem.name, teacher.solver)(), np.arange(len(instances))
    environment = problem.environment(instances, len(rows), name=policy.environment)
    keys = np.array([int(random.integers(problem.start_count(one))) for one in instances], np.uint64)
    streams, temperature = random.integers(2**63, size=len(rows)).astype(np.uint64), 1.0 - random.random()
    base = environment.reset(rows, rows, keys)

    def completed(row: int) -> list[NDArray[np.int64]]:
        """Return for each remaining step of the row's episode the right actions."""
        return solver.complete(environment, row, teacher.iterations, int(random.integers(2**31)))

    whole_count = round(_WHOLE_SHARE * len(rows)) or int(random.random() < _WHOLE_SHARE)
    whole_episodes = [completed(row) for row in range(max(1, whole_count))]
    policy_shares = np.where(rows < whole_count, 0.0, _MAX_POLICY_SHARE * random.random(len(rows)))
    policy_moves = (policy_shares * np.mean([len(steps) for steps in whole_episodes])).astype(np.int64)
    *_, played = roll_out(CountedEvaluator(environment, policy), rows, base, streams, temperature, most=policy_moves)
    plans, begins = [], (played >= 0).sum(axis=1).tolist()
    for row, begin in enumerate(begins):
        steps = [*played[row, :begin, None], *(whole_episodes[row] if row < whole_count else completed(row))]
        plan = np.full((len(steps), max(map(len, steps), default=1)), -1, np.int64)
        for given, right in zip(plan, steps):
            given[: len(right)] = right
        plans.append(plan)
    return follow(policy, problem, instances, plans, keys, states, random, begins)
