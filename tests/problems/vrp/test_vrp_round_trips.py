"""Files of vehicle routing: what is written reads back, to the bit."""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from corl.errors import UsageError
from corl.problems.vrp.instance import Vehicles
from corl.problems.vrp.problem import Vrp

VRP = Vrp()


def same(a, b):
    """Whether two instances (or fleets) are the same to the bit."""
    for field in dataclasses.fields(a):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, Vehicles):
            assert same(one, other)
        elif isinstance(one, np.ndarray):
            assert np.array_equal(one, other), field.name
        else:
            assert (one is None and other is None) or one == other, field.name
    return True


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 10**6))
def test_written_instances_read_back(random_vrp, tmp_path_factory, seed):
    """JSON takes every kind of instance; VRPLIB says what it does not know, or gives the same back (types may be regrouped)."""
    instance, folder = random_vrp(seed), tmp_path_factory.getbasetemp()
    VRP.write(instance, folder / "a.json")
    assert same(instance, VRP.read(folder / "a.json"))
    refused = ""
    try:
        VRP.write(instance, folder / "a.vrp")
    except UsageError as error:
        refused = str(error)
    if refused:
        assert refused.startswith("VRPLIB's format does not know ") and refused.endswith("write a .json file")
        return
    found = VRP.read(folder / "a.vrp")
    assert found.vehicles.types <= instance.vehicles.types and np.array_equal(
        found.demand, instance.demand[_order(instance, found)]
    )
    if instance.vehicles.types == 1 and np.array_equal(instance.ids, found.ids):
        assert same(instance, found)


def _order(instance, found):
    place = {node: i for i, node in enumerate(instance.ids.tolist())}
    return [place[node] for node in found.ids.tolist()]
