"""Solver.prepare: every kernel is compiled, or loaded, before the clock starts."""

import subprocess
import sys

import pytest

from corl.problems.jobshop.generators import demirkol, flexible, taillard, tardiness
from corl.problems.jobshop.problem import JobShop
from corl.registry import solver
from corl.run import Run

INSTANCES = {
    "classic": lambda: taillard(jobs=10, machines=10),
    "large": lambda: demirkol(jobs=200, machines=5),
    "flexible": flexible,
    "flexible tardiness": lambda: flexible(tightness=1.3),
    "tardiness": tardiness,
}
OPTIONS = {"tabu": {"cut": 20, "population": 3}, "dispatch": {"noise": 0.3}, "cp-sat": {}, "cp-agent": {"rounds": 0}}


def compiled():
    """How many signatures each kernel of corl has in this process."""
    from numba.core.dispatcher import Dispatcher

    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("corl.")]
    kernels = {id(item): item for module in modules for item in vars(module).values() if isinstance(item, Dispatcher)}
    return {f"{kernel.__module__}.{kernel.__name__}": len(kernel.overloads) for kernel in kernels.values()}


def main(name, label):
    """Prepare and solve in this fresh process; print the kernels that came to be inside the clock."""
    instance, method = INSTANCES[label](), solver("jobshop", name)(**OPTIONS[name])
    if method.accepts(instance):
        return
    method.prepare(instance)
    before = compiled()
    run = Run(JobShop(), instance, time_limit=1.0)
    run.start()
    method.solve(instance, run)
    print(*sorted(kernel for kernel, count in compiled().items() if count > before.get(kernel, 0)))


@pytest.mark.long
@pytest.mark.parametrize("label", INSTANCES)
@pytest.mark.parametrize("name", OPTIONS)
def test_nothing_is_compiled_inside_the_clock(name, label):
    """After `prepare`, `solve` meets no kernel that is new to its process, through restarts and relinking."""
    done = subprocess.run([sys.executable, "-P", __file__, name, label], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
