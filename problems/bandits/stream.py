"""Bandits over time: the arms' states are revealed step by step, their transition probabilities never."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError, UsageError, shown
from corl.fields import Array, Integer, Object
from corl.files.json_instances import Record
from corl.online.events import check_event
from corl.online.stream import Day, Decision, Event, Stream
from corl.problems.bandits.evaluation import episode_keys
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.knowledge import Knowledge, estimated
from corl.problems.bandits.policy import BanditPolicy
from corl.problems.bandits.recorded import RecordedPolicy
from corl.problems.bandits.transitions import advance, thresholds

__all__ = ["BanditDay", "BanditStream"]

_STATES = Array(Array(Integer(0)))
_SAVED = Object({"states": _STATES, "actions": _STATES, "logged": _STATES})


class BanditStream(Stream):
    """Events are `{"time": t, "kind": "states", "step": t, "states": [...]}`; the first, of time 0, has the kind "begin".

    A decision is `{"action": [...]}`. Times are steps; "step" repeats the time, so that an old report with a new time is noticed.
    Known from the beginning are the rewards, the constraint, the horizon and the features of the arms.
    """

    def __init__(self, instance: BanditInstance) -> None:
        """Raises UsageError for an instance of several episodes: a day is one."""
        if instance.episodes != 1:
            raise UsageError(
                f"a day is one episode; the instance has {instance.episodes}; accepted: one episode (Problem.realised_instance)"
            )
        self.instance = instance
        """The instance, whose transition probabilities and random numbers no policy may use, except for hindsight."""

    def begin(self, instance: BanditInstance) -> Knowledge:
        """See Stream.begin."""
        arms, levels, states = instance.rewards.shape
        return Knowledge(arms, (arms, levels, states))

    def observe(self, knowledge: Knowledge, event: Event) -> None:
        """See Stream.observe."""
        due, arms = len(knowledge.states), knowledge.arms
        kind = "states" if due else "begin"
        check_event(
            event, {kind: {"step": Integer(0), "states": Array(Integer(0, knowledge.shape[2] - 1), arms, arms)}}, float("-inf")
        )
        for name in ("time", "step"):
            if event[name] != due or due > len(knowledge.actions):
                wanted = "a decision first" if due > len(knowledge.actions) else str(due)
                raise UsageError(f"event.{name} is {shown(event[name])}; accepted: {wanted}")
        states = np.array(event["states"], np.int32)
        if (bad := states >= self.instance.states).any():
            arm = int(np.argmax(bad))
            raise UsageError(
                f"event.states: arm {arm} has no state {states[arm]}; accepted: 0 to {self.instance.states[arm] - 1}"
            )
        knowledge.states.append(states)

    def decidable(self, knowledge: Knowledge) -> bool:
        """See Stream.decidable."""
        return len(knowledge.actions) < min(len(knowledge.states), self.instance.horizon)

    def perform(self, knowledge: Knowledge, decision: Decision, delay: float = 0.0) -> None:
        """See Stream.perform. A step begins when its action is known, so that a delay has no effect."""
        if not self.decidable(knowledge):
            raise UsageError("there is nothing to decide now; accepted: the next event")
        knowledge.actions.append(self.action(decision))

    def action(self, decision: Decision) -> NDArray[np.int8]:
        """Return the action of a decision, int8 [action_size]. Raises UsageError if it is malformed or infeasible."""
        if not isinstance(decision, Mapping) or set(decision) != {"action"}:
            raise UsageError(f"decision: {shown(decision)} is not accepted; accepted: a dict with action")
        try:
            return self.instance.constraint.checked(decision["action"])
        except (Infeasible, ValueError) as error:
            raise UsageError(f"decision.action: {error}") from error

    def levels(self, knowledge: Knowledge) -> NDArray[np.int8]:
        """Return the levels of the arms in each step so far, int8 [T, J]."""
        taken = np.array(knowledge.actions, np.int8).reshape(len(knowledge.actions), self.instance.constraint.action_size)
        return self.instance.constraint.levels_of(taken)

    def to_json(self, knowledge: Knowledge) -> dict[str, Any]:
        """See Stream.to_json. Of the earlier logs, rows (arm, level, state, next state, count) of the positive counts."""
        at = np.argwhere(knowledge.logged)
        return {
            "states": [each.tolist() for each in knowledge.states],
            "actions": [each.tolist() for each in knowledge.actions],
            "logged": np.column_stack([at, knowledge.logged[tuple(at.T)]]).tolist(),
        }

    def from_json(self, instance: BanditInstance, value: Any) -> Knowledge:
        """See Stream.from_json."""
        if not _SAVED.fits(value):
            raise InputError("accepted: an object with lists of lists of integers: states, actions, logged", field="knowledge")
        record, knowledge = Record(value), self.begin(instance)
        states, actions = record["states"].value, record["actions"].value
        if len(actions) > len(states):
            raise InputError(f"{len(actions)} actions for {len(states)} states", field="knowledge.actions")
        try:
            for time, row in enumerate(states):
                self.observe(knowledge, {"time": time, "kind": "states" if time else "begin", "step": time, "states": row})
                if time < len(actions):
                    self.perform(knowledge, {"action": actions[time]})
        except UsageError as error:
            raise InputError(str(error), field="knowledge") from error
        for row in record["logged"].value:
            if len(row) != 5 or any(k >= size for k, size in zip(row, knowledge.logged.shape)) or row[4] >= 2**31:
                raise InputError(f"{shown(row)}; accepted: arm, level, state, next state, count", field="knowledge.logged")
            knowledge.logged[tuple(row[:4])] = row[4]
        return knowledge

    def day(self, instance: BanditInstance, key: int) -> BanditDay:
        """Return the instance's episode, whose random numbers follow from its seed: it is the same for every key."""
        return BanditDay(instance)

    def problem_now(self, knowledge: Knowledge) -> tuple[BanditInstance, None]:
        """See Stream.problem_now: the remaining steps, with probabilities estimated from the counts alone."""
        return estimated(self.instance, knowledge), None

    def decision_from(self, knowledge: Knowledge, solution: BanditPolicy) -> Decision:
        """See Stream.decision_from."""
        return {"action": solution.act(knowledge.states[-1]).tolist()}


class BanditDay(Day):
    """The only episode of an instance. Its solution is a RecordedPolicy."""

    def __init__(self, instance: BanditInstance) -> None:
        self.instance = instance
        self._stream = BanditStream(instance)
        self._limits, self._keys = thresholds(instance), episode_keys(instance)
        self._states, self._taken = instance.initial.copy(), list[NDArray[np.int8]]()
        self._next = 0  # the time of the next event

    def next_event(self) -> Event | None:
        """See Day.next_event."""
        time = self._next
        if time > self.instance.horizon:
            return None
        if time > len(self._taken):
            raise UsageError(f"the step at time {time - 1} has no action; accepted: a decision")
        self._next += 1
        return {"time": time, "kind": "states" if time else "begin", "step": time, "states": self._states[0].tolist()}

    def perform(self, decision: Decision, delay: float = 0.0) -> Decision:
        """See Day.perform."""
        time, action = len(self._taken), self._stream.action(decision)
        if time != self._next - 1 or time >= self.instance.horizon:
            raise UsageError("there is nothing to decide now; accepted: the next event")
        levels = self.instance.constraint.levels_of(action[None])
        advance(self._limits, self.instance.rewards, self._states, levels, self._keys, time, np.empty(1))
        self._taken.append(action)
        return decision

    def solution(self) -> RecordedPolicy:
        """See Day.solution."""
        if len(self._taken) < self.instance.horizon:
            raise UsageError(f"the day has {self.instance.horizon - len(self._taken)} steps left; accepted: a whole day")
        return RecordedPolicy(self.instance, np.array(self._taken))
