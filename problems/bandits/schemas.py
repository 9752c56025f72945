"""JSON schemas of restless bandits, in our layout and the published one, and of policies."""

from corl.files.json_schemas import TEXT, Schema, array, choice, constant, document, either, integer, number, record
from corl.problems.bandits.constraints import KINDS
from corl.problems.bandits.constraints.constraint import LARGEST_INTEGER
from corl.problems.bandits.instance import LARGEST

__all__ = ["SCHEMAS"]

_COUNT = integer(0, LARGEST_INTEGER)
_COSTS = array(integer(1, LARGEST_INTEGER), 1)
_LISTS = array(array(integer(0)))
_PAIRS = array(array(integer(), 2, 2))
_NUMBERS: dict[str, tuple[dict[str, Schema], dict[str, Schema]]] = {
    "budget": ({"budget": integer()}, {"costs": _COSTS}),
    "capacity": ({"costs": _COSTS, "capacities": array(_COUNT, 1)}, {}),
    "scheduling": ({"slots": integer(1), "arm_slots": _LISTS, "worker_slots": _LISTS, "budget": integer()}, {}),
    "routing": ({"edges": _PAIRS, "source": integer(), "length": integer(), "budget": integer()}, {}),
    "interventions": ({"count": _COUNT, "touching": _LISTS, "budget": integer()}, {}),
}
"""Of each kind of constraint what must be there and what may."""
_REWARDS = array(array(number(-LARGEST, LARGEST), 1), 1)
_CHANCES = array(array(array(number(), 1), 1), 1)
_OURS = record(
    {
        "format": constant("corl-bandits-1"),
        "constraint": either(*(record({"kind": constant(kind), **_NUMBERS[kind][0]}, _NUMBERS[kind][1]) for kind in KINDS)),
        "arms": array(record({"transitions": _CHANCES, "rewards": _REWARDS}), 1),
        "initial": array(array(_COUNT, 1), 1),
    },
    {"problem": constant("bandits"), "name": TEXT, "comment": TEXT, "horizon": _COUNT, "discount": number(), "seed": _COUNT},
)
_PUBLISHED: Schema = {  # with more keys than are read
    "type": "object",
    "properties": {
        "format": constant("cormab-0"), "kind": choice(("constrained", "scheduling", "routing")), "init_states": array(TEXT, 1),
        "p_up": array(array(number(), 2, 2), 1), "state_reward": array(array(number(), 1), 1), "seed": _COUNT, "horizon": _COUNT,
        "budget": integer(), "arm_costs": _COSTS, "worker_capacity": array(_COUNT, 1), "n_timeslots": integer(1),
        "arm_avail": _LISTS, "worker_avail": _LISTS, "edges": _PAIRS, "source": integer(), "max_path_length": integer(),
    },
    "required": ["format", "p_up", "state_reward", "init_states", "kind"],
}  # fmt: skip
_POLICY: Schema = {
    "type": "object",
    "properties": {"policy": {"type": "object", "properties": {"kind": TEXT}, "required": ["kind"]}},
    "required": ["policy"],
}
SCHEMAS = {
    "instance": document("corl bandits instance", either(_OURS, _PUBLISHED)),
    "solution": document("corl bandits policy, what it earned and its interval", _POLICY),
}
