"""What a user can mend."""


class UserError(Exception):
    """A mistake in what the user gave, in one sentence that says what, where and what to do.

    The command line prints it on one line and exits with status 2.
    """


class NoDotError(UserError):
    """No program that lays graphs out was found."""

    def __init__(self) -> None:
        super().__init__(
            "no dot program found to lay the graph out: `pip install graphviz-pure`, or install Graphviz and put its "
            "dot on PATH, or set PLUSEQUALS_DOT to one; DOT text (a .dot file) needs none"
        )


class TooLargeError(UserError):
    """A graph with more nodes than a picture, the page or a comparison takes."""
