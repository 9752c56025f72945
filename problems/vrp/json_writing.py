"""Writing instances as JSON (json_format.py reads them)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from corl.problems.vrp.instance import VrpInstance

__all__ = ["write_instance"]


def write_instance(instance: VrpInstance, path: str | Path) -> None:
    """Write JSON that reads back to the bit (with a `speed` other than 1: times to the last but one)."""
    lines = [f' "{key}": {json.dumps(value)}' for key, value in _facts(instance).items()]
    for key, objects in (
        ("depots", _nodes(instance, True)),
        ("clients", _nodes(instance, False)),
        ("vehicles", _types(instance)),
    ):
        lines.append(f' "{key}": [\n  ' + ",\n  ".join(map(json.dumps, objects)) + "\n ]")
    Path(path).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _facts(instance: VrpInstance) -> dict[str, Any]:
    kind = instance.edge_weight_type
    facts: dict[str, Any] = {"problem": "vrp", "name": instance.name}
    facts |= {"comment": instance.comment} if instance.comment else {}
    facts |= {"units": dict(zip(("distance", "time", "load"), instance.units))} if any(instance.units) else {}
    facts |= {"speed": instance.speed} if instance.speed != 1.0 else {}
    facts |= {"fleet": instance.fleet} if instance.fleet != "distance" else {}
    if instance.matrix is not None:
        return facts | {"matrix": instance.matrix.tolist()}
    return facts | ({"edge_weight_type": "EUC_2D", "rounding": "dimacs"} if kind == "TENTHS_2D" else {"edge_weight_type": kind})


def _nodes(instance: VrpInstance, depots: bool) -> list[dict[str, Any]]:
    time, found = instance.speed * instance.scale, []
    for i in range(instance.depots) if depots else range(instance.depots, instance.n):
        node: dict[str, Any] = {"id": int(instance.ids[i])}
        if instance.points is not None:
            node |= dict(zip("xyz", instance.points[i].tolist()))
            node |= {"at": instance.display[i].tolist()} if instance.display is not None else {}
        elif instance.display is not None:
            node |= dict(zip("xy", instance.display[i].tolist()))
        if not depots:
            node["demand"] = float(instance.demand[i])
        if instance.earliest is not None and instance.latest is not None:
            node["window"] = [float(instance.earliest[i] / time), _finite(instance.latest[i] / time)]
        if instance.service is not None and not depots:
            node["service"] = float(instance.service[i] / time)
        if not depots and (instance.prize[i] or not instance.required[i]):
            node |= {"prize": float(instance.prize[i] / instance.scale), "required": bool(instance.required[i])}
        found.append(node)
    return found


def _types(instance: VrpInstance) -> list[dict[str, Any]]:
    vehicles, scale, found = instance.vehicles, instance.scale, []
    factors = {
        "capacity": 1.0,
        "fixed_cost": scale,
        "unit_cost": 1.0,
        "max_distance": scale,
        "max_duration": scale * instance.speed,
    }
    for k in range(vehicles.types):
        each = {key: _finite(getattr(vehicles, key)[k] / factor) for key, factor in factors.items()}
        each = {key: value for key, value in each.items() if value is not None}
        each |= {"count": int(vehicles.count[k])} if vehicles.count[k] >= 0 else {}
        if instance.depots > 1:
            each |= {"depot": int(instance.ids[vehicles.start[k]]), "end_depot": int(instance.ids[vehicles.end[k]])}
        found.append(each)
    return found


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
