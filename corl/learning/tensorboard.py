"""TensorBoard as a target of learning curves, by the writer of torch; it needs the package tensorboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from corl.errors import UsageError

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

__all__ = ["TensorBoard"]


class TensorBoard:
    """Event files in the folder FOLDER/RUN of each run, for `tensorboard --logdir FOLDER`, from the run's first point on."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Raises UsageError if the package is not installed."""
        try:
            import torch.utils.tensorboard  # noqa: F401
        except ImportError as error:
            raise UsageError('logging: tensorboard needs the package tensorboard: pip install ".[tensorboard]"') from error
        self.folder = Path(folder)
        self._writers: dict[str, SummaryWriter] = {}

    def add_curve(self, run: str, step: float, name: str, value: float) -> None:
        """Add a point to a run's curve `name`, as `Store.add_curve` does; a point of a repeated step does not replace the other.

        The point is in the file when the function returns. Raises OSError if it cannot be written.
        """
        if run not in self._writers:
            from torch.utils.tensorboard import SummaryWriter

            name_of_run = "".join("-" if letter in '/\\:*?"<>| ' else letter for letter in run)
            self._writers[run] = SummaryWriter(str(self.folder / name_of_run))
        self._writers[run].add_scalar(name, value, int(step))
        self._writers[run].flush()
