"""Solver.prepare: every kernel is compiled, or loaded, before the clock starts."""

import subprocess
import sys

import numpy as np
import pytest

from corl.problems.tsp.problem import Tsp
from corl.registry import solver
from corl.run import Run


def instances():
    """Each kind of instance at sizes that take different branches: (label, data)."""
    random = np.random.default_rng(0)
    for n in (11, 700):
        yield f"plane-{n}", random.random((n, 2))
        matrix = random.random((n, n))
        yield f"matrix-{n}", matrix + matrix.T
        yield f"asymmetric-{n}", matrix
    yield "matrix-40", matrix[:40, :40] + matrix[:40, :40].T
    yield "space-700", random.random((700, 3))
    yield "same-40", np.zeros((40, 2))
    yield "plane-21000", random.random((21_000, 2))


def compiled():
    """How many signatures each kernel of corl has in this process."""
    from numba.core.dispatcher import Dispatcher

    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("corl.")]
    kernels = {id(item): item for module in modules for item in vars(module).values() if isinstance(item, Dispatcher)}
    return {f"{kernel.__module__}.{kernel.__name__}": len(kernel.overloads) for kernel in kernels.values()}


def main(name, label):
    """Prepare and solve in this fresh process; print the kernels that came to be inside the clock."""
    instance, method = Tsp().adapt(dict(instances())[label]), solver("tsp", name)()
    if method.accepts(instance):
        return
    method.prepare(instance)
    before = compiled()
    run = Run(Tsp(), instance, time_limit=0.5)
    run.start()
    method.solve(instance, run)
    print(*sorted(kernel for kernel, count in compiled().items() if count > before.get(kernel, 0)))


@pytest.mark.long
@pytest.mark.parametrize("label", [label for label, _ in instances()])
@pytest.mark.parametrize("name", ["eax", "exact", "greedy-edge", "ils"])
def test_nothing_is_compiled_inside_the_clock(name, label):
    """After `prepare`, `solve` meets no kernel that is new to its process, whatever the kind and size of the instance."""
    done = subprocess.run([sys.executable, __file__, name, label], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
