"""The backward pass as source code: a graph of Values, written out as one straight-line Python function."""

from micrograd.scripting.replay import Script, script

__all__ = ["Script", "script"]
