"""A recipe and a network as somebody's plug-in would have them, with every kind of state that a resume could lose."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from corl.errors import UsageError
from corl.learning.recipe import Recipe
from corl.learning.workers import stream


class Line(nn.Module):
    architecture = "toy-line"

    def __init__(self, problem: str, inputs: int):
        super().__init__()
        self.config = {"problem": problem, "inputs": inputs}
        self.layers = nn.Sequential(nn.Linear(inputs, 8), nn.Dropout(0.2), nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x)


def make_points(seed, inputs):
    def batch(i):
        x = np.random.default_rng([seed, i]).random((16, inputs)).astype(np.float32)
        return x, x.sum(axis=1, keepdims=True)

    return batch


@dataclass(frozen=True)
class Lesson(Recipe):
    """Batches come from workers, noise from a Generator, dropout from torch's own; Adam and a schedule have state too."""

    inputs: int = 3
    pause: float = 0.0
    """Seconds that a step takes longer."""
    interrupt_at: int = -1
    """The step at which it gets a Ctrl-C; -1: never."""

    title, step = "a line through points", "one optimiser step"

    def __post_init__(self):
        if self.inputs < 1:
            raise UsageError(f"inputs is {self.inputs}; accepted: an integer from 1")

    def train(self, training):
        network = Line(training.problem.name, self.inputs).to(training.device)
        optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.StepLR(optimiser, 7, 0.9)
        noise = np.random.default_rng(training.seed)
        training.manage(network=network, optimiser=optimiser, schedule=schedule, noise=noise)
        with stream(training, make_points, training.seed, self.inputs) as batches:
            while training.budget():
                x, y = (torch.from_numpy(part) for part in next(batches))
                y = y + 0.1 * torch.from_numpy(noise.random(y.shape).astype(np.float32))
                loss = (network(x) - y).square().mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                time.sleep(self.pause)
                if str(training.step) == os.environ.get("TOY_LESSON_WAITS_AT"):
                    Path("waiting").touch()
                    signal.pause()
                training.log(loss=loss, fraction=training.fraction)
                if training.step == self.interrupt_at:
                    os.kill(os.getpid(), signal.SIGINT)
        training.save(network)
