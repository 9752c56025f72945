"""Episodes: what happened at each node of one SCIP tree, for training, in memory and as .npz files.

A node is recorded when a branching rule is asked about it, in the order of the questions; node k's candidates are
first[k]:first[k + 1] of the arrays with one entry a candidate. The tree is in `parent`; `branched_on` of a node names what its
parent branched on, so that a choice which SCIP's own rule made is known from the children.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.files import reading, replacing
from corl.solvers.milp import scip_functions as scip
from corl.solvers.milp.branching_features import FEATURES

__all__ = ["Episode", "Recorder", "read_episode", "write_episode"]

_ACCEPTED = "accepted: an episode of corl, .npz"


@dataclass(frozen=True, eq=False)
class Episode:
    """N nodes with K candidates in all; the objective is minimised (SCIP's sense)."""

    node: NDArray[np.int64]
    """[N], SCIP's numbers."""
    parent: NDArray[np.int64]
    """[N], SCIP's number of the parent; -1: none."""
    depth: NDArray[np.int32]
    """[N]"""
    lp_objective: NDArray[np.float64]
    """[N], the LP's value before branching."""
    bound: NDArray[np.float64]
    """[N], the whole tree's lower bound."""
    cutoff: NDArray[np.float64]
    """[N], nodes from this value on are cut off; inf before the first solution."""
    branched_on: NDArray[np.int32]
    """[N], the variable that the parent branched on, as in `candidate`; -1 at the root and where several bounds changed."""
    choice: NDArray[np.int32]
    """[N], the place among the node's candidates of what was branched on; -1 where SCIP's own rule was left to choose."""
    first: NDArray[np.int64]
    """[N + 1]"""
    candidate: NDArray[np.int32]
    """[K], the variable's index among those of the presolved program."""
    features: NDArray[np.float32]
    """[K, 40], `branching_features.FEATURES`."""
    score: NDArray[np.float32]
    """[K], log of the product of strong branching's two gains; NaN where it was not asked."""

    def __post_init__(self) -> None:
        nodes, total = len(self.node), len(self.candidate)
        first, sized = self.first, all(len(getattr(self, name)) == nodes for name in _PER_NODE)
        if not sized or len(first) != nodes + 1 or first[0] != 0 or first[-1] != total or (np.diff(first) < 0).any():
            raise InputError(f"arrays whose lengths do not fit each other; {_ACCEPTED}", field="first")
        if self.features.shape != (total, len(FEATURES)) or len(self.score) != total:
            raise InputError(f"{self.features.shape}; accepted: a line of {len(FEATURES)} for each candidate", field="features")

    def labelled(self) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """(features [k, 40], scores [k]) of the nodes with strong branching's labels, and of the candidates that have one."""
        found = []
        for a, b in zip(self.first[:-1].tolist(), self.first[1:].tolist()):
            asked = np.isfinite(self.score[a:b])
            if asked.any():
                found.append((self.features[a:b][asked], self.score[a:b][asked]))
        return found


_PER_NODE = {
    "node": np.int64, "parent": np.int64, "depth": np.int32, "lp_objective": np.float64, "bound": np.float64,
    "cutoff": np.float64, "branched_on": np.int32, "choice": np.int32,
}  # fmt: skip


class Recorder:
    """Collects an Episode in the callbacks of one solve."""

    def __init__(self) -> None:
        self._nodes: list[tuple[Any, ...]] = []
        self._features: list[NDArray[np.float32]] = []
        self._scores: list[NDArray[np.float32]] = []
        self._candidates: list[list[int]] = []

    def add(
        self,
        model: Any,
        variables: NDArray[np.int64],
        features: NDArray[Any],
        choice: int = -1,
        scores: NDArray[Any] | None = None,
    ) -> None:
        """The present node of a pyscipopt Model: candidates (pointers), their features, what is branched on, labels if any."""
        node = model.getCurrentNode()
        parent, branchings = node.getParent(), node.getParentBranchings()
        on = _index(branchings[0][0].ptr()) if branchings and len(branchings[0]) == 1 else -1
        self._nodes.append((
            node.getNumber(), parent.getNumber() if parent is not None else -1, node.getDepth(), model.getLPObjVal(),
            model.getLowerbound(), _unlimited(model.getCutoffbound()), on, choice,
        ))  # fmt: skip
        self._features.append(np.asarray(features, np.float32))
        self._candidates.append([_index(variable) for variable in variables.tolist()])
        blank = np.full(len(variables), np.nan, np.float32)
        self._scores.append(blank if scores is None else np.asarray(scores, np.float32))

    def episode(self) -> Episode:
        """What was collected so far."""
        columns = list(zip(*self._nodes)) or [()] * len(_PER_NODE)
        per_node: dict[str, Any] = {name: np.array(column, dtype) for (name, dtype), column in zip(_PER_NODE.items(), columns)}
        return Episode(
            **per_node,
            first=np.cumsum([0, *(len(part) for part in self._candidates)]),
            candidate=np.array([index for part in self._candidates for index in part], np.int32),
            features=np.concatenate([np.zeros((0, len(FEATURES)), np.float32), *self._features]),
            score=np.concatenate([np.zeros(0, np.float32), *self._scores]),
        )


def _index(variable: int) -> int:
    """Of a SCIP_VAR* among the active variables of the presolved program."""
    return scip.call("SCIPvarGetProbindex", variable)


def _unlimited(value: float) -> float:
    return np.inf if value >= 1e20 else float(value)


def write_episode(path: Path, episode: Episode) -> None:
    """Write a compressed .npz with the arrays above by name. The file appears whole or not at all."""
    with replacing(path) as partial, open(partial, "wb") as file:
        np.savez_compressed(file, **{field.name: getattr(episode, field.name) for field in fields(Episode)})


def read_episode(path: Path) -> Episode:
    """The episode in a file. Raises InputError, naming the file and the array, or OSError."""
    names = [field.name for field in fields(Episode)]
    try:
        with reading(path), np.load(path, allow_pickle=False) as file:
            for name in names:
                if name not in file:
                    raise InputError(f"no such array; {_ACCEPTED}", field=name)
            return Episode(**{name: file[name] for name in names})
    except zipfile.BadZipFile as error:
        raise InputError(f"damaged ({error}); {_ACCEPTED}", file=str(path)) from error
    except InputError as error:
        raise InputError(error.reason, file=str(path), field=error.field) from error
