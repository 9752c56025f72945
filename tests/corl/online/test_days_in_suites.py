"""`corl bench` over days: policies are solvers `online` with a label each, paired on equal days."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from corl.store import Store
from support import counter

SUITE = """
problem = "counter"
time_limits = [20]
seeds = 2

[[instances]]
generate = "random"
seeds = [1, 2]

[[solvers]]
solver = "online"
label = "fifo"
options = { policy = "fifo" }

[[solvers]]
solver = "online"
label = "resolve"
options = { policy = "resolve", policy_options = "solver=orders,iterations=20" }
"""


def test_policies_are_compared_on_equal_days(tmp_path):
    """Every policy plays every day with every seed; `corl compare` pairs them."""
    shutil.copy(counter.__file__, tmp_path / "counter.py")
    info = tmp_path / "counter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counter\nVersion: 1.0\n", encoding="utf-8")
    groups = sorted({group for group, _ in counter.ENTRIES})
    lines = [[f"[{g}]", *(f"{name} = counter:{kind}" for (of, name), kind in counter.ENTRIES.items() if of == g)] for g in groups]
    (info / "entry_points.txt").write_text("\n".join(line for group in lines for line in group) + "\n", encoding="utf-8")
    (tmp_path / "days.toml").write_text(SUITE, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])}

    def corl(*words: str) -> str:
        command = [sys.executable, "-P", "-m", "corl", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "8 ok" in corl("bench", "days.toml")
    with Store(tmp_path / "days.db") as store:
        records = store.records()
    assert {(each.solver, each.instance, each.seed) for each in records} == {
        (solver, f"random-{day}", seed) for solver in ("fifo", "resolve") for day in (1, 2) for seed in (0, 1)
    }
    assert "fifo" in corl("compare", "days.db", "fifo", "resolve")
