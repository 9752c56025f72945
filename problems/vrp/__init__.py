"""Vehicle routing: what an instance is, its files, its judge and its Markov decision process."""

from corl.problems.vrp.instance import VrpInstance as VrpInstance
