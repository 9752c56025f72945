"""Memory allocation on accelerators: mapping tensors to memories, and static allocation."""

from corl.problems.memory.instance import MappingInstance as MappingInstance
