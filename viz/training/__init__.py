"""Pictures of training runs: what a monitor has logged, and the losses of several runs beside each other."""
