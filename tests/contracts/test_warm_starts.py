"""What `solve` returned is taken as a warm start by every problem, in every form that it can be held in."""

from __future__ import annotations

import json

import pytest
from families import small
from specimen import named_cheap

import corl
from corl import UsageError, registry


def started(name):
    """Instances with Results of them, by the problem's cheap solver."""
    for instance in small(name)[:4]:
        try:
            result = corl.solve(instance, problem=name, solver=named_cheap(name), time_limit=20)
        except UsageError:  # the cheap solver does not take it
            continue
        if result.solution is not None:
            yield instance, result


NAMES = [pytest.param(name, marks=pytest.mark.long if name in ("vrp", "orienteering") else ()) for name in registry.problems()]
"""Those whose cheapest solver has many kernels are for the long suite."""


@pytest.mark.parametrize("name", NAMES)
def test_every_form_is_a_start(name):
    """A Result, its solution, the JSON of either and a Result read without its instance: each is judged as good as it was."""
    from corl.warm_starts import warm_start

    count = 0
    for instance, result in started(name):
        problem = registry.problem(name).with_sense_of(instance)
        forms = [
            result, result.solution, problem.to_json(instance, result.solution), result.to_json(), json.loads(result.to_json()),
            corl.Result.from_json(result.to_json()),
        ]  # fmt: skip
        for form in forms:
            assert problem.evaluate(instance, warm_start(problem, instance, form)) == result.objective, type(form)
        count += 1
    assert count, "no small instance is solved"


@pytest.mark.parametrize("name", registry.problems())
def test_what_is_no_solution_is_refused(name):
    """One line that names the argument."""
    from corl.warm_starts import warm_start

    instance = small(name)[0]
    problem = registry.problem(name).with_sense_of(instance)
    for form in ([[["x"]]], {"no": "solution"}, 7, object(), '{"problem": "none", "solution": 1}', '["x"]'):
        with pytest.raises(UsageError, match="warm_start: ") as caught:
            warm_start(problem, instance, form)
        assert "\n" not in str(caught.value)
