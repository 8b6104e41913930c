"""The surprise report: what a model makes of a text, as numbers, as printed text and as a page."""
