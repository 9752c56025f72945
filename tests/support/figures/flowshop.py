"""Figures of the flow shop, ours and published."""

from __future__ import annotations

from .cells import figure, mean, number, recorded, row, rows, table

__all__ = ["makespan", "published", "setups", "summary", "total"]


def published() -> str:
    """Mean gaps that PyJobShop's experiments published."""
    cells = recorded("flowshop", "published, all instances")
    columns = ("instances", "CP-SAT", "CP Optimizer")
    names = dict.fromkeys(name for name, _ in cells)
    return table(["", *columns], ([name, *(cells[name, column] for column in columns)] for name in names))


def _ours(suite: str, size: str, limit: int, zeros: bool) -> str:
    gap_percent = row(f"flowshop/{suite}", group=size, time_limit=limit)["mean_gap_percent"]
    return "0" if not zeros and float(gap_percent) == 0 else number(gap_percent, 2)


def _suite(suite: str, head: str, longer: int, extra: dict[str, str], zeros: bool = False) -> str:
    theirs = recorded("flowshop", f"published, {suite}")
    lines = []
    for jobs, machines in ((20, (5, 10, 20)), (50, (5, 10, 20)), (100, (5, 10, 20))):
        lines.append(_sizes(suite, longer, [f"{jobs} x {each}" for each in machines], theirs, zeros))
    vrf = [f"100 x {each}, VRF" for each in (20, 40, 60)]
    for name, label in extra.items():
        if name == "VRF":
            names = [f"VRF {each.removesuffix(', VRF')}" for each in vrf]
            cells = [[theirs[each, column] for each in names] for column in ("CP Optimizer", "CP-SAT")]
            ours = [[_ours(suite, each, limit, zeros) for each in vrf] for limit in (5, longer)]
            lines.append([label, *(", ".join(each) for each in (*ours, *cells))])
        else:
            lines.append([label, *_whole(suite, name, longer), theirs[name, "CP Optimizer"], theirs[name, "CP-SAT"]])
    return table([head, "5 s", f"{longer} s", "CP Optimizer, 900 s x 8", "CP-SAT, 900 s x 8"], lines)


def _sizes(suite: str, longer: int, sizes: list[str], theirs: dict[tuple[str, str], str], zeros: bool) -> list[str]:
    ours = [[_ours(suite, size, limit, zeros) for size in sizes] for limit in (5, longer)]
    cells = [[theirs[size, column] for size in sizes] for column in ("CP Optimizer", "CP-SAT")]
    return [", ".join(sizes), *(", ".join(each) for each in (*ours, *cells))]


def _whole(suite: str, name: str, longer: int) -> list[str]:
    """Our mean gaps on all instances, or on Taillard's (those of the VRF set left out)."""
    if name == "all":
        return [figure(f"flowshop/{suite}", "mean_gap_percent", 2, group="all", time_limit=limit) for limit in (5, longer)]
    means = []
    for limit in (5, longer):
        every = rows(f"flowshop/{suite}", time_limit=limit)
        some = [each for each in every if each["group"] != "all" and "VRF" not in each["group"]]
        means.append(number(mean((each["mean_gap_percent"] for each in some), (each["runs"] for each in some)), 2))
    return means


def makespan() -> str:
    """Gaps of the makespan, ours and published."""
    return _suite("standard", "makespan", 20, {"VRF": "VRF 100 x 20, 100 x 40, 100 x 60", "all": "all 24"})


def total() -> str:
    """Gaps of the total completion time, ours and published."""
    extra = {"Taillard's 18": "Taillard's 18", "VRF": "VRF 100 x 20, 100 x 40, 100 x 60", "all": "all 24"}
    return _suite("total", "total completion time", 10, extra)


def setups() -> str:
    """Gaps of the makespan with set-ups, ours and published."""
    return _suite("setups", "makespan with set-ups (10, 50, 100, 125 together)", 10, {"all": "all 36"}, zeros=True)


def summary() -> str:
    """The mean gaps that the problem's page has."""
    lines = []
    for suite, name, label, count, longer in (
        ("standard", "all", "makespan", 24, 20),
        ("total", "Taillard's 18", "total completion time, Taillard's", 18, 10),
        ("setups", "all", "makespan with set-ups", 36, 10),
    ):
        theirs = recorded("flowshop", f"published, {suite}")
        short, long = _whole(suite, name, longer)
        lines.append([label, f"{count}", short, f"{long} ({longer} s)", theirs[name, "CP Optimizer"], theirs[name, "CP-SAT"]])
    return table(["", "instances", "5 s", "longer", "CP Optimizer", "CP-SAT"], lines)
