"""ReviBranch's policies beside random branching, pseudocosts and imitation: nodes, LP iterations and seconds of programs.

All in SCIP depth first, with cuts at the root alone and no restarts, as the recipe `milp.revibranch` grows its trees:

    python tests/studies/milp_revibranch.py auctions --sizes items=60,bids=300 --programs 100 --output rows.csv
        --policies random pscost milp-auctions A.safetensors

Programs to judge on have seeds from 700,000; those to choose on (--split choose) from 650,000; training's begin at 500,000.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time

import numpy as np

from corl.problems.milp.generators import GENERATORS
from corl.problems.milp.problem import Milp
from corl.run import Run
from corl.solvers.milp.branching.policy import load_branching
from corl.solvers.milp.revibranch.recipe import ReviBranch
from corl.solvers.milp.revibranch.trees import DEPTH_FIRST
from corl.solvers.milp.scip import MEASURING
from corl.solvers.milp.scip import functions as scip
from corl.solvers.milp.scip.model import Engine
from corl.solvers.milp.scip.recorder import GASSE
from corl.solvers.milp.scip.rule import Choose, Rule
from corl.statistics import resampled_mean

SCIPS = ("pscost", "relpscost", "fullstrong")
"""Rules of SCIP's own; LP iterations count those of strong branching."""
FIRST_SEED = {"choose": 650_000, "judge": 700_000}


def chooser(name: str, seed: int) -> Choose:
    """What branches where SCIP's own rules do not: `random`, or a policy."""
    random = np.random.default_rng(seed)
    if name == "random":
        return lambda node: int(random.integers(len(node.candidates))) if len(node.candidates) else -1
    return load_branching(name)


def solved(recipe: ReviBranch, name: str, seed: int, limit: float) -> dict[str, float]:
    """Nodes, LP iterations and processor seconds of one program."""
    instance = recipe.program(seed)
    run = Run(Milp().with_sense_of(instance), instance, seed=seed, time_limit=limit)
    run.start()
    scips = {f"branching/{name}/priority": MEASURING} if name in SCIPS else {}
    engine = Engine(instance, run, {**GASSE, **DEPTH_FIRST, **scips})
    try:
        if not scips:
            rule = Rule(engine.model, engine.callbacks, chooser(name, seed))
            engine.add(rule, "corl_judged", "a judged rule", MEASURING)
        began = time.process_time()
        status = engine.solve(lambda kind, value: None)
        seconds = time.process_time() - began
        nodes = int(engine.model.getNTotalNodes())
        iterations = int(engine.model.getNLPIterations() + engine.model.getNStrongbranchLPIterations())
        return {"nodes": nodes, "lp_iterations": iterations, "seconds": seconds, "optimal": status == "optimal"}
    finally:
        engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=GENERATORS)
    parser.add_argument("--sizes", default="")
    parser.add_argument("--policies", nargs="+", required=True)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="number of the first program, to share the work out")
    parser.add_argument("--split", choices=FIRST_SEED, default="choose")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--output", default="")
    given = parser.parse_args()
    scip.load()
    recipe = ReviBranch(family=given.family, sizes=given.sizes)
    rows = []
    for number in range(given.first, given.first + given.programs):
        for name in given.policies:
            found = solved(recipe, name, FIRST_SEED[given.split] + number, given.limit)
            rows.append({"family": given.family, "sizes": given.sizes, "program": number, "policy": name, **found})
            print(rows[-1], file=sys.stderr, flush=True)
    if given.output:
        with open(given.output, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    first = given.policies[0]
    for measure in ("nodes", "lp_iterations", "seconds"):
        logs = {name: np.log([row[measure] for row in rows if row["policy"] == name]) for name in given.policies}
        for name in given.policies:
            than = resampled_mean(logs[name] - logs[first])
            low, high = np.exp([than.low, than.high])
            ratio = f"{np.exp(than.value):.3f} [{low:.3f}, {high:.3f}]"
            print(f"{measure:14}{name:40}{np.exp(logs[name].mean()):12.2f}  / {first} {ratio}")


if __name__ == "__main__":
    main()
