"""The rules in words, by family of operations; `viz.words` reads them."""
