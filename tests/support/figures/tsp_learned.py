"""Figures of learned policies for the travelling salesman problem."""

from __future__ import annotations

from .cells import bold, bold_least, interval, mean, number, recorded, recorded_table, row, rows, significant, table

__all__ = [
    "attention", "atsp_features", "atsp_judged", "atsp_policies", "decoders", "decoders_now", "policies", "relaxations",
    "state_costs", "training_options", "value_scales", "zero",
]  # fmt: skip


def policies() -> str:
    """Gaps of `tsp-bq` and the best rule by hand."""
    fresh = "uniform-100-128-greedy fresh"
    labels = {
        (fresh, "tsp-bq"): "100 uniform cities, shipped weights with `plane-far`, greedy",
        (fresh, "least-bound"): "100, best rule with `plane-far`, greedy",
        (fresh, "tsp-bq of e283086 with plane-far"): "100, earlier weights with `plane-far`, greedy",
        (fresh, "tsp-bq of e283086"): "100, earlier weights with `plane`, greedy",
        ("uniform-100-128-beam16 fresh", "tsp-bq"): "100, shipped weights, beam of 16",
        ("uniform-200-128-greedy", "tsp-bq"): "200, shipped weights, greedy",
        ("uniform-500-32-greedy", "tsp-bq"): "500, shipped weights, greedy",
    }
    lines = []
    for (name, policy), label in labels.items():
        found = row("tsp/policies", row=name, policy=policy)
        gap = interval(found, "mean_gap", scale=100)
        lines.append([label, found["instances"], gap, significant(found["tours_per_second"])])
    return table(["", "instances", "gap %", "tours a second"], lines)


def attention() -> str:
    """Held-out cross-entropy and greedy gaps of networks with open and closed layers, means over seeds."""
    labels = {"tsp": "TSP50", "atsp": "ATSP50", "vrp": "CVRP50", "memory": "memory, 16 operations"}
    lines = []
    for task, label in labels.items():
        found = [rows("tsp/attention-layers", task=task, variant=variant) for variant in ("shared", "own-30", "pre-norm")]
        losses = [mean(each["cross_entropy"] for each in some) for some in found]
        gaps = [number(mean(each["gap"] for each in some), 2, 100) for some in found]
        lines.append([f"{label}: cross-entropy", *bold_least(losses, [number(loss, 4) for loss in losses])])
        lines.append([f"{label}: gap %", *gaps])
    return table(["", "one rate for all parameters", "30 times the rate for factors", "layer norm and LayerScale instead"], lines)


def relaxations() -> str:
    """Gaps of the earlier weights of `tsp-bq` by the size of the relaxation."""
    return recorded_table("tsp", "relaxations of tsp-bq", "relaxation")


def value_scales() -> str:
    """Changes by Gumbel search with each scale of values."""
    tasks, scales = {"tsp": "`tsp`, 16 instances", "atsp": "`atsp`, 24", "memory": "`memory`, 24"}, (0.01, 0.03, 0.1)
    lines = [
        [label, *(interval(row("tsp/value-scale", task=task, value_scale=scale), "above_greedy") for scale in scales)]
        for task, label in tasks.items()
    ]
    return table(["", *(f"scale {scale}" for scale in scales)], lines)


def state_costs() -> str:
    """Processor milliseconds of a state in training."""
    cells = recorded("tsp", "milliseconds of a state")
    first, second, whole, rate = dict.fromkeys(key[0] for key in cells)
    lines = [[name, cells[name, "before"], cells[name, "now"]] for name in (first, second)]
    lines.append([whole, *(f"{cells[whole, when]} ({cells[rate, when]} a second)" for when in ("before", "now"))])
    return table(["", "before", "now"], lines)


def _atsp(instances: str, method: str, digits: int = 2, of_limits: int | None = None) -> str:
    found = row("tsp/policies-atsp", instances=instances, method=method)
    return interval(found, "gap", digits, of_limits=of_limits)


def atsp_policies() -> str:
    """Gaps of `atsp-bq` with its earlier weights, and of rules by hand."""
    sizes = ("asymmetric 50", "asymmetric 100", "asymmetric 200")

    def tsplib(method: str) -> str:
        return number(row("tsp/policies-atsp", instances="TSPLIB", method=method)["gap"], 1)

    nearest = [number(row("tsp/policies-atsp", instances=size, method="nearest city")["gap"], 1) for size in sizes]
    lines = [
        ["nearest city", *nearest, tsplib("nearest city")],
        [
            "the arc of the assignment problem",
            *(_atsp(s, "assignment's arc", of_limits=1) for s in sizes),
            tsplib("assignment's arc"),
        ],
        ["least estimate (best rule)", *(_atsp(s, "least estimate") for s in sizes), bold(tsplib("least estimate"))],
        ["`atsp-bq` greedy, earlier weights", *(_atsp(s, "atsp-bq greedy") for s in sizes), tsplib("atsp-bq greedy")],
        ["`atsp-bq` beam of 16, earlier weights", *(bold(_atsp(s, "atsp-bq beam 16")) for s in sizes[:2]), "", ""],
    ]
    return table(["gap % (instances)", "N=50 (128)", "N=100 (128)", "N=200 (128)", "TSPLIB (17)"], lines)


def atsp_judged() -> str:
    """Gaps of `atsp-bq` as shipped, judged once."""
    small, large = "asymmetric 50", "asymmetric 100"

    def both(method: str) -> list[str]:
        return [_atsp(size, f"judged {method}") for size in (small, large)]

    beam = both("earlier weights beam 16")
    lines = [
        ["least estimate (best rule)", *both("least estimate")],
        ["`atsp-bq` greedy, earlier weights", "", _atsp(large, "judged earlier weights greedy")],
        ["`atsp-bq` greedy, as shipped", *both("as shipped greedy")],
        ["`atsp-bq` greedy, as shipped, minus the rule", *both("as shipped greedy less least estimate")],
        ["`atsp-bq` beam of 16, earlier weights", bold(beam[0]), beam[1]],
        ["`atsp-bq` beam of 16, as shipped", *map(bold, both("as shipped beam 16"))],
    ]
    return table(["gap %", "N=50", "N=100"], lines)


def atsp_features() -> str:
    """Gaps after short training with more and more features of the assignment problem."""
    names = {
        "raw costs": "costs",
        "reduced costs": "reduced costs instead",
        "+ assignment's arcs and cycles": "arcs and cycles of the assignment",
        "+ what actions make of it": "how each action changes them",
    }
    lines = [
        [label, interval(row("tsp/policies-atsp", instances="asymmetric 100", method=f"trained 300 steps: {name}"), "gap")]
        for name, label in names.items()
    ]
    return table(["features", "gap %"], lines)


def decoders_now() -> str:
    """Gaps of decoders with the shipped weights and features."""
    return recorded_table("tsp", "decoders with plane-far", "decoder")


def decoders() -> str:
    """Gaps of decoders at two numbers of network calls, and paired with the beam's."""
    labels = {
        "greedy": "greedy, once", "greedy from many starts": "greedy from many starts", "beam": "beam",
        "sampling": "sampling, temperature 0.5", "stochastic beam": "stochastic beam",
        "without replacement": "sampling without replacement", "Gumbel": "Gumbel tree search", "PUCT": "PUCT tree search",
    }  # fmt: skip
    kept = recorded("tsp", "intervals of decoders")
    lines = []
    for solver, label in labels.items():
        cells = []
        for calls in (1666, 6370):
            gap = number(row("tsp/decoders", solver=solver, iterations=calls)["mean_gap_percent"], 2)
            limits = kept.get((solver, f"{calls}"), "").partition(" ")[2]
            cells += [f"{bold(gap, solver in ('beam', 'greedy from many starts'))} {limits}".strip()]
            cells += [kept.get((solver, f"{calls}, less beam"), "")]
        lines.append([label, *cells])
    return table(["decoder", "gap, 17 times the states", "minus beam", "gap, 65 times the states", "minus beam"], lines)


def zero() -> str:
    """Gaps of MuZero and AlphaZero after 30 seconds of training, means and ranges over seeds."""
    labels = {"tsp": "TSP10", "toy-knapsack": "knapsack of 12 items"}
    lines = []
    for problem, label in labels.items():
        for recipe, name in (("alphazero", "AlphaZero"), ("muzero", "MuZero")):
            cells = []
            for decoder in ("greedy", "simulator", "model"):
                gaps = [each["gap_percent"] for each in rows("tsp/zero", problem=problem, recipe=recipe, decoder=decoder)]
                low, high = (number(pick(gaps, key=float), 2) for pick in (min, max)) if gaps else ("", "")
                cells.append(f"{number(mean(gaps), 2)} ({low} to {high})" if gaps else "")
            lines.append([f"{label}, {name}", *cells])
    return table(["", "greedy", "search in the simulator, 16 simulations", "search in the learned model, 16 simulations"], lines)


def training_options() -> str:
    """Greedy gaps in training with one and with four updates on the same episodes, means over seeds."""
    labels = {
        "off": "one update on the episodes of a step", "on": "mirror descent: 4 updates, `proximity=0.1`",
        "updates without proximity": "4 updates without the KL term",
    }  # fmt: skip
    steps = (1, 6, 11, 26, 56)
    lines = []
    for setting, label in labels.items():
        means = (mean(each["gap_percent"] for each in rows("tsp/learning-options", setting=setting, step=step)) for step in steps)
        lines.append([label, *(number(each, 1) for each in means)])
    return table(["", "step 1", *map(str, steps[1:])], lines)
