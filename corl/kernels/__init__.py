"""Small algorithms that kernels of several problems and solvers share, one subject per file.

All functions are numba kernels (corl.jit) and take arrays that the caller owns. Import them from their file, for example
`from corl.kernels.search import bisect_left`: the disk cache of a kernel then depends on the files that it uses and no others.
"""
