"""Solver.prepare: every kernel of ruin and recreate is compiled, or loaded, before the clock starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FEATURES = ("plain", "matrix", "windows", "all", "fewest")


def compiled():
    """How many signatures each kernel of corl has in this process."""
    from numba.core.dispatcher import Dispatcher

    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith("corl.")]
    kernels = {id(item): item for module in modules for item in vars(module).values() if isinstance(item, Dispatcher)}
    return {f"{kernel.__module__}.{kernel.__name__}": len(kernel.overloads) for kernel in kernels.values()}


def main(feature):
    """Prepare and solve in this fresh process; print the kernels that came to be inside the clock."""
    from corl.problems.vrp.problem import Vrp
    from corl.run import Run
    from corl.solvers.vrp.ruin.solver import RuinRecreate

    sys.path.append(str(Path(__file__).resolve().parents[2]))  # behind corl, which tests/corl would shadow
    from support.families.vrp_features import make_instance

    instance, method = make_instance(feature, 30, 1), RuinRecreate()
    method.prepare(instance)
    before, solution = compiled(), None
    for _ in range(2):
        run = Run(Vrp(), instance, iterations=300, warm_start=solution)
        run.start()
        method.solve(instance, run)
        solution = run.solution
    print(*sorted(kernel for kernel, count in compiled().items() if count > before.get(kernel, 0)))


@pytest.mark.long
@pytest.mark.parametrize("feature", FEATURES)
def test_nothing_is_compiled_inside_the_clock(feature):
    """After `prepare`, `solve` meets no kernel that is new to its process, from the user's routes too."""
    done = subprocess.run([sys.executable, "-P", __file__, feature], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.strip()


if __name__ == "__main__":
    main(sys.argv[1])
