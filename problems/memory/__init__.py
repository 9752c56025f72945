"""Memory mapping on accelerators: which tensors are in the fast memory, and when."""

from corl.problems.memory.instance import MappingInstance as MappingInstance
