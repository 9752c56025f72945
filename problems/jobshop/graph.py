"""The disjunctive graph (Roy and Sussmann, 1964) as networkx, to look at and to teach with; no solver uses it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from corl.errors import InputError
from corl.problems.jobshop.evaluation import check_schedule
from corl.problems.jobshop.instance import JobShopInstance

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["disjunctive_graph"]


def disjunctive_graph(instance: JobShopInstance, solution: Any = None) -> nx.DiGraph:
    """Nodes are the operations 0..o-1 (with `job`, `machine`, `duration`), "source" and "sink".

    An edge's `weight` is what must pass between the two starts: its tail's duration, from the source the release date. Edges
    of kind "conjunctive" follow the jobs. Of kind "disjunctive" are, without a solution, both directions of every pair of
    operations of one machine; with one, those from each operation to the next on its machine, so that the graph is acyclic
    and the longest path to the sink is the least makespan of its orders. Raises InputError where an instance is flexible and
    there is no solution to choose the machines, Infeasible for a wrong one.
    """
    import networkx as nx

    if solution is None and instance.flexible:
        raise InputError("a flexible instance has no disjunctive graph until machines are chosen; accepted: with a solution")
    schedule = None if solution is None else check_schedule(instance, solution)
    machine = instance.choice_machine if schedule is None else schedule.machine
    duration = [next(d for m, d in instance.choices(i) if m == machine[i]) for i in range(instance.operations)]
    graph = nx.DiGraph(name=instance.name)
    graph.add_nodes_from(["source", "sink"])
    for i, j in enumerate(instance.job.tolist()):
        graph.add_node(i, job=j, machine=int(machine[i]), duration=duration[i])
    for j in range(instance.jobs):
        chain = list(range(int(instance.first[j]), int(instance.first[j + 1])))
        graph.add_edge("source", chain[0], weight=int(instance.release[j]), kind="conjunctive")
        for i, k in zip(chain, [*chain[1:], "sink"]):
            graph.add_edge(i, k, weight=duration[i], kind="conjunctive")
    # operations in an order that agrees with the jobs even where durations are zero
    when = np.arange(instance.operations) if schedule is None else np.lexsort((schedule.start + duration, schedule.start))
    for m in range(instance.machines):
        here = [int(i) for i in when if machine[i] == m]
        if schedule is None:
            pairs = [(a, b) for a in here for b in here if a != b]
        else:
            pairs = list(pairwise(here))
        for a, b in pairs:
            if not graph.has_edge(a, b):
                graph.add_edge(a, b, weight=duration[a], kind="disjunctive")
    return graph
