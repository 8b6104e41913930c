"""GPT-2's weights in the files that Hugging Face's `transformers` writes: `config.json` and `model.safetensors`, or
several files with a `model.safetensors.index.json` (see `tensor_files`).

The architecture is the same, the names differ (`_PARTS`), and the four linear layers of a block are stored as that
package's `Conv1D`, which computes x @ weight + bias: their weights lie (in, out), where `nn.Linear` has (out, in).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorgrad.dtypes import as_dtype, default_float
from tensorgrad.errors import DtypeError, ShapeError
from tensorgrad.models.folders import folder_of, path_of, read_json, short, some
from tensorgrad.models.tensor_files import WEIGHTS, Stored, safetensors, stored_in
from tensorgrad.nn.layers import Embedding, LayerNorm, Linear
from tensorgrad.nn.parameter import Parameter
from tensorgrad.node import new
from tensorgrad.random import fork_rng
from tensorgrad.serialization import _replace
from tensorgrad.settings import kind as described

if TYPE_CHECKING:
    from tensorgrad.models.gpt import GPT, GPTConfig

_OP = "GPT.from_pretrained"
_CONFIG = "config.json"
_PREFIX = "transformer."  # before every name but the head's, in files of the model with a head

_SIZES = {
    "vocabulary": "vocab_size",
    "context": "n_positions",
    "blocks": "n_layer",
    "heads": "n_head",
    "width": "n_embd",
}
"""GPTConfig's fields, and the names that config.json has for them."""

_FIXED = {
    "activation_function": ("gelu_new",),
    "layer_norm_epsilon": (1e-5,),
    "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,),
    "reorder_and_upcast_attn": (False, True),  # the order of the same operations, for float16
    "add_cross_attention": (False,),
}
"""What else decides the numbers, with the values under which these are GPT's; the first is the one where none is."""

_PARTS = {"ln_1": "norm1", "attn.c_attn": "attention.qkv", "attn.c_proj": "attention.proj"} | {
    "ln_2": "norm2",
    "mlp.c_fc": "mlp.up",
    "mlp.c_proj": "mlp.down",
}
"""A block's layers: their name in the files, and here."""

_MASKS = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")  # the triangle of which token sees which, and what hides
_BLOCK = re.compile(r"h\.(\d+)\.")


# -- loading -----------------------------------------------------------------------------------------------------------


def load(kind: type[GPT], config_kind: type[GPTConfig], folder: Any, *, dropout: float = 0.0, dtype: Any = None) -> GPT:
    """What `GPT.from_pretrained` says, as a `kind` whose config is a `config_kind`."""
    found = default_float() if dtype is None else as_dtype(dtype)
    if found.kind != "f":
        raise DtypeError(f"{_OP}: parameters are floats, got dtype {found}")
    path = folder_of(_OP, folder)
    sizes, tied = _read_config(path / _CONFIG)
    config = config_kind(**sizes, dropout=dropout, bias=True, tied=tied)
    stored = _listed(path)
    _check_names(path, stored, config)

    with fork_rng():  # the few numbers of the small model are no one's
        model = kind(
            replace(config, vocabulary=1, context=1, width=config.heads)
        )  # its arrays are replaced by the file's
    model.config = config
    for name, where, turned in _layers(config):
        layer = model.get_submodule(where)
        _resize(layer, stored[f"{name}.weight"].shape[:: -1 if turned else 1])
        for part in ("weight", "bias"):
            if f"{name}.{part}" in stored:
                array = stored[f"{name}.{part}"].read(found)
                setattr(layer, part, Parameter(new(np.ascontiguousarray(array.T) if turned else array)))
    if tied:
        _resize(model.head, model.tokens.weight.shape)
        model.head.weight = model.tokens.weight
        _check_tied(path, stored, model.tokens.weight.data)
    return model


def _layers(config: GPTConfig) -> Iterator[tuple[str, str, bool]]:
    """Each layer with parameters: its name in the files, its name in a GPT, and whether its weight lies (in, out)."""
    yield "wte", "tokens", False
    yield "wpe", "positions", False
    for i in range(config.blocks):
        for theirs, ours in _PARTS.items():
            yield f"h.{i}.{theirs}", f"blocks.{i}.{ours}", "c_" in theirs
    yield "ln_f", "norm", False
    if not config.tied:
        yield "lm_head", "head", False


def _shapes(config: GPTConfig) -> dict[str, tuple[int, ...]]:
    """The tensors that the files must hold, with their shapes there."""
    V, T, C = config.vocabulary, config.context, config.width
    widths = {"attn.c_attn": (C, 3 * C), "attn.c_proj": (C, C), "mlp.c_fc": (C, 4 * C), "mlp.c_proj": (4 * C, C)}
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (V, C), "wpe.weight": (T, C)}
    for i in range(config.blocks):
        for part in _PARTS:
            shapes[f"h.{i}.{part}.weight"] = widths.get(part, (C,))
            shapes[f"h.{i}.{part}.bias"] = widths.get(part, (C,))[-1:]
    shapes |= {"ln_f.weight": (C,), "ln_f.bias": (C,)}
    return shapes if config.tied else {**shapes, "lm_head.weight": (V, C)}


def _resize(layer: Any, shape: tuple[int, ...]) -> None:
    """Let a layer's sizes be those of a weight of this shape, as nn.Linear has it."""
    if isinstance(layer, Embedding):
        layer.num_embeddings, layer.embedding_dim = shape
    elif isinstance(layer, Linear):
        layer.out_features, layer.in_features = shape
    elif isinstance(layer, LayerNorm):
        layer.normalized_shape = shape


# -- config.json -------------------------------------------------------------------------------------------------------


def _read_config(path: Path) -> tuple[dict[str, int], bool]:
    """The sizes, by the names of GPTConfig's fields, and whether the head is the token table."""
    content = read_json(_OP, path)
    where = f"{_OP}: {str(path)!r}"
    kind = content.get("model_type")
    if kind != "gpt2":
        raise ValueError(f"{where} is of a model of type {short(kind)}; only 'gpt2' has this architecture")
    sizes = {}
    for field, name in _SIZES.items():
        if name == "n_positions" and name not in content:
            name = "n_ctx"  # its older name
        if name not in content:
            raise ValueError(f"{where} does not say {_SIZES[field]!r}")
        value = content[name]
        if type(value) is not int or value < 1:
            raise ValueError(f"{where}: {name!r} is {short(value)}; it must be a whole number of 1 or more")
        sizes[field] = value
    inner, width = content.get("n_inner"), sizes["width"]
    if width % sizes["heads"]:
        heads = short(sizes["heads"])
        raise ValueError(f"{where}: 'n_embd' is {short(width)}, which 'n_head', {heads}, does not divide")
    if inner is not None and inner != 4 * width:
        raise ValueError(
            f"{where}: 'n_inner' is {short(inner)}; GPT's blocks are 4 x 'n_embd' wide inside, {4 * width}"
        )
    for name, allowed in _FIXED.items():
        value = content.get(name, allowed[0])
        if isinstance(value, bool) != isinstance(allowed[0], bool) or value not in allowed:
            raise ValueError(f"{where}: {name!r} is {short(value)}; GPT computes with {allowed[0]!r} only")
    tied = content.get("tie_word_embeddings", True)
    if not isinstance(tied, bool):
        raise ValueError(f"{where}: 'tie_word_embeddings' is {short(tied)}; it must be true or false")
    return sizes, tied


# -- the tensors -------------------------------------------------------------------------------------------------------


def _listed(folder: Path) -> dict[str, Stored]:
    """The tensors in the folder's files by their names without prefix, but for those that are no weights."""
    found: dict[str, Stored] = {}
    for stored in stored_in(_OP, folder):
        name = stored.name.removeprefix(_PREFIX)
        if _MASKS.fullmatch(name):
            continue
        if name in found:
            raise ValueError(
                f"{_OP}: {name!r} is in {str(folder)!r} twice: as {found[name].name!r} in "
                f"{found[name].path.name!r} and as {stored.name!r} in {stored.path.name!r}"
            )
        found[name] = stored
    return found


def _check_names(folder: Path, stored: dict[str, Stored], config: GPTConfig) -> None:
    """Raise ValueError unless the files hold what a GPT of these sizes has, and nothing else."""
    where = f"{_OP}: {str(folder)!r}"
    blocks = {match[1] for match in map(_BLOCK.match, stored) if match}
    if config.blocks > len(blocks):  # before the names of a billion blocks are listed
        raise ValueError(
            f"{where}: the config's 'n_layer' is {config.blocks}, and the weights are of {len(blocks)} blocks"
        )
    shapes = _shapes(config)
    absent = [name for name in shapes if name not in stored]
    if absent:
        raise ValueError(f"{where} lacks {len(absent)} of {len(shapes)} tensors: {some(absent)}")
    allowed = {*shapes, "lm_head.weight"}
    others = [found.name for name, found in stored.items() if name not in allowed]
    if others:
        raise ValueError(
            f"{where} has {len(others)} tensors that no GPT-2 of {config.blocks} blocks has: {some(others)}"
        )
    for name, found in stored.items():
        wanted = shapes.get(name, shapes["wte.weight"])
        if found.shape != wanted:
            turned = found.shape == wanted[::-1] and len(wanted) == 2
            hint = ": it is transposed; these files have such weights as (in, out)" if turned and "c_" in name else ""
            raise ShapeError(
                f"{where}: {found.name!r} has the shape {found.shape}, and by {_CONFIG} it must be {wanted}{hint}"
            )


def _check_tied(folder: Path, stored: dict[str, Stored], table: np.ndarray) -> None:
    head = stored.get("lm_head.weight")
    if head is not None and not np.array_equal(head.read(table.dtype), table, equal_nan=True):
        raise ValueError(
            f"{_OP}: {str(folder)!r}: 'lm_head.weight' differs from 'wte.weight', and the head is tied: if it is meant "
            f"to differ, set 'tie_word_embeddings' to false in {_CONFIG}"
        )


# -- saving ------------------------------------------------------------------------------------------------------------


def save_pretrained(model: GPT, folder: str | os.PathLike[str]) -> None:
    """Write `config.json` and `model.safetensors` into a folder, which is made if there is none: what
    `GPT.from_pretrained` and Hugging Face's GPT2LMHeadModel read. Each file appears whole or not at all.

    Raises TypeError for what is no GPT; ValueError for one without biases, which these files have no place for, and for
    one whose parameters are not those of its config; OSError for a folder that cannot be written to.
    """
    op = "save_pretrained"
    config = getattr(model, "config", None)
    if not all(hasattr(config, field) for field in (*_SIZES, "dropout", "bias", "tied")):
        raise TypeError(f"{op}: takes a GPT, got {described(model)}")
    if not config.bias:
        raise ValueError(f"{op}: the model has no biases, which every GPT-2 of {WEIGHTS} has: use tensorgrad.save")
    package = safetensors(op).numpy
    path = path_of(op, folder)
    arrays = _to_save(op, model)
    content = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "tie_word_embeddings": config.tied}
    content |= {name: getattr(config, field) for field, name in _SIZES.items()} | {"n_ctx": config.context}
    content |= {name: allowed[0] for name, allowed in _FIXED.items()} | {"n_inner": None}
    content |= dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), config.dropout)
    data = package.save(arrays, metadata={"format": "pt"})  # without which transformers refuses the file
    text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name in (WEIGHTS, _CONFIG):
            if (path / name).is_dir():  # before the other is written
                raise IsADirectoryError(f"{op}: {str(path / name)!r} is a folder, in the place of a file")
        _replace(path / WEIGHTS, lambda file: file.write(data))
        _replace(path / _CONFIG, lambda file: file.write(text.encode()))
    except FileExistsError:
        raise NotADirectoryError(f"{op}: {str(path)!r} is a file: give a folder") from None
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(f"{op}: {str(path)!r} cannot be written to ({error.strerror})") from None


def _to_save(op: str, model: GPT) -> dict[str, np.ndarray]:
    """The model's parameters by their names in the files. Raises ValueError for what would be read as another model."""
    config, state, arrays = model.config, model.state_dict(), {}
    for name, where, turned in _layers(config):
        for part in ("weight", "bias"):
            if f"{where}.{part}" in state:
                array = state[f"{where}.{part}"].data
                arrays[f"{name}.{part}"] = np.ascontiguousarray(array.T if turned else array)
    shapes = _shapes(config)
    for name in dict.fromkeys((*shapes, *arrays)):
        wanted, found = shapes.get(name), arrays[name].shape if name in arrays else None
        if found != wanted:
            raise ValueError(
                f"{op}: by the model's config {name!r} is {_of_shape(wanted)}, and in the model it is "
                f"{_of_shape(found)}: it could not be loaded again"
            )
    if (
        config.tied
        and "head.weight" in state
        and not np.array_equal(state["head.weight"].data, state["tokens.weight"].data, equal_nan=True)
    ):
        raise ValueError(
            f"{op}: the config says that the head is tied, and head.weight differs from tokens.weight: it would be lost"
        )
    for where, layer in model.named_modules():
        (epsilon,) = _FIXED["layer_norm_epsilon"]
        if isinstance(layer, LayerNorm) and layer.eps != epsilon:
            raise ValueError(f"{op}: {where}.eps is {layer.eps:g}; GPT computes with {epsilon:g} only")
    return {name if name.startswith("lm_head") else _PREFIX + name: array for name, array in arrays.items()}


def _of_shape(shape: tuple[int, ...] | None) -> str:
    return "not there" if shape is None else f"of shape {shape}"
