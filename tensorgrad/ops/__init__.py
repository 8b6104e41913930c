"""The operations by family, each beside its rules. `tensor.Tensor` has them as methods, `tensorgrad` as functions."""
