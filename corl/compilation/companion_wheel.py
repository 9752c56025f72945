"""`corl warm-up --wheel FOLDER`: compile the recorded kernels for the package corl_kernels, and write its wheel."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from corl.compilation import companion
from corl.errors import UsageError
from corl.version import DISTRIBUTION, __version__

__all__ = ["write_wheel"]


def write_wheel(problems: Sequence[str], folder: Path) -> Path | None:
    """Compile the kernels of the problems' solvers, and write a wheel with them to a folder; return its path.

    Returns None if the compilation fails. Raises UsageError on other systems than Linux on x86-64.
    """
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise UsageError(f"--wheel: {platform.platform()} is not accepted; accepted: Linux on x86-64")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        package = Path(scratch) / companion.PACKAGE
        environment = os.environ | companion.ENVIRONMENT | {"CORL_CACHE": f"{scratch}/cache"}
        command = [sys.executable, "-P", "-m", "corl.compilation.companion_wheel", str(package), *problems]
        if subprocess.run(command, env=environment).returncode:
            return None
        return _packed(package, folder)


def _packed(package: Path, folder: Path) -> Path:
    """Write the wheel of a package, in the format of PEP 427."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    name = f"{DISTRIBUTION.replace('-', '_')}_kernels-{__version__}"
    wheel, information = folder / f"{name}-{python}-none-linux_x86_64.whl", f"{name}.dist-info"
    versions = companion.versions()
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {DISTRIBUTION}-kernels",
        f"Version: {__version__}",
        f"Summary: Kernels of {DISTRIBUTION}, compiled for {companion.LEVEL}",
        f"Requires-Dist: {DISTRIBUTION}=={__version__}",
        *(f"Requires-Dist: {each}=={versions[each]}" for each in ("numba", "llvmlite")),
    ]
    tag = ["Wheel-Version: 1.0", f"Generator: {DISTRIBUTION}", "Root-Is-Purelib: false", f"Tag: {python}-none-linux_x86_64"]
    contents = {str(file.relative_to(package.parent)): file.read_bytes() for file in sorted(package.rglob("*")) if file.is_file()}
    for file, lines in (("METADATA", metadata), ("WHEEL", tag)):
        contents[f"{information}/{file}"] = ("\n".join(lines) + "\n").encode()
    record = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in contents.items()]
    contents[f"{information}/RECORD"] = "\n".join([*record, f"{information}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return wheel


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main() -> None:
    """Compile the kernels of some problems in this process, whose environment is companion.ENVIRONMENT, and store the package."""
    from corl.compilation import cache, precompile
    from corl.compilation.announcing import announce

    package, problems = Path(sys.argv[1]), sys.argv[2:]
    records = precompile.records_of(problems)
    precompile.compile_ahead(records, lambda count, seconds: announce(f"{count} kernels to compile, about {seconds:.0f} s"))
    sources = {}
    for job in precompile.listed(records):
        module = job.kernel.py_func.__module__
        job.cache.copy(job.types, package / module)
        sources[module] = cache.sources_digest(module)
    (package / "__init__.py").write_text(f'"""Kernels of {DISTRIBUTION}, compiled for {companion.LEVEL}."""\n')
    manifest = {"versions": companion.versions(), "sources": dict(sorted(sources.items()))}
    (package / companion.MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
