"""Arrays of numbers in an `.npz` file, as float32. Nothing in a file is ever run: pickles are not read."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from common.errors import Refused

from tensorgrad.serialization import DAMAGED
from viz.text import clip, count, visible

_STRUCTURE = "structure.json"  # beside the arrays in what tensorgrad.save writes
_SUFFIX = ".npy"
_REMARKS = 6  # that are said
_UNKNOWN = "not a valid dtype descriptor"  # as NumPy complains of a type


def is_checkpoint(path: str | Path) -> bool:
    """Whether char_gpt.py, of this version or another, wrote the file. Raises Refused for one that is no archive."""
    with _archive(path) as archive:
        if _STRUCTURE not in archive.namelist():
            return False
        value = json.loads(archive.read(_STRUCTURE))["value"]
        entries = value.get("dict", []) if isinstance(value, dict) else []
        return any(name == "format" and str(content).startswith("char_gpt") for name, content in entries)


def read_arrays(path: str | Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """All arrays by their names, as float32, and what was lost by that, a sentence for each array that lost something,
    or for the first of many.

    Raises Refused where the file is missing, damaged or holds something else, or no numbers at all.
    """
    arrays: dict[str, np.ndarray] = {}
    remarks: list[str] = []
    with _archive(path) as archive:
        for entry in dict.fromkeys(archive.namelist()):
            if entry.endswith(_SUFFIX):
                name = entry.removesuffix(_SUFFIX) or entry
                _check(archive, entry, path)
                with archive.open(entry) as file:
                    array = np.lib.format.read_array(file, allow_pickle=False)
                arrays[name], lost = _as_float32(array)
                remarks += [f"{_named(name)}, {array.dtype}, {lost}"] if lost else []
    if not arrays:
        raise Refused(f"{str(path)!r} has no arrays in it: give what numpy.savez(file, name=gradient, ...) wrote")
    if not any(array.size for array in arrays.values()):
        raise Refused(f"{str(path)!r} has no numbers in it: {count(len(arrays), 'array')}, empty")
    return arrays, _first(remarks)


def _first(remarks: list[str]) -> list[str]:
    """So many of them as are read, and how many there are besides."""
    more = len(remarks) - _REMARKS
    if more <= 1:
        return remarks
    return [*remarks[:_REMARKS], f"{count(more, 'more array')} lost values in the same way."]


def _check(archive: zipfile.ZipFile, entry: str, path: str | Path) -> None:
    """Refuse by its header, before memory is taken for it, what is no array of real numbers, or is not all there."""
    told = f"{str(path)!r}: the array {_named(entry.removesuffix(_SUFFIX))}"
    with archive.open(entry) as file:
        first = np.lib.format.read_magic(file) == (1, 0)
        header = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        try:
            shape, _, dtype = header(file)
        except ValueError as error:
            if _UNKNOWN in str(error):
                raise Refused(f"{told} is of a type that NumPy does not know, as fp8: save it as float32") from None
            raise
        there = archive.getinfo(entry).file_size - file.tell()
    if dtype.kind not in "fiu":
        raw = dtype.kind == "V" and dtype.names is None and dtype.subdtype is None
        hint = ", which NumPy writes bfloat16 and fp8 as" if raw else ""
        raise Refused(f"{told} is of {_kind(dtype)}{hint}; gradients are real numbers: save it as float32")
    if math.prod(shape) * dtype.itemsize > there:
        raise Refused(f"{told} is damaged: there are {there:,} bytes for the shape {clip(str(shape))}: save it again")


def _kind(dtype: np.dtype) -> str:
    return "Python objects" if dtype.hasobject else clip(str(dtype))


def _as_float32(array: np.ndarray) -> tuple[np.ndarray, str]:
    """The array as float32, and what of it that type could not hold, in words, "" for nothing."""
    with np.errstate(over="ignore", under="ignore"):
        made = array.astype(np.float32, copy=False)
    if array.dtype.itemsize <= made.dtype.itemsize or array.dtype.kind != "f":
        return made, ""
    over = np.count_nonzero(np.isfinite(array) & ~np.isfinite(made))
    under = np.count_nonzero((array != 0) & (made == 0))
    parts = [f"{count(over, 'value')} above 3.4e+38 became inf"] if over else []
    parts += [f"{count(under, 'value')} below 7e-46 became 0"] if under else []
    return made, f"is read as float32: {', '.join(parts)}." if parts else ""


@contextmanager
def _archive(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """The open archive. What cannot be read in the block is Refused."""
    if str(path) == "":
        raise Refused("the path of the gradients is empty: give a checkpoint of char_gpt.py, or an .npz of arrays")
    try:
        if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
            raise Refused(f"{str(path)!r} is a pipe or a device: give an .npz file, which is read from its end")
        with Path(path).open("rb") as file, zipfile.ZipFile(file) as archive:
            yield archive
    except FileNotFoundError:
        raise Refused(f"there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise Refused(f"{str(path)!r} is a folder: give the path of an .npz file in it") from None
    except DAMAGED as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refused(
            f"{str(path)!r} is no .npz file, or is damaged ({clip(reason, 120)}): give a checkpoint of char_gpt.py, or "
            "what numpy.savez wrote"
        ) from None


def _named(name: str) -> str:
    return repr(clip(visible(name)))
