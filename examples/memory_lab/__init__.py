"""The memory of GPT-2's backward pass: estimated from shapes, measured, and what makes it small."""
