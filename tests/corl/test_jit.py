"""corl.jit.kernel: a cache that follows edits anywhere in the package and leaves users' kernels alone."""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import pytest

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
    assert len(list((tmp_path / "cache" / "corl" / "sample.main").iterdir())) == 1
    (package / "helper.py").write_text(helper.format("x + x + 1"))
    assert call(tmp_path, "sample") == "7"
    assert len(list((tmp_path / "cache" / "corl" / "sample.main").iterdir())) == 2


@pytest.mark.long
def test_checked_kernels_are_kept_apart(tmp_path, monkeypatch):
    """What was compiled without checks of indices does not pass for what NUMBA_BOUNDSCHECK asks for."""
    package = tmp_path / "sample"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text(MODULE.format(package="sample"))
    body = "@kernel\ndef double(x):\n    return 2 * x + 0 * np.arange(4)[x + 1]\n"
    (package / "helper.py").write_text(f"import numpy as np\nfrom corl.jit import kernel\n{body}")
    assert call(tmp_path, "sample") == "6"
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    with pytest.raises(AssertionError, match="out of bounds"):
        call(tmp_path, "sample")


def test_an_edit_compiles_anew_what_depends_on_it():
    """A module's kernels belong to the files that it imports, and, where it reaches a hook, to all that attach to one."""
    from corl.compilation import sources

    def reached(module):
        return {"/".join(file.parts[-2:]) for file in sources.reached(module)}

    assert {"corl/rng.py", "ruin/strings.py"} <= reached("corl.solvers.vrp.ruin.search")
    assert not {"corl/solving.py", "tsp/transitions.py", "vrp/transitions.py"} & reached("corl.solvers.vrp.ruin.search")
    assert {"tsp/transitions.py", "vrp/transitions.py"} <= reached("corl.search.gumbel")


@pytest.mark.long
def test_checkouts_share_their_kernels(tmp_path):
    """Equal sources elsewhere find the machine code that was kept."""
    environment = os.environ | {"CORL_CACHE": str(tmp_path / "cache")}
    code = "import single; single.one(1); print(sum(single.one.stats.cache_hits.values()))"
    hits = []
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "single.py").write_text("from corl.jit import kernel\n@kernel\ndef one(x):\n    return x + 1\n")
        environment["PYTHONPATH"] = str(tmp_path / place)
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
        hits.append(done.stdout.strip())
    assert hits == ["0", "1"]


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
    assert done.stdout == "2\n" and done.stderr.count("\n") == 1 and "kernels cannot be cached" in done.stderr, done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["single.py"]


TWO = "from corl.jit import kernel\n@kernel\ndef one(x):\n    return x + 1\n@kernel\ndef two(x):\n    return x + 2\n"
USE = """
import logging; logging.basicConfig(format="%(message)s")
logging.getLogger("corl").setLevel(logging.WARNING)  # a slow machine announces compilations
import double
print(double.one(1), double.two(1), double.one(1.5), *(sum(f.stats.cache_hits.values()) for f in (double.one, double.two)))
"""


def use(place, **options):
    """Call two kernels in a new process: how often the cache in `place` served, and what was logged."""
    environment = os.environ | {"PYTHONPATH": str(place), "CORL_CACHE": str(place / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-P", "-c", USE], capture_output=True, text=True, env=environment, **options)
    assert done.returncode == 0, done.stderr
    *values, one, two = done.stdout.split()
    assert values == ["2", "3", "2.5"]
    return int(one) + int(two), done.stderr


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A place with a module of two kernels and a cache of their machine code."""
    place = tmp_path_factory.mktemp("filled")
    (place / "double.py").write_text(TWO)
    assert use(place) == (0, "") and use(place) == (3, "")
    return place


@pytest.fixture
def kept(filled, tmp_path):
    """A copy of that place, and the folder of its machine code."""
    place = shutil.copytree(filled, tmp_path / "place")
    return place, next((place / "cache" / "corl" / "double").iterdir())


def damaged(folder, how):
    """Damage what is kept of the kernels."""
    first, second, other = sorted(folder.glob("*.one-*.nbc")) + sorted(folder.glob("*.two-*.nbc"))
    content = first.read_bytes()
    if how == "truncated":
        first.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        first.write_bytes(b"")
    elif how == "a flipped bit":
        first.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
    elif how == "of another kernel":
        first.write_bytes(other.read_bytes())
    elif how == "of other types":
        first.write_bytes(second.read_bytes())
    elif how == "a pickle of somebody":
        first.write_bytes(b"cos\nabort\n(tR.")
    else:
        index, others = next(folder.glob("*.one-*.nbi")), next(folder.glob("*.two-*.nbi"))
        index.write_bytes(index.read_bytes()[:-5] if how == "index truncated" else others.read_bytes())


@pytest.mark.parametrize(
    "how",
    [
        "truncated",
        *(pytest.param(how, marks=pytest.mark.long) for how in (
            "of another kernel", "empty", "a flipped bit",
            "of other types", "a pickle of somebody", "index truncated", "index of another kernel",
        )),
    ],
)  # fmt: skip
def test_damaged_machine_code_is_compiled_again(kept, how):
    """Whatever became of a file, kernels give what they give; a line says so, and the next process finds all of it whole."""
    place, folder = kept
    damaged(folder, how)
    hits, said = use(place)
    assert hits < 3 and ("index" in how or (said.count("\n") == 1 and "damaged" in said)), said
    assert use(place) == (3, "")


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX modes")
@pytest.mark.parametrize("level", [3, *(pytest.param(level, marks=pytest.mark.long) for level in (0, 1, 2))])
def test_what_others_may_write_is_not_unpickled(kept, level):
    """A cache, a folder in it or a file that others may write to is not read; a line says which."""
    place, folder = kept
    wide = [folder.parents[1], folder.parent, folder, next(folder.glob("*.one-*.nbc"))][level]
    wide.chmod(wide.stat().st_mode | 0o020)
    hits, said = use(place)
    assert hits == (0 if level < 3 else 2) and said.count("\n") == 1 and f"{wide} is not used" in said, said
    wide.chmod(wide.stat().st_mode & ~0o022)
    assert use(place) == (3, "")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX modes")
def test_a_new_cache_is_the_users_own(kept):
    """Whatever the umask."""
    place, folder = kept
    shutil.rmtree(folder.parents[1])
    assert use(place, umask=0) == (0, "") and use(place) == (3, "")
    assert [level.stat().st_mode & 0o777 for level in (folder, folder.parent, folder.parents[1])] == [0o755] * 3


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX limits of file sizes")
def test_a_full_disk(kept):
    """Kernels are compiled for the process, a line says so; with room again they are kept."""
    import resource

    place, folder = kept
    for file in folder.iterdir():
        file.unlink()
    hits, said = use(place, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert hits == 0 and said.count("\n") == 1 and "kernels cannot be cached (File too large)" in said, said
    assert use(place) == (0, "") and use(place) == (3, "")


def test_old_caches_are_removed_but_not_those_in_use(tmp_path):
    """Folders of earlier sources go, but the latest ones and those used within the hour stay."""
    from corl.compilation.cache import _prune

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


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_kernel_broken(tmp_path, monkeypatch, how):
    """Ctrl-C, or the command's SIGTERM, in the middle of a compilation waits for the innermost kernel, which is then whole.

    The kernels around it start afresh.
    """
    from numba.core import event

    from corl.cli.main import _terminable

    source = """
        from corl.jit import kernel

        @kernel
        def inner(x):
            return x + 1

        @kernel
        def outer(x):
            return inner(x) + 1
    """
    name = f"pair_{how.name.lower()}"
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("CORL_CACHE", str(tmp_path / "cache"))  # nothing is compiled in it
    pair = importlib.import_module(name)

    class Signal(event.Listener):
        def on_start(self, found):
            if found.data["dispatcher"] is pair.inner:
                signal.raise_signal(how)

        def on_end(self, found):
            pass

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with event.install_listener("numba:compile", Signal()), pytest.raises(KeyboardInterrupt), _terminable():
        pair.outer(1)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert len(pair.inner.signatures) == 1 and not pair.outer.signatures
    assert pair.outer(1) == 3


@pytest.mark.long
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
