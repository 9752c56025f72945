"""What the golden files are made of: miniature instances of every kind, and the solves on them. Public names only."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from corl import registry

HERE = Path(__file__).resolve().parent
NETWORKS = HERE / "networks"
"""Checkpoints with random weights, for problems that ship none (`make.py networks` wrote them)."""

INSTANCES: dict[str, dict[str, tuple[str, dict[str, Any]] | str]] = {
    "bandits": {
        "budget": ("budget", {"arms": 6, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 1}),
        "capacity": ("capacity", {"arms": 6, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 2}),
        "interventions": ("interventions", {"arms": 6, "count": 4, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 3}),
        "machines": ("machines", {"arms": 8, "worn": 3, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 4}),
        "attractor": ("attractor", {"arms": 8, "pulls": 3, "horizon": 8, "episodes": 6, "seed": 7}),
        "routing": ("routing", {"arms": 6, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 5}),
        "scheduling": ("scheduling", {"arms": 6, "pulls": 2, "horizon": 5, "episodes": 6, "seed": 6}),
    },
    "flowshop": {
        "makespan": ("taillard", {"jobs": 12, "machines": 5, "seed": 1}),
        "setups": ("taillard", {"jobs": 10, "machines": 4, "setups": 50, "seed": 2}),
        "total": ("taillard", {"jobs": 12, "machines": 5, "objective": "total_completion_time", "seed": 3}),
    },
    "jobshop": {
        "classic": ("taillard", {"jobs": 6, "machines": 5, "seed": 1}),
        "flexible": ("flexible", {"jobs": 5, "machines": 4, "operations": 4, "seed": 2}),
        "released": ("tardiness", {"jobs": 5, "machines": 4, "latest_release": 40, "seed": 3}),
        "tardiness": ("tardiness", {"jobs": 5, "machines": 4, "seed": 4}),
    },
    "knapsack": {
        "multi": ("multi", {"size": 20, "constraints": 3, "seed": 1}),
        "strong": ("strongly-correlated", {"size": 60, "span": 500, "seed": 2}),
        "uniform": ("uniform", {"size": 30, "span": 100, "seed": 3}),
        "unit": ("unit", {"size": 30, "capacity": 5.0, "seed": 4}),
    },
    "memory": {
        "dag": ("dag", {"ops": 14, "seed": 1}),
        "large": ("dag", {"ops": 40, "reach": 12, "fast_mib": 3.0, "seed": 3}),
        "layered": ("layered", {"layers": 5, "seed": 2}),
        "traced": ("traced", {"program": "alphatensor-b1", "fast_mib": 1.0}),
    },
    "memory-static": {
        "aligned": "aligned.csv",
        "network": ("network", {"layers": 8, "branches": 2, "seed": 1}),
        "tiled": ("tiled", {"size": 24, "seed": 2}),
    },
    "milp": {
        "auctions": ("auctions", {"items": 40, "bids": 160, "seed": 1}),
        "facilities": ("facility-location", {"customers": 8, "facilities": 6, "seed": 2}),
        "knapsacks": ("multiple-knapsack", {"items": 9, "knapsacks": 2, "seed": 3}),
        "set-cover": ("set-cover", {"rows": 120, "columns": 200, "density": 0.05, "seed": 4}),
    },
    "milp-branching": {
        "auctions": ("auctions", {"size": 50, "seed": 1}),
        "knapsacks": ("multiple-knapsack", {"size": 6, "seed": 2}),
    },
    "orienteering": {
        "equal": ("generation-1", {"size": 30, "seed": 1}),
        "near": ("generation-3", {"size": 40, "share": 0.4, "seed": 2}),
    },
    "tsp": {
        "asymmetric": ("asymmetric", {"size": 12, "seed": 1}),
        "globe": ("uniform", {"size": 25, "edge_weight_type": "GEO", "seed": 2}),
        "larger": ("asymmetric", {"size": 40, "seed": 3}),
        "plane": ("uniform", {"size": 40, "seed": 4}),
        "twelve": ("uniform", {"size": 12, "seed": 5}),
    },
    "vrp": {
        "capacities": ("x", {"size": 24, "seed": 1}),
        "fleet": "fleet.json",
        "prizes": ("uniform", {"size": 20, "optional": 0.4, "seed": 2}),
        "windows": ("solomon", {"size": 20, "kind": "RC", "seed": 3}),
    },
}
"""Problem -> name -> a generator and its parameters, or a file of the folder instances/."""


@cache
def instance(problem: str, name: str) -> Any:
    """The instance of that name."""
    adapter, recipe = registry.problem(problem), INSTANCES[problem][name]
    if isinstance(recipe, str):
        return adapter.read(HERE / "instances" / recipe)
    generator, parameters = recipe
    return adapter.generators[generator](**parameters)


class Case(NamedTuple):
    """One solve."""

    problem: str
    solver: str
    instance: str
    iterations: int | None = None
    options: str = ""
    """KEY=VALUE, separated by blanks; `network=NAME` stands for policy=networks/NAME.safetensors."""
    kind: str = "bits"
    """bits: all of it is the same on every run on one machine; proof: status, objective and bound are, an engine of others found
    them; engine: the status is."""
    engines: str = ""
    """The packages beside NumPy, SciPy and numba that the numbers depend on."""

    @property
    def key(self) -> str:
        """The name in the golden file and in the test's id."""
        limit = "" if self.iterations is None else f" {self.iterations}"
        return " ".join(f"{self.solver}{limit} {self.options} {self.instance}".split())


def _cases(problem: str, rows: str) -> list[Case]:
    """A case a line: solver, instance, iterations or -, then options, `proof` or `engine`, and +PACKAGE for its engines."""
    found = []
    for line in filter(str.strip, rows.splitlines()):
        solver, name, iterations, *rest = line.split()
        kind = next((word for word in rest if word in ("proof", "engine")), "bits")
        engines = " ".join(word[1:] for word in rest if word.startswith("+"))
        options = " ".join(word for word in rest if "=" in word)
        found.append(Case(problem, solver, name, None if iterations == "-" else int(iterations), options, kind, engines))
    return found


_POLICIES = """
policy {0} 200 network={1}-attention +torch
policy {0} 120 decoder=sample temperature=5 network={1}-attention +torch
policy {0} 90 decoder=without-replacement temperature=5 network={1}-attention +torch
tree-search {0} 400 network={1}-attention +torch
tree-search {0} 400 method=puct leaves=2 network={1}-attention +torch
muzero {0} 200 network={1}-muzero +torch
"""

CASES: list[Case] = [
    *_cases(
        "bandits",
        """
        fluid budget -
        fluid capacity -
        fluid interventions -
        fluid machines -
        fluid routing -
        fluid scheduling -
        fluid attractor - resolve=1
        iterative-dqn attractor 4 epochs=4 +torch
        iterative-dqn routing 2 epochs=2 +torch
        iterative-myopic capacity -
        iterative-myopic machines -
        myopic interventions -
        myopic machines -
        myopic routing -
        myopic scheduling -
        muzero capacity 1 simulations=4 network=bandits-muzero proof +torch
        null budget -
        policy routing 1 network=bandits-attention proof +torch
        random routing -
        random scheduling -
        rollout attractor - samples=3 breadth=3
        rollout capacity - samples=3 breadth=3
        sampling interventions - samples=10
        sampling scheduling - samples=10
        sequoia attractor 4 epochs=4 +torch
        sequoia capacity 2 epochs=2 +torch
        sequoia budget 2 epochs=2 mode=release base=fluid +torch
        two-step attractor -
        two-step budget -
        tree-search scheduling 1 simulations=4 network=bandits-attention proof +torch
        two-step machines -
        whittle budget -
        whittle machines -
    """,
    ),
    *_cases(
        "flowshop",
        """
        cp-sat makespan - engine +ortools
        iterated-greedy makespan 2000
        iterated-greedy setups 2000
        iterated-greedy total 2000
        neh makespan 20
        neh total 20
    """
        + _POLICIES.format("makespan", "flowshop"),
    ),
    *_cases(
        "jobshop",
        """
        annealing released 400
        cp-agent classic 8
        cp-sat classic - proof +ortools
        cp-sat flexible - proof +ortools
        cp-sat released - proof +ortools
        dispatch classic 40 noise=0.3
        dispatch flexible 40
        dispatch flexible 40 noise=0.3
        dispatch released 40
        dispatch tardiness 40
        slim classic 8
        tabu classic 400
        tabu flexible 400
        tabu released 400
        tabu tardiness 400
    """
        + _POLICIES.format("classic", "jobshop"),
    ),
    *_cases(
        "knapsack",
        """
        cp-sat multi - proof +ortools
        dp strong 500
        dp uniform 500
        greedy multi 20
        greedy unit 20
        ortools multi - proof +ortools
    """
        + _POLICIES.format("multi", "knapsack"),
    ),
    *_cases(
        "memory",
        """
        all-slow dag -
        annealing dag 20000
        annealing large 20000
        annealing traced 1000
        cp-sat dag - engine +ortools
        greedy-keep traced -
        learned-priority dag 60
        learned-priority traced 6
        muzero dag 100 +torch
        policy dag 200 decoder=sample policy=memory-alphazero +torch
        policy traced 100 +torch
        tree-search dag 300 +torch
        xla-like dag -
        xla-like traced -
    """,
    ),
    *_cases(
        "memory-static",
        """
        branch-and-bound aligned 300
        branch-and-bound network 300
        branch-and-bound tiled 300
        branch-and-bound tiled 300 capacity=1048576 fitting=0
        cp-sat aligned - proof +ortools
        first-fit aligned 60
        first-fit tiled 60
    """
        + _POLICIES.format("tiled", "memory-static"),
    ),
    *_cases(
        "milp",
        """
        cp-sat knapsacks - proof +ortools
        highs facilities - proof
        highs set-cover - proof
        learned-branching auctions 5 policy=milp-auctions root_cuts=true proof +pyscipopt
        learned-branching set-cover - policy=milp-independent-set root_cuts=true proof +pyscipopt
        learned-branching set-cover 5 policy=milp-set-cover root_cuts=true proof +pyscipopt
        scip auctions 5 root_cuts=true proof +pyscipopt
        scip set-cover - proof +pyscipopt
        scip-fullstrong set-cover - root_cuts=true proof +pyscipopt
        scip-pscost auctions 5 root_cuts=true proof +pyscipopt
        scip-pscost set-cover 5 root_cuts=true proof +pyscipopt
        scip-relpscost knapsacks - proof +pyscipopt
    """,
    ),
    *_cases(
        "milp-branching",
        """
        rule auctions 40
        rule knapsacks 200
        policy knapsacks 100 network=milp-branching-attention +torch
        tree-search knapsacks 100 network=milp-branching-attention +torch
        muzero knapsacks 100 network=milp-branching-muzero +torch
    """,
    ),
    *_cases(
        "orienteering",
        """
        ortools equal - engine +ortools
        ruin-recreate equal 300
        ruin-recreate near 300
    """
        + _POLICIES.format("equal", "orienteering"),
    ),
    *_cases(
        "tsp",
        """
        eax globe 60
        eax plane 60
        exact asymmetric - proof
        exact plane - proof +pyscipopt
        exact twelve - proof
        fast-tsp plane - engine +fast-tsp
        greedy-edge globe -
        greedy-edge plane -
        heatmap-mcts plane 60
        heatmap-mcts plane 60 preset=paper heatmap=gnn +torch
        heatmap-mcts globe 60 heatmap=softmax
        ils asymmetric 60
        ils globe 60
        ils larger 80
        ils plane 80
        muzero twelve 100 network=tsp-muzero +torch
        nearest-neighbour plane -
        ortools larger - engine +ortools
        ortools plane - engine +ortools
        policy larger 150 +torch
        policy plane 300 +torch
        policy twelve 150 decoder=greedy augment=8 network=tsp-muzero +torch
        policy twelve 150 decoder=sample network=tsp-muzero +torch
        policy twelve 150 decoder=stochastic-beam network=tsp-muzero +torch
        policy twelve 150 decoder=without-replacement network=tsp-muzero +torch
        tree-search asymmetric 150 +torch
        tree-search twelve 200 network=tsp-muzero +torch
        tree-search twelve 200 method=puct leaves=4 network=tsp-muzero +torch
    """,
    ),
    *_cases(
        "vrp",
        """
        ortools capacities - engine +ortools
        ortools windows - engine +ortools
        pyvrp capacities 20 engine +pyvrp
        pyvrp prizes 20 engine +pyvrp
        ruin-recreate capacities 300
        pyvrp fleet 20 engine +pyvrp
        ruin-recreate fleet 300
        ruin-recreate prizes 300
        ruin-recreate windows 300
    """
        + _POLICIES.format("capacities", "vrp"),
    ),
]
