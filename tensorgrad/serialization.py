"""Saving tensors to files and loading them again, without pickle: nothing in a file is ever run.

An archive of NumPy's, `.npz`, holds any nesting of dicts, lists and tuples of tensors, arrays, numbers, strings, None
and dtypes: the arrays under the path to them, so that `numpy.load(file)["layer.weight"]` works, and the nesting as JSON
in `structure.json`. A `.safetensors` file holds a dict of tensors, and is read by many other programs.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensorgrad.devices import check_device
from tensorgrad.node import ArrayNode, new
from tensorgrad.settings import kind

try:
    from lzma import LZMAError
except ImportError:  # a Python that was built without it reads no such entries
    LZMAError = zlib.error  # type: ignore[assignment,misc]

_STRUCTURE = "structure.json"
_ARCHIVES = (".npz", ".pt", ".pth")
_TENSORS = ".safetensors"
_FORMAT = "tensorgrad 1"
_LONGEST = 14_000  # bits of a whole number; Python reads no more than 4300 digits
_TENSOR_DTYPES = [
    np.dtype(name) for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8")
]

DAMAGED = (
    AttributeError,
    EOFError,
    KeyError,
    LZMAError,
    OSError,
    OverflowError,
    RuntimeError,  # an entry that is encrypted, or nested too deep, or packed in a way that this Python has not
    SyntaxError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading raises where bytes are missing or were changed."""


def save(obj: Any, f: str | os.PathLike[str] | IO[bytes]) -> None:
    """Write `obj` to a file, or as an archive to an open file such as io.BytesIO.

    The suffix decides: `.safetensors` for a dict of tensors with names; `.npz` for any nesting of tensors, numbers and
    strings, as the states of modules and optimizers are. `.pt` and `.pth` are taken for torch's sake and hold the
    archive that `.npz` does, which torch cannot read. A file appears whole or not at all, in the place of an older one.

    Raises TypeError, naming the place, for what such a file cannot hold; ValueError for another suffix.
    """
    if hasattr(f, "write"):
        _check_binary("save", f, "wb")
        _write_archive(obj, f)
        return
    path = _path("save", f)
    write = _write_tensors if _suffix("save", path) == _TENSORS else _write_archive
    if not path.parent.is_dir():
        raise FileNotFoundError(f"save: there is no folder {str(path.parent)!r} for {path.name!r}: make it first")
    _replace(path, lambda file: write(obj, file))


def load(f: str | os.PathLike[str] | IO[bytes], map_location: Any = None, *, weights_only: bool = True) -> Any:
    """What `save` wrote: new tensors, that require no gradient. Dicts of every kind come back as dict.

    map_location  the device: only "cpu", or None; a dict from devices to this one
    weights_only  taken for torch's sake: no file can hold anything to run

    Raises FileNotFoundError, and ValueError that names the file where it is damaged or no such file.
    """
    if not callable(map_location):
        for device in map_location.values() if isinstance(map_location, dict) else (map_location,):
            check_device("load", device)
    if hasattr(f, "read"):
        _check_binary("load", f, "rb")
        return _read_archive(f, "the open file")
    path = _path("load", f)
    read = _read_tensors if _suffix("load", path) == _TENSORS else _read_archive
    try:
        with path.open("rb") as file:
            return read(file, repr(str(path)))
    except FileNotFoundError:
        raise FileNotFoundError(f"load: there is no file {str(path)!r}") from None


# -- files -------------------------------------------------------------------------------------------------------------


def _path(op: str, f: Any) -> Path:
    if not isinstance(f, (str, os.PathLike)):
        raise TypeError(f"{op}: takes a path or an open file, got a {type(f).__name__}")
    path = Path(f)
    if "\0" in str(path):
        raise ValueError(f"{op}: {str(path)!r} is no path: no name has the character '\\0' in it")
    if path.is_dir():
        raise IsADirectoryError(f"{op}: {str(path)!r} is a folder: give the path of a file in it")
    return path


def _check_binary(op: str, f: Any, mode: str) -> None:
    if isinstance(f, io.TextIOBase):
        raise TypeError(f"{op}: the file is open for text: open it with mode {mode!r}")


def _suffix(op: str, path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (*_ARCHIVES, _TENSORS):
        raise ValueError(
            f"{op}: the suffix of {str(path)!r} names no format: end it in .npz, or in .safetensors for a dict of "
            "tensors that other programs are to read"
        )
    return suffix


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a new file beside `path`, and then put it in its place in one step."""
    path = Path(os.path.realpath(path))  # a link stays a link
    beside = path.with_name(f".unfinished-{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


# -- archives ----------------------------------------------------------------------------------------------------------


def _write_archive(obj: Any, file: IO[bytes]) -> None:
    arrays: dict[str, np.ndarray] = {}
    try:
        structure = _described(obj, "", arrays, {}, ())
        text = json.dumps({"format": _FORMAT, "value": structure})
    except RecursionError:
        raise ValueError("save: what is to be saved is nested too deeply") from None
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_STRUCTURE, text)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _described(
    x: Any, place: str, arrays: dict[str, np.ndarray], names: dict[int, str], around: tuple[int, ...]
) -> Any:
    """`x` in terms of JSON, with each array put into `arrays` under its place; one that is there twice, once."""
    if x is None or isinstance(x, (bool, str)):
        return x
    if isinstance(x, (ArrayNode, np.ndarray)):
        array = x._data if isinstance(x, ArrayNode) else x
        _check_array(_where(place), array)
        if id(array) not in names:
            names[id(array)] = _free_name(place or "value", arrays)
            arrays[names[id(array)]] = array
        return {"tensor" if isinstance(x, ArrayNode) else "array": names[id(array)]}
    if isinstance(x, (int, np.integer, np.bool_)):
        if isinstance(x, int) and x.bit_length() > _LONGEST:
            raise ValueError(f"save: {_where(place)} is a whole number of more than {_LONGEST} bits")
        return x.item() if isinstance(x, np.generic) else int(x)
    if isinstance(x, (float, np.floating)):
        return float(x) if np.isfinite(x) else {"float": str(float(x))}
    if isinstance(x, np.dtype):
        return {"dtype": x.str}
    if id(x) in around:
        raise ValueError(f"save: {_where(place)} holds itself")
    around = (*around, id(x))
    if isinstance(x, dict):
        parts = [
            [_described(key, place, {}, {}, ()), _described(value, _join(place, key), arrays, names, around)]
            for key, value in x.items()
            if _is_key(key, place)
        ]
        return {"dict": parts}
    if isinstance(x, (list, tuple)):
        name = "list" if isinstance(x, list) else "tuple"
        return {name: [_described(part, _join(place, i), arrays, names, around) for i, part in enumerate(x)]}
    raise TypeError(
        f"save: {_where(place)} is {kind(x)}; files hold tensors, arrays, numbers, strings, None, and "
        "dicts, lists and tuples of these (of an object, save its state_dict() or vars())"
    )


def _check_array(where: str, array: np.ndarray) -> None:
    if array.dtype.kind not in "biufc":
        raise TypeError(f"save: {where} is an array of {array.dtype}; files hold arrays of numbers")
    if np.ma.is_masked(array):
        raise TypeError(f"save: {where} has masked elements, which files do not have: write .filled(...)")


def _is_key(key: Any, place: str) -> bool:
    if key is None or isinstance(key, (str, bool, int, float)):
        return True
    if isinstance(key, tuple):
        return all(_is_key(part, place) for part in key)
    raise TypeError(f"save: a key in {_where(place)} is a {type(key).__name__}; keys are strings, numbers or tuples")


def _join(place: str, key: Any) -> str:
    return f"{place}/{key}" if place else str(key)


def _where(place: str) -> str:
    return repr(place) if place else "what is to be saved"


def _free_name(place: str, arrays: dict[str, np.ndarray]) -> str:
    """`place`, or where it is taken or no name for an entry, one that is."""
    name = place if place.isprintable() and not place.startswith("/") else "value"
    while name in arrays or f"{name}.npy" == _STRUCTURE:
        name += "_"
    return name


def _read_archive(file: IO[bytes], source: str) -> Any:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            if _STRUCTURE not in names:
                raise _Refused(_foreign(names, source))
            structure = json.loads(archive.read(_STRUCTURE))
            if structure["format"] != _FORMAT:
                raise _Refused(f"load: {source} has the format {structure['format']!r}, this version reads {_FORMAT!r}")
            arrays = {name.removesuffix(".npy"): _read_array(archive, name) for name in names if name != _STRUCTURE}
        return _rebuilt(structure["value"], arrays)
    except _Refused as refused:
        raise ValueError(str(refused)) from None
    except DAMAGED as error:
        raise ValueError(
            f"load: {source} is no archive that save wrote, or is damaged ({error}): save it again"
        ) from error


class _Refused(Exception):
    """A file that is whole but not one of ours; the text is for the user."""


def _read_array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as entry:
        array = np.lib.format.read_array(entry, allow_pickle=False)
    if array.dtype.kind not in "biufc":
        raise ValueError(f"an array of {array.dtype} in it")
    return array


def _foreign(names: list[str], source: str) -> str:
    if any(name.endswith("data.pkl") for name in names):
        return (
            f"load: {source} was written by torch.save, as a pickle, which can run code and is not read here: in "
            "torch, write the tensors with safetensors.torch.save_file and load that"
        )
    return f"load: {source} was not written by save: for any archive of arrays use numpy.load and from_numpy"


def _rebuilt(x: Any, arrays: dict[str, np.ndarray]) -> Any:
    if not isinstance(x, dict):
        return x
    [(kind, content)] = x.items()
    if kind == "tensor":
        return new(arrays[content])
    if kind == "array":
        return arrays[content]
    if kind == "float":
        return float(content)
    if kind == "dtype":
        return np.dtype(content)
    if kind == "dict":
        return {_rebuilt(key, arrays): _rebuilt(value, arrays) for key, value in content}
    parts = [_rebuilt(part, arrays) for part in content]
    return tuple(parts) if kind == "tuple" else parts


# -- safetensors -------------------------------------------------------------------------------------------------------


def _write_tensors(obj: Any, file: IO[bytes]) -> None:
    if not isinstance(obj, dict):
        raise TypeError(f"save: a .safetensors file holds a dict of tensors, got a {type(obj).__name__}: use .npz")
    arrays = {}
    for name, x in obj.items():
        array = x._data if isinstance(x, ArrayNode) else x
        if not isinstance(name, str) or not isinstance(array, np.ndarray):
            raise TypeError(
                f"save: a .safetensors file holds tensors by name, and {name!r} is a {type(x).__name__}: use .npz"
            )
        if name == "__metadata__" or (not name.isascii() and name != name.encode("utf-8", "replace").decode()):
            raise ValueError(
                f"save: {name!r} cannot be the name of a tensor in a .safetensors file: use another, or .npz"
            )
        _check_array(repr(name), array)
        if array.dtype.newbyteorder("=") not in _TENSOR_DTYPES:
            raise TypeError(f"save: {name!r} is of {array.dtype}, which .safetensors files do not have: use .npz")
        arrays[name] = np.ascontiguousarray(array) if array.ndim else array
    file.write(_safetensors().save(arrays))


def _read_tensors(file: IO[bytes], source: str) -> dict[str, Any]:
    module = _safetensors()
    content = file.read()
    try:
        return {name: new(array) for name, array in module.load(content).items()}
    except Exception as error:  # the package has an exception of its own, and NumPy's for dtypes that it lacks
        raise ValueError(
            f"load: {source} is no safetensors file, is damaged, or has a dtype that NumPy lacks ({error})"
        ) from error


def _safetensors() -> Any:
    """The package, which only these files need."""
    try:
        return import_module("safetensors.numpy")
    except ImportError:
        raise ImportError(
            "files with the suffix .safetensors need the package of that name: pip install 'plusequals[safetensors]', "
            "or use the suffix .npz"
        ) from None
