"""The memory of a backward pass: which arrays a graph keeps alive, what for, and at most how much during the pass."""
