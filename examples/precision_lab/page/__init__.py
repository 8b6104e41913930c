"""The precision lab's page: one file in which a slider moves the gradients along each format's range."""
