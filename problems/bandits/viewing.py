"""What a page shows of a policy: which arms it acts on, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corl.problems.bandits.drawing import shares
from corl.problems.bandits.instance import BanditInstance
from corl.view.scene import Group, Scene

if TYPE_CHECKING:
    from corl.problems.bandits.policy import BanditPolicy

__all__ = ["scene_of"]


def scene_of(instance: BanditInstance, policy: BanditPolicy | None) -> Scene | None:
    """A row an arm; a box as wide as the share of episodes in which it is acted on at a time. None without a policy."""
    if policy is None:
        return None
    share = shares(instance, policy)
    axis = "time; a box is as wide as the share of episodes with a pull"
    scene = Scene(f"{instance.name}: {instance.arms:,} arms", axis, "arm")
    scene.rows, scene.head = [str(arm) for arm in range(instance.arms)], ("arm", "pulled in a mean episode")
    for arm, row in enumerate(share.tolist()):
        scene.groups.append(Group((f"arm {arm}", round(sum(row), 3))))
        for time, part in enumerate(row):
            if part > 0:
                scene.boxes.append((time, arm, part, 1, f"arm {arm}, time {time}: in {100 * part:.3g} % of episodes", arm, False))
    return scene
