"""Restless bandits whose arms are coupled by a combinatorial constraint on which may be pulled together."""

from corl.problems.bandits.instance import BanditInstance as BanditInstance
