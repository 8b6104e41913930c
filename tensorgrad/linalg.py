"""Under torch's name `torch.linalg`: norms, and products of matrices and of vectors.

What torch has there beyond this is for matrices as such (inverses, decompositions); use NumPy's on `.data`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorgrad import missing
from tensorgrad.ops.linalg import matmul
from tensorgrad.ops.norms import matrix_or_vector_norm as norm
from tensorgrad.ops.norms import vector_norm
from tensorgrad.ops.products import cross

__all__ = ["cross", "matmul", "norm", "vector_norm"]

if not TYPE_CHECKING:  # a type checker would take it for a promise that there is every name
    __getattr__ = missing.names_of(__name__)
