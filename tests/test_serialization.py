"""Saving and loading: what comes back, whole files or none, damaged files, errors that name the place."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, load, nn, optim, save, serialization, tensor


def same(a: Any, b: Any) -> bool:
    """Equal, of the same types, arrays and tensors in value, shape and dtype."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (Tensor, np.ndarray)):
        a, b = (x.data if isinstance(x, Tensor) else x for x in (a, b))
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or (a != a and b != b)


THINGS = {
    "tensor": tensor([[1.0, 2.0]]),
    "0-d": tensor(3),
    "empty": tensorgrad.zeros(2, 0),
    "transposed": tensorgrad.arange(6).reshape(2, 3).T,
    "reversed": tensor(np.arange(6.0)[::-2]),
    "dtypes": [tensorgrad.ones(2, dtype=d) for d in ("float16", "float64", "int8", "uint8", "int64", "bool")],
    "array": np.array([1.5, np.nan, np.inf]),
    "numbers": [1, -(2**70), 1.5, 1e-300, float("nan"), float("inf"), float("-inf"), True, False, None],
    "text": {"a": "b", "": "", "umlaut": "ä\n", "tensor": "tensor"},
    "keys": {1: "a", 2.5: "b", None: "c", (1, "x"): "d", False: "e"},
    "nested": {
        "model": {"w": tensor([1.0]), "b": [tensor([2.0]), (3, {"deep": np.arange(2)})]},
        "step": 7,
        "empty": {},
    },
    "odd names": {"a/b": tensor([1.0]), "a": {"b": tensor([2.0])}, "structure.json": tensor([3.0]), "/": tensor([4.0])},
    "no name": {"": tensor([1.0]), "\n": tensor([2.0])},
    "dtype": {"dtype": tensorgrad.float32},
}


@pytest.mark.parametrize("name", THINGS)
@pytest.mark.parametrize("where", ["path", "str", "file"])
def test_what_was_saved_comes_back(tmp_path: Path, name: str, where: str) -> None:
    thing = THINGS[name]
    place: Any = {"path": tmp_path / "a.npz", "str": str(tmp_path / "a.npz"), "file": io.BytesIO()}[where]
    save(thing, place)
    if where == "file":
        place.seek(0)
    assert same(load(place), thing)


def test_what_else_becomes_of_things() -> None:
    buffer = io.BytesIO()
    w = nn.Parameter([1.0])
    save({"w": w, "int": np.int64(3), "float": np.float32(0.5), "bool": np.True_}, buffer)
    found = load(buffer)
    assert type(found["w"]) is Tensor
    assert not found["w"].requires_grad
    assert [type(found[key]) for key in ("int", "float", "bool")] == [int, float, bool]


def test_one_array_under_two_names_stays_one(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(50, 50), nn.Linear(50, 50))
    net[1].weight = net[0].weight
    save(net.state_dict(), tmp_path / "net.npz")
    assert (tmp_path / "net.npz").stat().st_size < 1.5 * net[0].weight.data.nbytes + 3000
    found = load(tmp_path / "net.npz")
    assert found["0.weight"].data is found["1.weight"].data


def test_numpy_reads_the_arrays(tmp_path: Path) -> None:
    save({"layer.weight": tensor([1.0, 2.0])}, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["layer.weight"], [1.0, 2.0])


@pytest.mark.parametrize("suffix", [".npz", ".pt", ".pth"])
def test_a_training_goes_on_from_a_file(tmp_path: Path, suffix: str) -> None:
    def parts() -> tuple[nn.Module, optim.AdamW, Any]:
        net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        optimizer = optim.AdamW(net.parameters(), lr=0.1)
        warmup = optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=3)
        cosine = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
        return net, optimizer, optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], [3])

    def train(net: nn.Module, optimizer: Any, scheduler: Any) -> None:
        for step in range(4):
            optimizer.zero_grad()
            (net(tensor([[1.0, step]])) ** 2).sum().backward()
            optimizer.step()
            scheduler.step()

    first = parts()
    train(*first)
    save([part.state_dict() for part in first], tmp_path / f"checkpoint{suffix}")
    train(*first)
    second = parts()
    for part, state in zip(second, load(tmp_path / f"checkpoint{suffix}", map_location="cpu"), strict=True):
        part.load_state_dict(state)
    train(*second)
    for p, q in zip(first[0].parameters(), second[0].parameters(), strict=True):
        np.testing.assert_array_equal(p.data, q.data)


# -- safetensors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["0-d", "empty", "transposed", "reversed"])
def test_safetensors(tmp_path: Path, name: str) -> None:
    save({"a.b": THINGS[name], "c": np.arange(3)}, tmp_path / "a.safetensors")
    found = load(tmp_path / "a.safetensors")
    assert same(found["a.b"], THINGS[name])
    assert same(found["c"], tensor(np.arange(3)))


def test_safetensors_from_torch_and_back(torch: ModuleType, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    theirs = torch.nn.Linear(3, 2)
    safetensors.save_file(theirs.state_dict(), tmp_path / "torch.safetensors")
    ours = nn.Linear(3, 2)
    ours.load_state_dict(load(tmp_path / "torch.safetensors"))
    np.testing.assert_array_equal(ours.weight.data, theirs.weight.detach().numpy())
    save(ours.state_dict(), tmp_path / "ours.safetensors")
    assert torch.equal(safetensors.load_file(tmp_path / "ours.safetensors")["weight"], theirs.weight)


def test_safetensors_is_asked_for_only_where_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(serialization, "import_module", missing)
    save({"a": tensor([1.0])}, tmp_path / "a.npz")
    with pytest.raises(ImportError, match=r"pip install 'plusequals\[safetensors\]', or use the suffix .npz"):
        save({"a": tensor([1.0])}, tmp_path / "a.safetensors")
    assert os.listdir(tmp_path) == ["a.npz"]


# -- whole or not at all -----------------------------------------------------------------------------------------------


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.npz"
    save(tensor([1.0]), path)

    def full(*args: Any, **kwargs: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="no space left"):
        save(tensor([2.0]), path)
    with pytest.raises(TypeError):
        save(object(), path)
    assert os.listdir(tmp_path) == ["a.npz"]
    assert load(path).item() == 1.0


def test_a_new_file_replaces_the_old_one_and_keeps_links(tmp_path: Path) -> None:
    (tmp_path / "a.npz").symlink_to(tmp_path / "b.npz")
    for number in (1.0, 2.0):
        save(tensor([number]), tmp_path / "a.npz")
    assert (tmp_path / "a.npz").is_symlink()
    assert load(tmp_path / "b.npz").item() == 2.0


# -- errors ------------------------------------------------------------------------------------------------------------


class Config:
    pass


def loop() -> list[Any]:
    x: list[Any] = []
    x.append({"again": x})
    return x


@pytest.mark.parametrize(
    ("thing", "error", "message"),
    [
        ({"model": [Config()]}, TypeError, r"'model/0' is a .*Config; .*state_dict\(\) or vars\(\)"),
        (nn.Linear(1, 1), TypeError, "what is to be saved is a .*Linear"),
        ({"a": {1, 2}}, TypeError, "'a' is a set"),
        ({"a": {Config: 1}}, TypeError, "a key in 'a' is a type"),
        ({"a": np.array([None])}, TypeError, "'a' is an array of object"),
        ({"a": np.array(["x"])}, TypeError, "'a' is an array of <U1"),
        (loop(), ValueError, "'0/again' holds itself"),
    ],
)
def test_what_cannot_be_saved(tmp_path: Path, thing: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        save(thing, tmp_path / "a.npz")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("thing", [[tensor([1.0])], {"a": 3}, {3: tensor([1.0])}, {"a": {"b": tensor([1.0])}}])
def test_what_safetensors_cannot_hold(tmp_path: Path, thing: Any) -> None:
    with pytest.raises(TypeError, match=r"use \.npz"):
        save(thing, tmp_path / "a.safetensors")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a.txt' names no format: end it in .npz"):
        save(1, tmp_path / "a.txt")
    with pytest.raises(ValueError, match="names no format"):
        load(tmp_path / "a")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*a.npz"):
        load(tmp_path / "a.npz")
    with pytest.raises(FileNotFoundError, match=r"no folder .*missing' for 'a.npz'"):
        save(1, tmp_path / "missing" / "a.npz")
    for call in (lambda: save(1, None), lambda: load(3)):
        with pytest.raises(TypeError, match="takes a path or an open file"):
            call()
    with pytest.raises(RuntimeError, match="cuda"):
        load(tmp_path / "a.npz", map_location="cuda")


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_damaged_files_are_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    save({"a": tensorgrad.arange(100)}, path)
    whole = path.read_bytes()
    for content in (b"", b"text", whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"load: '.*a{suffix}' is no"):
            load(path)


def test_changed_bytes_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save({"a": tensorgrad.arange(100)}, path)
    content = bytearray(path.read_bytes())
    content[content.index(bytes([50, 0, 0, 0, 0, 0, 0, 0]))] = 51
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a.npz' is no archive that save wrote, or is damaged"):
        load(path)


@pytest.mark.parametrize("packed", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_archives_that_were_packed_anew_and_damaged(tmp_path: Path, packed: int) -> None:
    save({"a": tensorgrad.arange(100)}, tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz") as old, zipfile.ZipFile(tmp_path / "b.npz", "w", packed) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    content = bytearray((tmp_path / "b.npz").read_bytes())
    content[60:70] = bytes(10)
    (tmp_path / "b.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"b.npz' is no archive that save wrote, or is damaged"):
        load(tmp_path / "b.npz")


def test_archives_of_others_say_what_to_do(torch: ModuleType, tmp_path: Path) -> None:
    torch.save({"a": torch.ones(1)}, tmp_path / "theirs.pt")
    with pytest.raises(ValueError, match=r"theirs.pt' was written by torch.save.*safetensors.torch.save_file"):
        load(tmp_path / "theirs.pt")
    np.savez(tmp_path / "numpys.npz", a=np.ones(1))
    with pytest.raises(ValueError, match=r"numpys.npz' was not written by save: .*numpy.load"):
        load(tmp_path / "numpys.npz")
    save(1, tmp_path / "later.npz")
    with zipfile.ZipFile(tmp_path / "later.npz", "w") as archive:
        archive.writestr("structure.json", '{"format": "tensorgrad 9", "value": 1}')
    with pytest.raises(ValueError, match="'tensorgrad 9', this version reads 'tensorgrad 1'"):
        load(tmp_path / "later.npz")


def test_nothing_in_a_file_is_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", a=np.array([Config()], dtype=object))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("structure.json", '{"format": "tensorgrad 1", "value": {"tensor": "a"}}')
    with pytest.raises(ValueError, match="damaged"):
        load(tmp_path / "a.npz")


def test_a_folder_an_impossible_name_and_a_file_open_for_text(tmp_path: Path) -> None:
    folder = tmp_path / "a.npz"
    folder.mkdir()
    for call in (lambda f: save({}, f), load):
        with pytest.raises(IsADirectoryError, match=r"(save|load): '.*a.npz' is a folder: give the path of a file"):
            call(folder)
        with pytest.raises(ValueError, match=r"(save|load): .* is no path"):
            call("a\0b.npz")
        with (tmp_path / "text").open("w+") as file, pytest.raises(TypeError, match=r"open it with mode '(wb|rb)'"):
            call(file)
    assert sorted(os.listdir(tmp_path)) == ["a.npz", "text"]


def test_the_longest_name_that_a_file_can_have(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 251 + ".npz")
    save({"x": 1}, path)
    assert load(path) == {"x": 1}
    assert os.listdir(tmp_path) == [path.name]


def _nested(depth: int) -> list:
    found: list = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("thing", "suffix", "error", "message"),
    [
        (_nested(100_000), ".npz", ValueError, "nested too deeply"),
        ({"n": 10**5000}, ".npz", ValueError, "'n' is a whole number of more than"),
        ({"m": np.ma.masked_array([1.0], [True])}, ".npz", TypeError, "'m' has masked elements"),
        ({"\ud800": tensor(1)}, ".safetensors", ValueError, "cannot be the name of a tensor in a .safetensors"),
        ({"__metadata__": tensor(1)}, ".safetensors", ValueError, "cannot be the name of a tensor in a .safetensors"),
        ({"z": tensor(1j)[None].data.astype(complex)}, ".safetensors", TypeError, "'z' is of complex128, which"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_no_file_holds_leaves_the_old_file(
    tmp_path: Path, thing: Any, suffix: str, error: type[Exception], message: str
) -> None:
    path = tmp_path / f"a{suffix}"
    save({"x": tensor([1.0])}, path)
    with pytest.raises(error, match=f"save: .*{message}"):
        save(thing, path)
    assert load(path)["x"].tolist() == [1.0]
    assert os.listdir(tmp_path) == [path.name]


def test_archives_built_by_others_are_refused_not_half_believed(tmp_path: Path) -> None:
    texts = io.BytesIO()
    np.save(texts, np.array(["x"]))
    for structure in (
        '{"format": "tensorgrad 1", "value": {"tensor": "a"}}',
        "[" * 100_000 + "]" * 100_000,
        "[]",
        '{"format": "tensorgrad 1", "value": {"dict": [[{"list": []}, 1]]}}',
    ):
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("structure.json", structure)
            archive.writestr("a.npy", texts.getvalue())
        with pytest.raises(ValueError, match=r"load: '.*a.npz' is no archive that save wrote, or is damaged"):
            load(tmp_path / "a.npz")


def test_a_map_of_devices(tmp_path: Path) -> None:
    save({"x": 1}, tmp_path / "a.npz")
    assert load(tmp_path / "a.npz", map_location={"cuda:0": "cpu"}) == {"x": 1}
    with pytest.raises(RuntimeError, match="the one device is 'cpu'"):
        load(tmp_path / "a.npz", map_location={"cuda:0": "cuda:1"})
