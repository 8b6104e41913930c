"""Under torch's name `torch.linalg`: norms, and the product of matrices.

What torch has there beyond this is for matrices as such (inverses, decompositions); use NumPy's on `.data`.
"""

from __future__ import annotations

from tensorgrad.ops.linalg import matmul
from tensorgrad.ops.norms import matrix_or_vector_norm as norm
from tensorgrad.ops.norms import vector_norm

__all__ = ["matmul", "norm", "vector_norm"]
