"""Instance and solution files: VRPLIB (also CVRPLIB's and PyVRP's dialects), Solomon, Li and Lim, JSON, VROOM; see formats.md."""

from __future__ import annotations

from pathlib import Path

from corl.files.opening import plain_name
from corl.files.text import Text
from corl.problems.vrp.formats import json_format, lilim, solomon, vrplib, vrplib_writing
from corl.problems.vrp.formats.vroom import reading as vroom
from corl.problems.vrp.formats.vroom import writing as vroom_writing
from corl.problems.vrp.instance import VrpInstance

__all__ = ["read_instance", "recognises", "write_instance"]


def recognises(head: str) -> bool:
    """Return whether this is the head of a VRPLIB, Solomon or Li and Lim file, of VROOM's JSON or our own ("problem": "vrp")."""
    return any(each.recognises(head) for each in (vrplib, solomon, lilim, json_format, vroom))


def read_instance(path: Path) -> VrpInstance:
    """Return the instance in a file; the content determines the format. Raises InputError or OSError."""
    text, stem = Text.read(path), plain_name(path).stem
    if text.content.lstrip().startswith("{"):
        if vroom.recognises(text.content[:4096]):
            return vroom.read_text(text, stem)
        return json_format.read_text(text, stem)
    if lilim.recognises(text.content[:4096]):
        return lilim.read_text(text, stem)
    return solomon.read_text(text, stem) if solomon.recognises(text.content[:4096]) else vrplib.read_text(text, stem)


def write_instance(instance: VrpInstance, path: Path) -> None:
    """Write VROOM's JSON (a name ending in .vroom.json), our own (.json) or VRPLIB. Raises UsageError.

    Of the last two, `read_instance` returns an identical instance; VROOM's jobs are optional.
    """
    if plain_name(path).name.lower().endswith(".vroom.json"):
        vroom_writing.write_instance(instance, path)
        return
    (json_format if plain_name(path).suffix.lower() == ".json" else vrplib_writing).write_instance(instance, path)
