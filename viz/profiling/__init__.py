"""Where the time of a forward and backward pass goes, by operation and by module."""
