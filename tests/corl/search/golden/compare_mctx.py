"""Our searches beside mctx's (github.com/google-deepmind/mctx), on the TSPs of table_tsp.py.

    python compare_mctx.py --write     writes golden.json: mctx's visit counts at the root, in float64
    python compare_mctx.py             compares ours with it, and with mctx itself where it is installed
    python compare_mctx.py --speed     simulations a CPU second of both, one thread each, in the same run, and their ratio

mctx (with jax) is needed for --write and --speed only.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import table_tsp

from corl.policy import RulePolicy
from corl.search.gumbel import Gumbel
from corl.search.models import SimulatorModel, rows_needed
from corl.search.puct import Puct

GOLDEN = Path(__file__).with_name("golden.json")
SETTINGS = ("search", "cities", "simulations", "considered", "seed")


def by_city(result: Any, cities: int) -> Any:
    """Visits of a SearchResult by city instead of by slot: int [B, cities]."""
    visits = np.zeros((len(result.action), cities), int)
    for tree, (ids, counts) in enumerate(zip(result.actions, result.visits)):
        visits[tree, ids[ids >= 0]] = counts[ids >= 0]
    return visits


def search_of(configuration: dict[str, Any], **more: Any) -> Any:
    """Our search without noise, as a golden configuration describes it."""
    simulations = configuration["simulations"]
    if configuration["search"] == "puct":
        return Puct(simulations, **more)
    return Gumbel(simulations, configuration["considered"], noise=0.0, **more)


def ours(configuration: dict[str, Any], scale: float = 1.0, **more: Any) -> Any:
    """The SearchResult of a configuration."""
    places = scale * table_tsp.points(configuration["seed"], configuration["cities"])
    network = table_tsp.tables(configuration["seed"], configuration["cities"], scale)
    trees = len(places)
    pool = table_tsp.environment(places, rows_needed(trees, configuration["simulations"]))
    model = SimulatorModel(pool, table_tsp.TablePolicy(network).on(pool), first=trees)
    return search_of(configuration, **more).search(model, np.arange(trees), 0)


class Theirs:
    """mctx on the same TSPs; an embedding is (tree, last city, unvisited, how many are unvisited)."""

    def __init__(self, places: Any, evaluate: Any, dtype: Any) -> None:
        import jax.numpy as jnp

        self.places, self.evaluate = jnp.asarray(places, dtype), evaluate
        self.trees, self.cities = places.shape[:2]

    def root(self) -> tuple[Any, Any]:
        """mctx's root and the mask of what may not be done there."""
        import jax.numpy as jnp
        import mctx

        last = jnp.zeros(self.trees, jnp.int32)
        unvisited = jnp.ones((self.trees, self.cities), bool).at[:, 0].set(False)
        logits, value = self.evaluate(last, unvisited)
        state = jnp.arange(self.trees), last, unvisited, jnp.full(self.trees, self.cities - 1)
        return mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state), ~unvisited

    def step(self, _parameters: Any, _key: Any, action: Any, state: Any) -> tuple[Any, Any]:
        """mctx's recurrent_fn: masks through the logits, ended episodes through a discount of 0."""
        import jax.numpy as jnp
        import mctx

        tree, last, unvisited, left = state
        here, there, home = self.places[tree, last], self.places[tree, action], self.places[tree, 0]
        length = self._distance(here, there) + jnp.where(left == 1, self._distance(there, home), 0.0)
        over = left <= 0
        unvisited = unvisited.at[jnp.arange(len(action)), action].set(False)
        ended = left <= 1
        logits, value = self.evaluate(action, unvisited)
        lowest = jnp.finfo(logits.dtype).min
        output = mctx.RecurrentFnOutput(
            reward=jnp.where(over, 0.0, -length),
            discount=jnp.where(ended, 0.0, jnp.ones_like(length)),
            prior_logits=jnp.where(unvisited, logits, lowest),
            value=jnp.where(ended, 0.0, value),
        )
        return output, (tree, action, unvisited, left - 1)

    def search(self, configuration: dict[str, Any]) -> Any:
        """A jitted function () -> root visits [B, cities]."""
        import jax
        import mctx

        root, invalid = self.root()
        options: dict[str, Any] = {"num_simulations": configuration["simulations"], "invalid_actions": invalid}
        if configuration["search"] == "puct":
            function, options = mctx.muzero_policy, options | {"dirichlet_fraction": 0.0}
        else:
            options |= {"max_num_considered_actions": configuration["considered"], "gumbel_scale": 0.0}
            function = mctx.gumbel_muzero_policy

        def run(key: Any, root: Any) -> Any:
            found = function((), key, root, self.step, **options)
            return found.search_tree.summary().visit_counts

        compiled = jax.jit(run)
        return lambda: np.asarray(compiled(jax.random.PRNGKey(0), root)).astype(int)

    @staticmethod
    def _distance(a: Any, b: Any) -> Any:
        import jax.numpy as jnp

        return jnp.sqrt(jnp.sum((a - b) ** 2, axis=-1))


def theirs(configuration: dict[str, Any]) -> Any:
    """mctx's visits at the root by city, int [TREES, cities], in float64."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    network = table_tsp.tables(configuration["seed"], configuration["cities"])
    logits, values = jnp.asarray(network.logits), jnp.asarray(network.values)
    places = table_tsp.points(configuration["seed"], configuration["cities"])
    return Theirs(places, lambda last, _: (logits[last], values[last]), jnp.float64).search(configuration)()


# ------------------------------------------------------------------ speed
SPEED = {"simulations": 64, "considered": 16}


def torch_mlp(cities: int) -> Any:
    """2 * cities inputs, 64 hidden units, a logit for each city and a value."""
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2 * cities, 64), torch.nn.ReLU(), torch.nn.Linear(64, cities + 1))


class TorchPolicy(RulePolicy):
    """The MLP in torch, on observations."""

    def __init__(self, network: Any, cities: int) -> None:
        self.network, self.cities = network, cities

    def evaluate(self, observation: dict[str, Any]) -> tuple[Any, Any]:
        """Logits of the listed cities and the values."""
        import torch

        n, listed, last = self.cities, observation["cities"][:, :-2], observation["cities"][:, -2]
        rows = np.arange(len(last))
        inputs = np.zeros((len(last), 2 * n + 1), np.float32)
        inputs[rows[:, None], np.where(listed >= 0, listed, 2 * n)] = 1.0
        inputs[rows, n + last] = 1.0
        with torch.inference_mode():
            outputs = self.network(torch.from_numpy(inputs[:, :-1])).numpy()
        logits = np.where(listed >= 0, outputs[rows[:, None], listed], np.float32(-np.inf))
        return logits, outputs[:, n].astype(np.float64)


def speed_of_ours(kind: str, search: Any, places: Any) -> Any:
    """A function () that searches from all roots once."""
    trees, cities = places.shape[:2]
    pool = table_tsp.environment(places, rows_needed(trees, search.simulations))
    policy: Any = table_tsp.Uniform() if kind == "uniform" else TorchPolicy(torch_mlp(cities), cities)
    model = SimulatorModel(pool, policy.on(pool), first=trees)
    return lambda: search.search(model, np.arange(trees), 0)


def speed_of_theirs(kind: str, configuration: dict[str, Any], places: Any) -> Any:
    """A function () that searches from all roots once with mctx, in float32."""
    import jax.numpy as jnp

    trees, cities = places.shape[:2]
    if kind == "uniform":

        def evaluate(last: Any, unvisited: Any) -> Any:
            return jnp.zeros((trees, cities)), jnp.zeros(trees)
    else:
        first, _, second = torch_mlp(cities)
        w1, b1, w2, b2 = (jnp.asarray(part.detach().numpy().T) for part in (*first.parameters(), *second.parameters()))

        def evaluate(last: Any, unvisited: Any) -> Any:
            one_hot = jnp.eye(cities)[last]
            inputs = jnp.concatenate([unvisited.astype(jnp.float32), one_hot], axis=1)
            outputs = jnp.maximum(inputs @ w1 + b1, 0.0) @ w2 + b2
            return outputs[:, :cities], outputs[:, cities]

    return Theirs(places, evaluate, jnp.float32).search(configuration)


def seconds(functions: list[Any], rounds: int = 7, least: float = 0.03) -> list[float]:
    """The median CPU seconds of a call of each, of all its threads, measured in turns after a warming call."""
    repeats = []
    for function in functions:
        function()
        began = time.process_time()
        function()
        repeats.append(max(1, int(least / (time.process_time() - began))))
    taken = np.empty((rounds, len(functions)))
    for round_ in range(rounds):
        for i, (function, times) in enumerate(zip(functions, repeats)):
            began = time.process_time()
            for _ in range(times):
                function()
            taken[round_, i] = (time.process_time() - began) / times
    return list(np.median(taken, axis=0))


def print_speeds(batches: list[int], sizes: list[int], names: list[str]) -> None:
    """A table: thousand simulations a CPU second of ours (torch with 1 and with 8 leaves a call) and of mctx."""
    import torch

    torch.set_num_threads(1)
    print("thousand simulations per CPU second (ours / mctx = ratio), 64 simulations, one thread", flush=True)
    for name in names:
        for cities in sizes:
            for trees in batches:
                places = np.random.default_rng(0).random((trees, cities, 2))
                total = trees * SPEED["simulations"]
                one, more = (search_of(SPEED | {"search": name}, leaves=leaves) for leaves in (1, 8))
                peers = [speed_of_theirs(kind, SPEED | {"search": name}, places) for kind in ("uniform", "MLP")]
                kinds = [("uniform", one), ("torch MLP", one), ("torch MLP", more)]
                ours_ = [speed_of_ours(kind, search, places) for kind, search in kinds]
                mctx_uniform, mctx_mlp, *mine = seconds([*peers, *ours_])
                cells = [
                    f"{label} {total / spent / 1e3:.0f} / {total / peer / 1e3:.0f} = {peer / spent:.1f}"
                    for label, spent, peer in zip(
                        ("uniform", "torch MLP64", "torch MLP64 8 leaves"), mine, (mctx_uniform, mctx_mlp, mctx_mlp),
                    )
                ]  # fmt: skip
                print(f"{name:6} N={cities:<4} B={trees:<4}", "   ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 16, 256])
    parser.add_argument("--cities", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--searches", nargs="+", default=["gumbel", "puct"])
    given = parser.parse_args()
    if given.speed:
        print_speeds(given.batches, given.cities, given.searches)
        return
    if given.write:
        found = [configuration | {"visits": theirs(configuration).tolist()} for configuration in table_tsp.CONFIGURATIONS]
        lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in found)
        GOLDEN.write_text(f"[\n{lines}\n]\n")
    for entry in json.loads(GOLDEN.read_text()):
        configuration = {key: entry[key] for key in SETTINGS if key in entry}
        same = by_city(ours(configuration), configuration["cities"]).tolist() == entry["visits"]
        print("equal    " if same else "DIFFERENT", configuration)


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    main()
