"""What the examples that train a GPT on characters share: the text, training, checkpoints, scores, reports."""
