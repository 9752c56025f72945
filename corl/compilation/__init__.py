"""The use of numba in corl: a cache of machine code, and kernels without Python wrappers. Other code imports `corl.jit`."""
