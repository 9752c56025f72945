"""Small algorithms that kernels of several problems and solvers share, one subject per file.

All functions are numba kernels (corl.jit) and take arrays that the caller owns. Import each from its file, for example
`from corl.kernels.search import bisect_left`: then an edit of another file does not recompile the kernels that use it.
"""
