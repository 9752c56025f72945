"""Is it information that policies of vehicle routing lack? `python tests/studies/vrp_information.py STEP --folder FOLDER`.

CVRP100 of the learning literature; the features "savings", and "priced" without the plans by each shape parameter, which came
later. Steps, one after another, each of which keeps what it makes in the folder:

    solve     solutions by ruin-recreate (30,000 iterations) of new instances, 60 % of them from where the rule, sampled, came to
    look      states at random places of these solutions, their features, and the actions that are right
    fit       policies of each action's features alone, linear or of 64 hidden units, by both sets of features; lines of CSV:
              cross-entropy and share of right actions in the states of a quarter of the instances
    play      their greedy gaps on instances of the split "choose", beside the rule's
    regret    by tenths of an episode, and by kinds of the action and of the completion's, what a policy's actions cost: the best
              completion before less that after (ruin-recreate, 2,500 iterations)

Kinds are same, or ACTION/COMPLETION of next (goes on) and fresh (goes home first).
"""

from __future__ import annotations

import argparse
import csv
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from routing_policies import RULES, fresh, gaps, reference
from torch import Tensor, nn

from corl import registry
from corl.environment import Environment
from corl.problems.vrp.environments.priced.environment import PricedEnvironment
from corl.problems.vrp.environments.priced.features import priced
from corl.problems.vrp.generators import uniform
from corl.tokens import Tokens

__all__ = ["Scorer", "fitted", "regrets", "right_states"]

Scorer = Callable[[Tokens], NDArray[np.float64]]
"""Tokens -> float64 [R, K], the scores of actions, the highest of which is taken."""
SEEDS = 7_000_000_000
CLIENTS, OLD, USED = 100, 28, 47  # features of savings, and of priced
SETS = {"savings": [*range(OLD), *range(USED, USED + OLD)], "priced": list(range(2 * USED))}
"""Columns of an action's and then of the origin's features."""
HIDDEN = {"linear": 0, "perceptron": 64}


def new_solutions(count: int, iterations: int) -> list[tuple[int, list[int], list[list[int]]]]:
    """Seed, the actions before, and for each step of a completion the actions that are right."""
    environment: Environment
    rule, solver, random, found = _rule(), registry.solver("vrp", "ruin-recreate")(), np.random.default_rng(5), []
    for number in range(count):
        environment = PricedEnvironment([uniform(size=CLIENTS, seed=SEEDS + number)], 2)
        environment.reset([0], [0])
        cut = 0 if random.random() < 0.4 else int(random.integers(0, 80))
        before: list[int] = []
        for _ in range(cut):
            scores = rule(priced(environment.observe([0])))[0] * 25.0 / (0.2 + 1.8 * random.random())
            action = int(environment.actions([0])[0, int(np.argmax(scores + random.gumbel(size=len(scores))))])
            environment.step([0], [0], [action])
            before.append(action)
        steps = solver.complete(environment, 0, int(iterations * (1.0 - cut / 120)), number)
        found.append((SEEDS + number, before, [step.tolist() for step in steps]))
    return found


def right_states(solutions: list[tuple[int, list[int], list[list[int]]]], each: int) -> dict[str, NDArray[Any]]:
    """Of `each` states of a solution: features x [N, K, 94], mask and right [N, K], instance and remaining clients [N]."""
    random, rows = np.random.default_rng(0), []
    for number, (seed, before, steps) in enumerate(solutions):
        environment = PricedEnvironment([uniform(size=CLIENTS, seed=seed)], 1)
        environment.reset([0], [0])
        for action in before:
            environment.step([0], [0], [action])
        picked = set(random.permutation(len(steps) - 2)[:each].tolist())
        for step, good in enumerate(steps):
            if step in picked:
                tokens, actions = priced(environment.observe([0])), environment.actions([0])[0]
                right = np.isin(actions, good) & (actions >= 0)
                if right.any():
                    rows.append((_features(tokens)[0], tokens.mask[0, :-2], right, number, CLIENTS - len(before) - step))
            environment.step([0], [0], [good[0]])
    names = ("x", "mask", "right", "instance", "remaining")
    return {name: np.array(column) for name, column in zip(names, zip(*rows))}


def fitted(states: dict[str, NDArray[Any]], columns: list[int], hidden: int, steps: int = 600) -> tuple[Scorer, Tensor]:
    """A policy of each action's features, and its log-probabilities [N, K] in the states, the held-out ones among them."""
    torch.manual_seed(0)
    held, random = states["instance"] % 4 == 3, np.random.default_rng(0)
    x, mask, right = (torch.from_numpy(states[name]) for name in ("x", "mask", "right"))
    x = x[:, :, columns]
    known = x[~held][mask[~held]]
    mean, spread = known.mean(0), known.std(0) + 1e-3
    x = (x - mean) / spread
    first, last = nn.Linear(len(columns), hidden or 1), nn.Linear(hidden or 1, 1)
    parts = [first, nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, hidden), nn.ReLU(), last] if hidden else [first]
    network = nn.Sequential(*parts)
    optimiser = torch.optim.AdamW(network.parameters(), 3e-3, weight_decay=0.05 if hidden else 0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)

    def log_policy(at: Tensor) -> Tensor:
        return torch.log_softmax(network(x[at]).squeeze(-1).masked_fill(~mask[at], -1e9), dim=1)

    for _ in range(steps):
        at = torch.from_numpy(random.choice(np.flatnonzero(~held), 128))
        loss = -log_policy(at).masked_fill(~right[at], -1e9).logsumexp(dim=1).mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    network.eval()

    def scores(tokens: Tokens) -> NDArray[np.float64]:
        with torch.no_grad():
            given = torch.from_numpy(_features(tokens)[:, :, columns])
            found: NDArray[np.float64] = network((given - mean) / spread).squeeze(-1).double().numpy()
        return np.where(tokens.mask[:, :-2], found, -np.inf)

    with torch.no_grad():
        return scores, log_policy(torch.arange(len(x)))


def regrets(policy: Scorer, instances: list[Any], iterations: int) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Of each step [T, I] the regret, as a share of the best completion of the whole instance, and the kind."""
    solver, count, n = registry.solver("vrp", "ruin-recreate")(), len(instances), CLIENTS + 1
    environment, rows = PricedEnvironment(instances, 2 * count), np.arange(count)
    done, totals, kinds = environment.reset(rows, rows).astype(float), np.zeros((CLIENTS + 1, count)), []
    for step in range(CLIENTS):
        actions = environment.actions(rows)
        taken = actions[rows, policy(priced(environment.observe(rows))).argmax(axis=1)]
        kind = []
        for row in rows.tolist():
            plan, at = solver.complete(environment, row, iterations, step), row
            totals[step, row] = done[row]
            for good in plan:
                totals[step, row] += environment.step([at], [count + row], [int(good[0])])[0]
                at = count + row
            ways = ["fresh" if step == 0 or action >= n else "next" for action in (taken[row], plan[0][0])]
            kind.append("same" if taken[row] in plan[0] else "/".join(ways))
        kinds.append(kind)
        done += environment.step(rows, rows, taken)
    totals[-1] = done
    best = np.maximum.accumulate(totals[::-1])[::-1]
    return (best[:-1] - best[1:]) / -best[0], np.array(kinds)


def played(policy: Scorer, instances: list[Any]) -> NDArray[np.float64]:
    """float64 [I], the costs of greedy episodes."""
    environment, rows = PricedEnvironment(instances, len(instances)), np.arange(len(instances))
    total = environment.reset(rows, rows).astype(float)
    for _ in range(CLIENTS):
        best = policy(priced(environment.observe(rows))).argmax(axis=1)
        total += environment.step(rows, rows, environment.actions(rows)[rows, best])
    return -total


def _features(tokens: Tokens) -> NDArray[np.float32]:
    """[R, K, 94], of each action and then of the origin."""
    own, origin = tokens.x[:, :-2, :USED], tokens.x[:, -2:-1, :USED]
    return np.concatenate([own, np.broadcast_to(origin, own.shape)], axis=2)


def _rule() -> Scorer:
    weights = np.array(json.loads(RULES.read_text())["vrp"])

    def scores(tokens: Tokens) -> NDArray[np.float64]:
        return np.where(tokens.mask[:, :-2], tokens.x[:, :-2, :OLD].astype(np.float64) @ weights, -np.inf)

    return scores


def main() -> None:
    """One step."""
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("solve", "look", "fit", "play", "regret"))
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--count", type=int, default=32, help="instances: solved, or of the split")
    args = parser.parse_args()
    solutions, states, writer = args.folder / "solutions.pickle", args.folder / "states.npz", csv.writer(sys.stdout)
    if args.step == "solve":
        solutions.write_bytes(pickle.dumps(new_solutions(args.count, 30_000)))
        return
    if args.step == "look":
        np.savez(states, **right_states(pickle.loads(solutions.read_bytes()), 14))  # type: ignore[arg-type]
        return
    data = dict(np.load(states))
    policies = {"rule": _rule()}
    held, right = torch.from_numpy(data["instance"] % 4 == 3), torch.from_numpy(data["right"])
    for name, columns in SETS.items():
        for kind, hidden in HIDDEN.items():
            policies[f"{name}-{kind}"], logs = fitted(data, columns, hidden)
            entropy = -logs.masked_fill(~right, -1e9).logsumexp(dim=1)[held].mean().item()
            hits = right[torch.arange(len(right)), logs.argmax(dim=1)][held].double().mean().item()
            if args.step == "fit":
                writer.writerow([name, kind, f"{entropy:.4f}", f"{hits:.4f}"])
    if args.step == "fit":
        return
    instances = fresh("vrp", "choose", args.count)
    best = reference("vrp", "choose", instances, args.folder / "reference.csv")
    for name, policy in policies.items():
        if args.step == "play":
            gap = gaps("vrp", played(policy, instances), best)
            writer.writerow([name, f"{gap.mean():.6f}", f"{gap.std() / len(gap) ** 0.5:.6f}"])
        elif name in ("rule", "priced-perceptron"):
            regret, kinds = regrets(policy, instances, 2500)
            writer.writerow([name, *(f"{part.sum(axis=0).mean():.6f}" for part in np.split(regret, 10))])
            for kind in np.unique(kinds):
                writer.writerow([name, kind, (kinds == kind).sum() / len(best), f"{regret[kinds == kind].sum() / len(best):.6f}"])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
