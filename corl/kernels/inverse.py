"""The inverse of a small matrix, for kernels that compute many of them."""

from __future__ import annotations

from typing import Any

from corl.jit import kernel

__all__ = ["invert"]


@kernel
def invert(matrix: Any) -> None:
    """Invert a square matrix, float64 [N, N], in place, by Gauss-Jordan elimination without pivoting.

    Accurate for symmetric positive definite and for diagonally dominant matrices, which need no pivoting.
    """
    size = len(matrix)
    for k in range(size):
        pivot = 1.0 / matrix[k, k]
        matrix[k, k] = 1.0
        for c in range(size):
            matrix[k, c] *= pivot
        for r in range(size):
            if r != k:
                factor = matrix[r, k]
                matrix[r, k] = 0.0
                for c in range(size):
                    matrix[r, c] -= factor * matrix[k, c]
