"""Tensors in the `.safetensors` files of a folder, in one or in several with an index, each read when it is asked for.
It needs the package safetensors and no other. `op` is what the user called, with which messages begin."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tensorgrad.errors import DtypeError
from tensorgrad.models.folders import check_file, read_json, short

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"

_DTYPES = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"}  # of BF16 the bits, which NumPy has no floats for
_PICKLE = (
    ": pytorch_model.bin is a pickle, which can run code and is not read here: load it with transformers and write it "
    "again with its save_pretrained(folder)"
)


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: its numbers start at the byte `offset`."""

    op: str
    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    def read(self, dtype: np.dtype) -> np.ndarray:
        """Its numbers as an array of `dtype` of its own."""
        if self.dtype not in _DTYPES:
            raise DtypeError(
                f"{self.op}: {self.name!r} in {str(self.path)!r} is of dtype {self.dtype}; weights of "
                f"{', '.join(_DTYPES)} can be read"
            )
        count = int(np.prod(self.shape))
        array = np.fromfile(self.path, _DTYPES[self.dtype], count, offset=self.offset)
        if array.size != count:
            raise ValueError(
                f"{self.op}: {str(self.path)!r} ends within {self.name!r}: it was changed while it was read"
            )
        if self.dtype == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)  # the upper half of a float32
        try:
            with np.errstate(over="raise"):
                return array.astype(dtype, copy=False).reshape(self.shape)
        except FloatingPointError:
            raise ValueError(
                f"{self.op}: {self.name!r} in {str(self.path)!r} has numbers too large for {dtype}: take a wider dtype="
            ) from None


def stored_in(op: str, folder: Path) -> Iterator[Stored]:
    """The tensors in the folder's files, file by file. Raises what `GPT.from_pretrained` says for files."""
    in_one = (folder / WEIGHTS).exists() or not (folder / INDEX).exists()
    for name in [WEIGHTS] if in_one else _shards(op, folder / INDEX):
        yield from _headers(op, folder / name)


def _shards(op: str, path: Path) -> list[str]:
    """The names of the files that an index lists."""
    files = read_json(op, path).get("weight_map")
    if not isinstance(files, dict) or not files or not all(isinstance(file, str) for file in files.values()):
        raise ValueError(f"{op}: {str(path)!r} has no 'weight_map' from names of tensors to names of files")
    for file in files.values():
        if Path(file).name != file or not file.endswith(".safetensors"):
            raise ValueError(f"{op}: {str(path)!r} names {short(file)}, which is no .safetensors file in its folder")
    return sorted(set(files.values()))


def _headers(op: str, path: Path) -> Iterator[Stored]:
    """What a .safetensors file holds.

    The package checks that the file is whole. The numbers are read without it, from where the header says: it would
    map the file into memory, which then counts twice, and has no bfloat16 for NumPy.
    """
    pickles = any(path.parent.glob("pytorch_model*"))
    check_file(op, path, _PICKLE if pickles else "")
    package = safetensors(op)
    try:
        with path.open("rb") as file, package.safe_open(path, framework="np"):
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
    except OSError as error:
        raise OSError(f"{op}: {str(path)!r} cannot be read ({error.strerror or error})") from None
    except Exception as error:  # the package has an exception of its own
        with path.open("rb") as file:
            pointer = file.read(40).startswith(b"version https://git-lfs")
        hint = ": it is the pointer of Git LFS; fetch the file itself with git lfs pull" if pointer else ""
        raise ValueError(
            f"{op}: {str(path)!r} is no safetensors file, or is cut off or damaged ({error}){hint}"
        ) from None
    for name, entry in header.items():
        if name != "__metadata__":
            yield Stored(op, path, name, entry["dtype"], tuple(entry["shape"]), 8 + length + entry["data_offsets"][0])


def safetensors(op: str) -> Any:
    """The package, which only these files need."""
    try:
        import_module("safetensors.numpy")
        return import_module("safetensors")
    except ImportError:
        raise ImportError(f"{op}: these files need the package safetensors: pip install 'plusequals[gpt2]'") from None
