"""The permutation flow shop: makespan or total completion time, with sequence-dependent set-ups."""

from corl.problems.flowshop.instance import FlowShopInstance as FlowShopInstance
