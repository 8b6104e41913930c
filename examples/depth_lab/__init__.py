"""How the gradient changes along a deep stack of layers: the stacks, what is measured, and how it is shown."""
