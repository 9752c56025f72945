"""Decoders: from an environment and a policy to solutions.

    environment = problem.environment(instances, rows=256)
    found = decode(Beam(16), Evaluator(environment, policy), range(len(instances)))
    best = found.best(len(instances))
"""

from corl.search.decoding.beam import Beam
from corl.search.decoding.decode import Decoder, decode
from corl.search.decoding.decoded import Decoded, Entries
from corl.search.decoding.evaluator import Evaluates, Evaluator, Stopped
from corl.search.decoding.planning import LearnedPlanning, Planning
from corl.search.decoding.rollouts import Greedy, Sampling
from corl.search.decoding.simulation import Sgbs
from corl.search.decoding.stochastic import WithoutReplacement

__all__ = [
    "Beam", "Decoded", "Decoder", "Entries", "Evaluates", "Evaluator", "Greedy", "LearnedPlanning", "Planning", "Sampling",
    "Sgbs", "Stopped", "WithoutReplacement", "decode",
]  # fmt: skip
