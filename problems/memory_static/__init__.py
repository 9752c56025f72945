"""Static memory allocation: offsets for buffers of fixed lifetimes and sizes, in as little memory as possible."""

from corl.problems.memory_static.instance import StaticInstance as StaticInstance
