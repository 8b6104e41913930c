"""How many nodes a picture and the page take, and what to do with a larger graph."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

from viz.errors import TooLargeError, UserError

MOST_IN_PICTURE = 1_000
"""Above it boxes are too small to read on a sheet, and a dense graph takes a dot program a minute."""

MOST_ON_PAGE = 100_000
"""Values on a page: more make a file that a browser takes long to read."""

MOST_RECORDED = 5_000
"""Nodes on a page whose passes are recorded, as those of Tensors are: each step is in the file with its array."""


@dataclass(frozen=True)
class Spelling:
    """What the ways out are called where the user is: the page, the steps as text, and the picture's limit."""

    page: str
    steps: str
    limit: str


IN_PYTHON = Spelling(page="viz.step", steps="viz.trace", limit="max_nodes=")
ON_COMMAND_LINE = Spelling(page="plusequals step", steps="plusequals step --text", limit="--max-nodes")


def check_picture(
    nodes: int, most: int = MOST_IN_PICTURE, spelling: Spelling = IN_PYTHON, *, subject: str = "the graph has"
) -> None:
    """Raise TooLargeError if a picture would have more than `most` nodes; it names the page only where that takes
    as many; and UserError for a limit that is no whole number from 1 up.

    subject  what the message starts with
    """
    _check_limit(most, spelling)
    if nodes > most:
        instead = (
            f"step through it on a page ({spelling.page})"
            if nodes <= MOST_ON_PAGE
            else f"read its steps as text ({spelling.steps})"
        )
        raise TooLargeError(
            f"{subject} {nodes:,} nodes, and a picture takes at most {most:,}: {instead}, draw a smaller part, "
            f"or raise the limit ({spelling.limit})"
        )


def check_page(nodes: int, *, computed: bool = True, most: int | None = None, spelling: Spelling = IN_PYTHON) -> None:
    """Raise TooLargeError if the page would have more than `most` nodes.

    Raises UserError for a limit that is no whole number from 1 up, as `check_picture` does.

    computed  whether the page computes the passes itself, as for Values without hooks or rules of the user's
    most      by default MOST_ON_PAGE, or MOST_RECORDED where the passes are recorded
    """
    if most is None:
        most = MOST_ON_PAGE if computed else MOST_RECORDED
    _check_limit(most, spelling)
    if nodes > most:
        kind = "" if computed else " whose passes have to be recorded"
        raise TooLargeError(
            f"the graph has {nodes:,} nodes, and the page takes at most {most:,}{kind}: step through a sample of it, "
            f"e.g. the loss of one example, read its steps as text ({spelling.steps}), or raise the limit "
            f"({spelling.limit}): the page opens collapsed, but all of it is in the file"
        )


def _check_limit(most: int, spelling: Spelling) -> None:
    if isinstance(most, bool) or not isinstance(most, Integral) or most < 1:
        raise UserError(f"{spelling.limit} takes a whole number from 1 up, got {most!r}")
