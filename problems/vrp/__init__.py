"""Vehicle routing: instance, files, judge and Markov decision process."""

from corl.problems.vrp.instance import VrpInstance as VrpInstance
