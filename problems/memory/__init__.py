"""Memory mapping on accelerators: which tensors are in the fast memory, and when. Static allocation is `memory_static`."""

from corl.problems.memory.instance import MappingInstance as MappingInstance
