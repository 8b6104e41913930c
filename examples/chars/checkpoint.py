"""A run on the disk: all that its next step depends on, in one `.npz` file that appears whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from common.errors import Refused

import tensorgrad
from chars.corpus import Corpus, read_text
from chars.settings import Settings
from tensorgrad.models import GPT

_FORMAT = "char_gpt 1"
_KINDS = {
    **dict.fromkeys(("text_name", "text_sha256", "vocabulary"), str),
    **dict.fromkeys(("model", "optimizer", "gradients", "generators"), dict),
    **dict.fromkeys(("losses", "norms", "held_out", "findings"), list),
    "step": int,
    "seconds": float,
}


@dataclass
class Checkpoint:
    """The state of a run after a step.

    settings    what the run was started with
    step        the last step that was done, 0 before the first
    model, optimizer    their state_dict()
    gradients   those that are kept from step to step, by parameter name: none, unless the run forgets to clear them
    generators  the states of "batches" and "default", the package's own (dropout draws from it)
    text_name, text_sha256, vocabulary    of the text
    losses, norms       of each step so far: mean nats a character of the batch, length of the gradient before clipping
    held_out    pairs (step, mean nats a character of the held-out text)
    findings    what the monitor said, as dicts with "step", "check", "names", "text"
    seconds     of training so far
    """

    settings: Settings
    step: int
    model: dict[str, Any]
    optimizer: dict[str, Any]
    gradients: dict[str, Any]
    generators: dict[str, Any]
    text_name: str
    text_sha256: str
    vocabulary: str
    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    held_out: list[list[float]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0


def save(checkpoint: Checkpoint, path: Path) -> None:
    """Write the checkpoint; a folder that is missing is made. Where that fails an older file stays as it was.

    Raises Refused.
    """
    content = {name: getattr(checkpoint, name) for name in Checkpoint.__dataclass_fields__}  # no copies of the arrays
    content |= {"format": _FORMAT, "settings": asdict(checkpoint.settings)}
    old = "; the file that was there is as it was" if path.exists() else ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tensorgrad.save(content, path)
    except OSError as error:
        raise Refused(f"cannot write the checkpoint {str(path)!r}: {error.strerror or error}{old}") from None
    except ValueError as error:
        raise Refused(str(error).removeprefix("save: ")) from None


def load(path: str | Path) -> Checkpoint:
    """The checkpoint in a file. Raises Refused for one that is missing, damaged or something else."""
    try:
        content = tensorgrad.load(path)
    except FileNotFoundError:
        raise Refused(f"there is no file {str(path)!r}: a checkpoint is what char_gpt.py writes") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).removeprefix("load: ")
        reason = reason.removesuffix(": save it again")
        raise Refused(
            f"cannot read the checkpoint {str(path)!r}: {reason}; take another one, or train anew with char_gpt.py"
        ) from None
    if not isinstance(content, dict) or str(content.get("format")) != _FORMAT:
        raise Refused(f"{str(path)!r} is no checkpoint of a character model: char_gpt.py writes them")
    with fitting(path):
        fields = {name: content[name] for name in Checkpoint.__dataclass_fields__}
        found = Checkpoint(**{**fields, "settings": Settings(**fields["settings"])})
        for name, wanted in _KINDS.items():
            if not isinstance(getattr(found, name), wanted):
                raise TypeError(f"{name} is a {type(getattr(found, name)).__name__}")
        for name, kind in (("losses", float), ("norms", float), ("held_out", list), ("findings", dict)):
            if not all(isinstance(x, kind) for x in getattr(found, name)):
                raise TypeError(f"{name} has something in it that is no {kind.__name__}")
        if not all(len(pair) == 2 and all(isinstance(x, (int, float)) for x in pair) for pair in found.held_out):
            raise ValueError("held_out has something in it that is no step and its score")
        if not all({"step", "check", "names", "text"} <= finding.keys() for finding in found.findings):
            raise ValueError("findings has one without step, check, names or text")
        if len(set(found.vocabulary)) != len(found.vocabulary):
            raise ValueError("the vocabulary has a character twice")
        if not len(found.losses) == len(found.norms) == found.step:
            raise ValueError(f"{len(found.losses)} losses and {len(found.norms)} norms of {found.step} steps")
        return found


def load_model(path: str | Path) -> tuple[GPT, str]:
    """The model in a checkpoint, and its vocabulary: the character that each token stands for. Raises Refused."""
    found = load(path)
    return model_of(found, path), found.vocabulary


def model_of(found: Checkpoint, path: str | Path) -> GPT:
    """The model in a checkpoint that was loaded from `path`. Raises Refused."""
    with fitting(path):
        model = GPT(found.settings.model(len(found.vocabulary)))
        model.load_state_dict(found.model)
    return model


@contextmanager
def fitting(path: str | Path) -> Iterator[None]:
    """A checkpoint whose parts do not fit each other is Refused."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, Refused) as error:
        reason = " ".join(str(error).split())
        raise Refused(f"the checkpoint {str(path)!r} is damaged, or of another version: {reason}") from None


def trained_on(saved: Checkpoint) -> Corpus:
    """The text that the model was trained on. Raises Refused where it isn't there any more, or is another one now."""
    corpus = Corpus(read_text(saved.settings.text), saved.text_name)
    if corpus.sha256 != saved.text_sha256:
        raise Refused(f"{saved.text_name}, which the model was trained on, is another text now")
    return corpus
