"""Numba as corl uses it: the cache of machine code and kernels without wrappers; `corl.jit` is what other code imports."""
