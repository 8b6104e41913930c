"""A gradient split by use: what each operation that reads a parameter sends back to it in one backward pass."""
