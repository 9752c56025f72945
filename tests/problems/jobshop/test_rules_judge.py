"""The judge of every rule against another one that shows no cleverness: it goes from minute to minute and looks what runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corl.errors import Infeasible
from corl.problems.jobshop.evaluation import objective
from corl.problems.jobshop.instance import from_jobs
from corl.problems.jobshop.rules import FOREVER, SideConstraints
from support.families import jobshop_rules as cases

_END = 60  # by when everything has ended


@pytest.mark.parametrize("name", cases.RULES)
def test_the_judge(name):
    """Random schedules of random instances: feasible for both or for neither, at the same cost; many of either."""
    random, feasible, refused = np.random.default_rng(7), 0, 0
    for seed in range(20):
        instance = cases.make_rules(name, seed, jobs=2 + seed % 3, machines=2)
        for _ in range(20):
            start, machine = _random_schedule(instance, random)
            try:
                found = objective(instance, (start, machine))
            except Infeasible:
                found = math.inf
            assert found == _simulated(instance, start.tolist(), machine.tolist()), (name, seed, start, machine)
            feasible, refused = feasible + (found < math.inf), refused + (found == math.inf)
    assert feasible > 10 and refused > 10


def _random_schedule(instance, random):
    """Operations one after the other on their machines, mostly with some room between them, and where they are fixed."""
    rules, o = instance.rules, instance.operations
    start, machine = np.zeros(o, np.int64), np.zeros(o, np.int32)
    free, ready, at = np.zeros(instance.machines, np.int64), instance.release.copy(), instance.first[:-1].copy()
    gaps = [0] * 3 + list(range(random.integers(1, 10)))
    for j in random.permutation(instance.job).tolist():
        i = int(at[j])
        m, duration = instance.choices(i)[int(random.integers(len(instance.choices(i))))]
        start[i], machine[i] = max(free[m], ready[j], rules.now) + random.choice(gaps), m
        if random.random() < 0.06:
            start[i] = max(0, start[i] - 2)
        if rules.no_wait is not None and rules.no_wait[i] and random.random() < 0.8:
            start[i] = ready[j]
        if rules.fixed_start is not None and rules.fixed_start[i] >= 0 and random.random() < 0.95:
            start[i], machine[i] = rules.fixed_start[i], rules.fixed_machine[i]
        end = start[i] + dict(instance.choices(i))[int(machine[i])]
        if rules.resumable is not None and rules.resumable[i] and random.random() < 0.9:
            later = _end(instance, m, int(start[i]), int(end - start[i]), True)
            end = later if later < _END else end
        stays = rules.blocking is not None and rules.blocking[i] and random.random() < 0.95
        free[machine[i]] = max(free[machine[i]], ready[j], start[i] + duration, end + 2 * stays)
        ready[j], at[j] = end, at[j] + 1
    return start, machine


def _shut(instance, m, minute):
    spells = [] if instance.rules.unavailable is None else instance.rules.unavailable.tolist()
    return any(machine == m and closes <= minute < opens for machine, closes, opens in spells)


def _end(instance, m, start, length, resumable):
    """When something of so many minutes ends, which stops or does not stop while the machine is shut."""
    minute = start
    while resumable and length > 0 and minute < _END:
        length -= not _shut(instance, m, minute)
        minute += 1
    return minute + length


def _simulated(instance, start, machine):
    """What the schedule is worth; inf where a rule is broken."""
    rules = instance.rules
    work = [dict(instance.choices(i))[machine[i]] for i in range(instance.operations)]
    resumable = [False] * instance.operations if rules.resumable is None else rules.resumable.tolist()
    length = [_end(instance, machine[i], start[i], work[i], resumable[i]) - start[i] for i in range(instance.operations)]
    if any(resumable[i] and work[i] and _shut(instance, machine[i], start[i]) for i in range(instance.operations)):
        return math.inf
    if any(resumable[i] and start[i] + length[i] > _END for i in range(instance.operations)):  # down for good
        return math.inf
    if rules.blocking is not None and not _jobs_move(instance, start, machine, length):
        return math.inf
    for j in range(instance.jobs):
        ready, chain = int(instance.release[j]), range(int(instance.first[j]), int(instance.first[j + 1]))
        for i in chain:
            if start[i] < ready or (i != chain[0] and rules.no_wait is not None and rules.no_wait[i] and start[i] != ready):
                return math.inf
            ready = start[i] + length[i]
    fixed = [rules.fixed_start is not None and rules.fixed_start[i] >= 0 for i in range(instance.operations)]
    for i in range(instance.operations):
        if rules.earliest is not None and start[i] < rules.earliest[i]:
            return math.inf
        if fixed[i] and (start[i] != rules.fixed_start[i] or machine[i] != rules.fixed_machine[i]):
            return math.inf
        if not fixed[i] and start[i] < rules.now:
            return math.inf
    if not all(_machine_keeps(instance, m, start, machine, length, fixed) for m in range(instance.machines)):
        return math.inf
    if rules.capacity is not None and not _resources_suffice(instance, start, machine, length):
        return math.inf
    return _worth(instance, [start[last - 1] + length[last - 1] for last in instance.first[1:].tolist()])


def _jobs_move(instance, start, machine, length):
    """Minute after minute: the jobs on the machines, and those that move on, each to a machine without a job, or all at once."""
    rules, on = instance.rules, [None] * instance.machines
    last = set((instance.first[1:] - 1).tolist())
    for minute in range(_END):
        for m, i in enumerate(on):
            if i is not None and start[i] + length[i] <= minute and (i in last or not rules.blocking[i]):
                on[m] = None
        moves = [i for i in range(instance.operations) if start[i] == minute]
        if rules.swap:  # all leave, then all arrive
            on = [None if i is not None and i + 1 in moves and i not in last else i for i in on]
        while moves:
            free = [i for i in moves if on[machine[i]] is None or (on[machine[i]] == i - 1 and i - 1 not in last)]
            if not free:
                return False
            i = free[0]
            on = [None if k == i - 1 and k is not None and k not in last else k for k in on]
            on[machine[i]] = i
            moves.remove(i)
    return True


def _machine_keeps(instance, m, start, machine, length, fixed):
    """Minute after minute: what the machine does, whether it is there, and for how long it has been free to be set up."""
    rules = instance.rules
    family = instance.job if rules.family is None else rules.family
    mine = [i for i in range(instance.operations) if machine[i] == m]
    shut = [False] * _END
    for _, closes, opens in [] if rules.unavailable is None else rules.unavailable[rules.unavailable[:, 0] == m].tolist():
        shut[closes : min(opens, _END)] = [True] * (min(opens, _END) - closes)
    for i in mine:  # what takes no time lies within nothing
        inside = [k for k in mine if k != i and start[k] < start[i] < start[k] + length[k]]
        if length[i] == 0 and (inside or (start[i] > 0 and shut[start[i] - 1] and shut[start[i]])):
            return False
    before, idle = None, [0]  # the minutes in a row in which it could be set up, of each stretch since the last operation
    since_now = [0]
    for minute in range(_END):
        runs = [i for i in mine if start[i] <= minute < start[i] + length[i]]
        stops = rules.resumable is not None and runs and rules.resumable[runs[0]] and start[runs[0]] < minute
        if len(runs) > 1 or (runs and shut[minute] and not stops):
            return False
        for i in runs:
            if start[i] == minute and rules.setups is not None:
                first = 0 if rules.first_setups is None else rules.first_setups[m, family[i]]
                needed = first if before is None else rules.setups[m, family[before], family[i]]
                if needed > max(idle if fixed[i] else since_now):
                    return False
        stays = rules.blocking is not None and before is not None and rules.blocking[before] and not runs
        if runs:
            before, idle, since_now = runs[0], [0], [0]
        elif stays and start[before] <= minute < start[before + 1] and machine[before + 1] != m:
            idle, since_now = [0], [0]
        elif shut[minute]:
            idle.append(0)
            since_now.append(0)
        else:
            idle[-1] += 1
            since_now[-1] += minute >= rules.now
    return True


def _resources_suffice(instance, start, machine, length):
    """Minute after minute: the units that the running operations occupy, of each resource."""
    rules, choice = instance.rules, {}
    for i in range(instance.operations):
        for c in range(int(instance.choice_first[i]), int(instance.choice_first[i + 1])):
            if instance.choice_machine[c] == machine[i]:
                choice[i] = c
    for minute in range(_END):
        runs = [i for i in choice if start[i] <= minute < start[i] + length[i]]
        for r in range(len(rules.capacity)):
            if sum(int(rules.demand[choice[i], r]) for i in runs) > rules.capacity[r]:
                return False
    return True


def _worth(instance, ends):
    if instance.objective == "makespan":
        return float(max(ends))
    cost, rules = 0, instance.rules
    for j, end in enumerate(ends):
        if end > instance.due[j]:
            cost += int(instance.weight[j]) * int(end - instance.due[j])
        early = instance.due[j] if rules.early is None else rules.early[j]
        if instance.objective == "earliness_tardiness" and end < early:
            cost += int(early - end) * (1 if rules.earliness is None else int(rules.earliness[j]))
    return float(cost)


TWO = [[[(0, 3)], [(1, 2)]], [[(0, 2)], [(1, 2)]]]


@pytest.mark.parametrize(
    ("rules", "start", "message"),
    [
        ({"earliest": [0, 9, 0, 0]}, [0, 3, 3, 5], "operation 1 of job 0 starts at 3; accepted: from 9"),
        ({"now": 2}, [2, 5, 1, 5], "machine 0 does"),
        ({"now": 2}, [1, 5, 4, 7], "operation 0 of job 0 starts at 1; accepted: from 2"),
        ({"no_wait": [False, False, False, True]}, [0, 3, 3, 6], "operation 1 of job 1 starts at 6; accepted: 5"),
        ({"unavailable": [[1, 4, 8]]}, [0, 3, 3, 8], "runs from 3 to 5; at 4 its machine is not available until 8"),
        ({"unavailable": [[1, 4, FOREVER]]}, [0, 3, 3, 8], "at 4 its machine is not available from then on"),
        (
            {"unavailable": [[1, 4, 8]], "resumable": [True] * 4},
            [0, 3, 3, 8],
            "starts at 8; the operation|does operation 1 of job 0",
        ),
        ({"unavailable": [[1, 4, 8]], "resumable": [True] * 4}, [0, 5, 3, 9], "operation 1 of job 0 runs from 5 to"),
        ({"unavailable": [[1, 4, FOREVER]], "resumable": [True] * 4}, [0, 3, 3, 8], "does operation 1 of job 0"),
        (
            {"blocking": [True, False] * 2},
            [0, 4, 3, 6],
            "0 of job 1 starts at 3; the job of operation 0 of job 0 stays .* until 4",
        ),
        ({"setups": [[[0, 2], [1, 0]]] * 2}, [0, 3, 4, 7], "the set-up after operation 0 of job 0 takes 2 and ends at 5"),
        ({"setups": [[[0, 2], [1, 0]]] * 2, "unavailable": [[0, 4, 6]]}, [0, 3, 6, 9], "2 and ends at 8 at the earliest"),
        ({"setups": [[[0, 0], [0, 0]]] * 2, "first_setups": [[1, 0], [0, 0]]}, [0, 3, 3, 5], "set-up of its machine takes 1"),
        ({"fixed_start": [-1, -1, 4, -1], "fixed_machine": [-1, -1, 0, -1]}, [0, 3, 3, 6], "fixed to start at 4 on machine 0"),
        (
            {"capacity": [2], "demand": [[0], [1], [2], [0]]},
            [0, 3, 3, 6],
            "operation 1 of job 0 starts at 3; then 3 units of resource 0 are occupied; accepted: up to 2",
        ),
    ],
)
def test_faults_are_named(rules, start, message):
    """Each broken rule is named with its operation and what is accepted."""
    flags = dict.fromkeys(("no_wait", "resumable", "blocking"), bool)
    made = {name: value if name == "now" else np.array(value, flags.get(name, np.int64)) for name, value in rules.items()}
    instance = from_jobs(TWO, 2, rules=SideConstraints(**made))
    with pytest.raises(Infeasible, match=message):
        objective(instance, (np.array(start), np.array([0, 1, 0, 1])))


def test_set_ups_need_no_job_and_no_break_between():
    """A machine is set up before its job comes; in one piece, before a break or after it."""
    setups = np.array([[[0, 9], [9, 0]], [[0, 3], [3, 0]]])
    instance = from_jobs(TWO, 2, rules=SideConstraints(setups=setups, unavailable=np.array([[1, 9, 20]])))
    machine = np.array([0, 1, 0, 1])
    assert objective(instance, (np.array([0, 3, 12, 20]), machine)) == 22  # set up from 5 to 8, while job 1 is still elsewhere
    short = from_jobs(TWO, 2, rules=SideConstraints(setups=setups, unavailable=np.array([[1, 7, 20]])))
    with pytest.raises(Infeasible, match="takes 3 and ends at 23"):
        objective(short, (np.array([0, 3, 12, 20]), machine))
