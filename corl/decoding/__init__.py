"""Decoders, which make solutions with a policy in an environment.

environment = problem.environment(instances, rows=256)
found = decode(Beam(16), CountedEvaluator(environment, policy), range(len(instances)))
best = found.best(len(instances))
"""

from typing import TYPE_CHECKING

from corl.decoding.beam import Beam
from corl.decoding.decode import Decoded, Decoder, StartStates, decode
from corl.decoding.evaluator import CountedEvaluator, Stopped
from corl.decoding.planning import LearnedPlanning, Planning
from corl.decoding.rollouts import Greedy, Sampling
from corl.decoding.without_replacement import WithoutReplacement
from corl.deprecation import renamed

__all__ = [
    "Beam",
    "CountedEvaluator",
    "Decoded",
    "Decoder",
    "Greedy",
    "LearnedPlanning",
    "Planning",
    "Sampling",
    "StartStates",
    "Stopped",
    "WithoutReplacement",
    "decode",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = renamed(__name__, {"Entries": "StartStates"})
