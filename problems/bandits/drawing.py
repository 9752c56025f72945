"""Pictures of when a policy acts on each arm: with matplotlib, and as scenes for web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.files.drawing import whole_ticks
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policy import BanditPolicy
from corl.view.scene import Group, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "scene", "shares"]


def draw(instance: BanditInstance, solution: BanditPolicy | None, axes: Axes) -> None:
    """Draw the share of episodes in which each arm is acted on (level above 0) at each time.

    Without a policy, draw the expected reward of each arm's best level in each state.
    """
    if solution is None:
        image = axes.imshow(instance.rewards.max(axis=1), aspect="auto", cmap="viridis", interpolation="nearest")
        axes.set(xlabel="state", ylabel="arm", title=f"{instance.name}: reward of each arm's best level in each state")
        label = "reward"
    else:
        image = axes.imshow(shares(instance, solution), aspect="auto", cmap="viridis", vmin=0, vmax=1, interpolation="nearest")
        axes.set(xlabel="time", ylabel="arm", title=f"{instance.name}: how often each arm is acted on")
        label = "share of episodes"
    whole_ticks(axes)
    axes.figure.colorbar(image, ax=axes, label=label)


def shares(instance: BanditInstance, policy: BanditPolicy) -> NDArray[np.float64]:
    """Return the share of the episodes in which each arm is acted on at each time, float64 [J, T]."""
    from corl.problems.bandits.evaluation import simulate

    shares = np.zeros((instance.arms, instance.horizon))

    def recording(states: NDArray[np.int32], time: int, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        actions = policy.actions(states, time, keys)
        shares[:, time] = (instance.constraint.levels_of(actions) > 0).mean(axis=0)
        return actions

    simulate(instance, recording)
    return shares


def scene(instance: BanditInstance, solution: BanditPolicy | None) -> Scene | None:
    """Return a scene with one row per arm, or None without a policy.

    The width of the box at a time is the share of episodes in which the arm is acted on.
    """
    if solution is None:
        return None
    share = shares(instance, solution)
    axis = "time; a box is as wide as the share of episodes with a pull"
    scene = Scene(f"{instance.name}: {instance.arms:,} arms", axis, "arm")
    scene.rows, scene.head = [str(arm) for arm in range(instance.arms)], ("arm", "pulled in a mean episode")
    for arm, row in enumerate(share.tolist()):
        scene.groups.append(Group((f"arm {arm}", round(sum(row), 3))))
        for time, part in enumerate(row):
            if part > 0:
                scene.boxes.append((time, arm, part, 1, f"arm {arm}, time {time}: in {100 * part:.3g} % of episodes", arm, False))
    return scene
