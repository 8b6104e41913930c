"""What formats of few bits do to gradients: the formats, what is counted, a training run in them, how it is shown."""
