"""The gradient along the depth of a model: its norm at each block's input, output and weights."""
