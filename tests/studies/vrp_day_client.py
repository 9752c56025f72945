"""A policy as a client of the controller of EURO meets NeurIPS 2022.

    cd QUICKSTART; python controller.py --instance FILE --instance_seed 1 --epoch_tlim 120 -- python .../vrp_day_client.py greedy

The controller writes what it reveals to our standard input, and reads the routes from our standard output, one JSON a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.online.epochs import Requests, departure
from corl.problems.vrp.online.situation import Situation


def customers_of(context: dict[str, Any]) -> VrpInstance:
    """Return the customers that the competition's environment reveals at the beginning."""
    windows = np.asarray(context["time_windows"], float)
    return VrpInstance(
        name="customers",
        edge_weight_type="EXPLICIT",
        demand=np.asarray(context["demands"], float),
        vehicles=Vehicles(np.array([float(context["capacity"])])),
        matrix=np.asarray(context["duration_matrix"], float),
        earliest=windows[:, 0],
        latest=windows[:, 1],
        service=np.asarray(context["service_times"], float),
    )


def situation_of(customers: VrpInstance, observation: dict[str, Any], last: int) -> tuple[np.ndarray, Situation]:
    """Return the ids of the waiting requests, int [R], and the situation, from an observation.

    The observation's times begin at the departure.
    """
    found = {key: np.asarray(value) for key, value in observation["epoch_instance"].items()}
    epoch = int(observation["current_epoch"])
    windows = found["time_windows"][1:] + departure(epoch)
    requests = Requests(
        found["customer_idx"][1:], found["demands"][1:].astype(float), windows[:, 0], windows[:, 1],
        found["service_times"][1:].astype(float),
    )  # fmt: skip
    return found["request_idx"][1:], Situation(customers, epoch, last, requests, found["must_dispatch"][1:].astype(bool))


def main() -> None:
    from vrp_day import policy_of

    policy, seconds = policy_of(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
    replies = _replies()
    print(json.dumps({"action": "reset"}), flush=True)
    reply = next(replies)
    customers, last = customers_of(reply["info"]["dynamic_context"]), int(reply["info"]["end_epoch"])
    policy.prepare(customers)
    done, observation = False, reply["observation"]
    while not done:
        ids, now = situation_of(customers, observation, last)
        routes = [ids[route].tolist() for route in policy.routes(now, seconds, now.epoch)]
        print(json.dumps({"action": "step", "data": routes}), flush=True)
        reply = next(replies)
        done, observation = reply["done"], reply["observation"]
        if reply["info"]["error"] is not None:
            raise SystemExit(reply["info"]["error"])


def _replies() -> Iterator[Any]:
    """Yield the controller's lines."""
    for line in sys.stdin:
        yield json.loads(line)


if __name__ == "__main__":
    main()
