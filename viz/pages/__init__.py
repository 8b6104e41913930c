"""The stepper page's parts: what Python puts into it, and its HTML, CSS and JavaScript."""
