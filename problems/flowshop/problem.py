"""FlowShop: the permutation flow shop for `corl` (files, judge, environment, drawings)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corl.adapter import Problem
from corl.errors import Infeasible, InputError, kind_of
from corl.files.json_instances import Field, plain
from corl.problems.flowshop.generators import GENERATORS
from corl.problems.flowshop.instance import FlowShopInstance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corl.problems.flowshop.environment import FlowShopEnvironment
    from corl.tokens import Tokens
    from corl.view.scene import Scene

__all__ = ["FlowShop"]

_ACCEPTED = "accepted: durations [jobs, machines], or an object with durations, and perhaps setups and objective"
_WARM_UP_SIZE = 6, 4  # jobs and machines of the instance on which kernels are compiled


def _jobs(observation: Mapping[str, Any]) -> Tokens:
    """See corl.problems.flowshop.features.jobs."""
    from corl.problems.flowshop.features import jobs

    return jobs(observation)


class FlowShop(Problem):
    """The permutation flow shop: makespan or total completion time, with sequence-dependent set-ups or without.

    A solution is an integer array: the jobs in the order in which every machine processes them. A module that only one method
    needs is imported inside that method, so that `import corl.problems.flowshop.problem` loads no third-party package but NumPy.
    """

    name = "flowshop"
    title = "permutation flow shop; makespan or total completion time, sequence-dependent set-ups"
    sense = "min"
    instance_type = FlowShopInstance
    generators = GENERATORS
    features = {"jobs": _jobs}  # noqa: RUF012

    def evaluate(self, instance: FlowShopInstance, solution: Any) -> float:
        """Return the makespan or the total completion time. Raises Infeasible unless `solution` has each job once."""
        from corl.problems.flowshop.evaluation import objective

        return objective(instance, solution)

    def recognises(self, head: str) -> bool:
        """Return whether `head`, the beginning of a file, looks like a flow shop in one of the text formats or in JSON."""
        from corl.problems.flowshop.formats import recognises

        return recognises(head)

    def read(self, path: Path) -> FlowShopInstance:
        """Return the instance in a file: Taillard's text, the text by jobs, or JSON. Raises InputError or OSError."""
        from corl.problems.flowshop.formats import read_instance

        return read_instance(path)

    def write(self, instance: FlowShopInstance, path: Path) -> None:
        """Write a file from which `read` returns an equal instance.

        A name in .json means JSON. For other names the format is Taillard's text, or JSON if Taillard's text cannot hold
        the instance.
        """
        from corl.problems.flowshop.formats import write_instance

        write_instance(instance, path)

    def adapt(self, data: Any) -> FlowShopInstance:
        """Return the instance of an array of durations [jobs, machines], or of an object with the layout of the JSON files.

        Raises InputError.
        """
        if isinstance(data, Mapping):
            from corl.problems.flowshop.formats import from_json_value

            return from_json_value(Field(plain(data)), "object")
        if not isinstance(data, (list, tuple, np.ndarray)):
            raise InputError(f"{kind_of(data)} is no flow shop; {_ACCEPTED}")
        return FlowShopInstance("array", data)  # type: ignore[arg-type]  # which __post_init__ checks

    def from_json(self, instance: FlowShopInstance, value: Any) -> NDArray[np.int64]:
        """Return the jobs of a solution, int64 [n]. Raises InputError unless `value` is a list of integers, Infeasible if a job
        does not exist.
        """
        if not isinstance(value, list) or not all(type(job) is int for job in value):
            raise InputError("accepted: a list of jobs, integers from 0", field="solution")
        if any(not 0 <= job < instance.jobs for job in value):
            raise Infeasible(f"accepted: jobs from 0 to {instance.jobs - 1}")
        return np.array(value, np.int64)

    def schemas(self) -> dict[str, dict[str, Any]]:
        """See Problem.schemas."""
        from corl.problems.flowshop.formats import SCHEMAS

        return SCHEMAS

    def describe(self, instance: FlowShopInstance) -> dict[str, Any]:
        """Return the facts about the instance that `corl info` prints."""
        facts: dict[str, Any] = {"objective": instance.objective, "jobs": instance.jobs, "machines": instance.machines}
        facts["durations"] = f"{instance.duration.min()} to {instance.duration.max()}"
        if instance.setup is not None:
            facts["set-ups"] = f"{instance.setup.min()} to {instance.setup.max()}"
        if instance.comment:
            facts["comment"] = " / ".join(instance.comment.splitlines())
        return facts

    def draw(self, instance: FlowShopInstance, solution: Any, axes: Axes) -> None:
        """Draw a Gantt chart, one row per machine and one colour per job; without a solution, the jobs in the file's order."""
        from corl.problems.flowshop.drawing import draw

        draw(instance, solution, axes)

    def view(self, instance: FlowShopInstance, solution: Any) -> Scene | None:
        """See `corl.adapter.Problem.view`."""
        from corl.problems.flowshop.drawing import scene

        return scene(instance, solution)

    def environment(
        self, instances: Sequence[FlowShopInstance], rows: int, width: int | None = None, name: str = ""
    ) -> FlowShopEnvironment:
        """Return an environment that builds sequences job by job: `rows` states of `instances`.

        Of the remaining jobs, the `width` with the smallest sums of durations are listed.
        """
        from corl.problems.flowshop.environment import FlowShopEnvironment

        self.environment_name(name)
        return FlowShopEnvironment(instances, rows) if width is None else FlowShopEnvironment(instances, rows, width)

    def decisions(self, instance: FlowShopInstance, solution: Any, key: int = 0, name: str = "") -> NDArray[np.int64]:
        """Return the actions that build a solution: its jobs, in order."""
        from corl.problems.flowshop.decisions import decisions

        self.environment_name(name)
        return decisions(instance, solution)

    def warm_up_instance(self, instance: FlowShopInstance) -> FlowShopInstance:
        """Return the instance of the first six jobs on the first four machines."""
        jobs, machines = min(_WARM_UP_SIZE[0], instance.jobs), min(_WARM_UP_SIZE[1], instance.machines)
        setup = instance.setup
        if setup is not None:
            setup = setup[:machines, np.append(np.arange(jobs), instance.jobs), :jobs]
        return replace(instance, duration=instance.duration[:jobs, :machines], setup=setup)
