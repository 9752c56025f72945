"""corl.jit.kernel: a cache that follows edits anywhere in the package and leaves users' kernels alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time

MODULE = """
from corl.jit import kernel
from {package}.helper import double

@kernel
def twice(x):
    return double(x)
"""


def call(folder, package):
    """`twice(3)` in a fresh process with a cache of its own; returns what it printed."""
    environment = os.environ | {"PYTHONPATH": str(folder), "CORL_CACHE": str(folder / "cache")}
    code = f"from {package}.main import twice; print(twice(3))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_an_edited_helper_in_another_file_is_seen(tmp_path):
    """numba's own cache would go on returning the old value here."""
    package = tmp_path / "sample"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text(MODULE.format(package="sample"))
    helper = "from corl.jit import kernel\n@kernel\ndef double(x):\n    return {}\n"
    (package / "helper.py").write_text(helper.format("2 * x"))
    assert call(tmp_path, "sample") == "6"
    assert len(list((tmp_path / "cache" / "corl").iterdir())) == 1
    (package / "helper.py").write_text(helper.format("x + x + 1"))
    assert call(tmp_path, "sample") == "7"
    assert len(list((tmp_path / "cache" / "corl").iterdir())) == 2


def test_kernels_are_kept_on_disk(tmp_path, monkeypatch):
    """A kernel's machine code is in the cache folder after its first call, so that the next process loads it."""
    (tmp_path / "single.py").write_text("from corl.jit import kernel\n@kernel\ndef one(x):\n    return x + 1\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CORL_CACHE": str(tmp_path / "cache")}
    code = "import single; single.one(1); print(sum(single.one.stats.cache_hits.values()))"
    hits = [
        subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment).stdout.strip()
        for _ in range(2)
    ]
    assert hits == ["0", "1"]


def test_no_writable_cache_means_no_cache(tmp_path):
    """Without a folder to write (a read-only home, a user without one) kernels work, and nothing is written beside the source."""
    (tmp_path / "single.py").write_text("from corl.jit import kernel\n@kernel\ndef one(x):\n    return x + 1\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CORL_CACHE": os.devnull, "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import single; print(single.one(1))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout == "2\n" and not done.stderr, done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["single.py"]


def test_old_caches_are_removed_but_not_those_in_use(tmp_path):
    """Folders of earlier sources go, but the latest ones and those used within the hour stay."""
    from corl.jit import _prune

    now = time.time()
    for k in range(24):
        age = k if k < 12 else 1000 * k
        (tmp_path / f"{k:02}").mkdir()
        os.utime(tmp_path / f"{k:02}", (now - age, now - age))
    _prune(tmp_path)
    assert sorted(folder.name for folder in tmp_path.iterdir()) == [f"{k:02}" for k in range(12)]
    for k in range(12):
        os.utime(tmp_path / f"{k:02}", (now - 10_000 - k, now - 10_000 - k))
    _prune(tmp_path)
    assert sorted(folder.name for folder in tmp_path.iterdir()) == [f"{k:02}" for k in range(6)]


def test_users_settings_are_untouched():
    """Decorating leaves numba's cache folder as it was."""
    from numba.core import config

    from corl.jit import kernel

    before = config.CACHE_DIR

    @kernel
    def plain(x):
        return x

    after = config.CACHE_DIR
    assert after == before


def test_a_class_that_has_gone_does_not_break_a_kernel(tmp_path):
    """A kernel whose cache index names a class of a module that cannot be imported any more still runs, on other types too."""
    (tmp_path / "single.py").write_text("from corl.jit import kernel\n@kernel\ndef first(x):\n    return x[0]\n")
    (tmp_path / "gone.py").write_text("from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CORL_CACHE": str(tmp_path / "cache")}
    use = "import single, gone; print(single.first(gone.Pair(5, 6)))"
    other = "import single; print(single.first((7.0, 8.0)))"
    printed = []
    for code in (use, other):
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.strip())
        (tmp_path / "gone.py").unlink(missing_ok=True)
    assert printed == ["5", "7.0"]
