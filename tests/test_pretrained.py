"""GPT-2's weights from Hugging Face's files: logits and gradients as torch has them, and what wrong files give.

The checkpoint is written by the package safetensors in the format of the published `gpt2`, tiny and random; the
reference in torch reads its tensors by their names there, with `Conv1D` as x @ weight + bias.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from conftest import missing

import tensorgrad
from tensorgrad.models import GPT, GPTConfig, tensor_files
from tensorgrad.models.pretrained import save_pretrained

V, T, C, H, N = 13, 8, 8, 2, 2
CONFIG = {
    "activation_function": "gelu_new",
    "architectures": ["GPT2LMHeadModel"],
    "attn_pdrop": 0.1,
    "layer_norm_epsilon": 1e-05,
    "model_type": "gpt2",
    "n_ctx": T,
    "n_embd": C,
    "n_head": H,
    "n_layer": N,
    "n_positions": T,
    "vocab_size": V,
}
Arrays = dict[str, np.ndarray]


def numpy_files() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        missing("safetensors is not installed")
        raise
    return safetensors.numpy


def arrays_of(dtype: Any = np.float32, masks: bool = True) -> Arrays:
    """Random tensors by the names that the published file has."""
    rng = np.random.default_rng(5)

    def drawn(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(dtype)

    arrays = {"wte.weight": drawn(V, C), "wpe.weight": drawn(T, C)}
    for i in range(N):
        for name, shape in {"attn.c_attn": (C, 3 * C), "attn.c_proj": (C, C)}.items():
            arrays |= {f"h.{i}.{name}.weight": drawn(*shape), f"h.{i}.{name}.bias": drawn(shape[1])}
        for name, shape in {"mlp.c_fc": (C, 4 * C), "mlp.c_proj": (4 * C, C)}.items():
            arrays |= {f"h.{i}.{name}.weight": drawn(*shape), f"h.{i}.{name}.bias": drawn(shape[1])}
        for name in ("ln_1", "ln_2"):
            arrays |= {f"h.{i}.{name}.weight": 1 + drawn(C), f"h.{i}.{name}.bias": drawn(C)}
        if masks:
            arrays[f"h.{i}.attn.bias"] = np.tril(np.ones((1, 1, T, T), np.float32))
            arrays[f"h.{i}.attn.masked_bias"] = np.array(-1e4, np.float32)
    return arrays | {"ln_f.weight": 1 + drawn(C), "ln_f.bias": drawn(C)}


def write(folder: Path, arrays: Arrays | None = None, config: Any = None) -> Path:
    arrays = arrays_of() if arrays is None else arrays
    (folder / "config.json").write_text(json.dumps(CONFIG | (config or {})))
    numpy_files().save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def reference(torch: ModuleType, arrays: Arrays, tokens: np.ndarray, targets: np.ndarray) -> tuple[Any, dict[str, Any]]:
    """Logits (B, T, V), and the gradient of their mean cross entropy for each tensor by its name in the file."""
    w = {name: torch.tensor(a, requires_grad=True) for name, a in arrays.items() if ".attn.bias" not in name}
    F = torch.nn.functional

    def norm(x: Any, name: str) -> Any:
        return F.layer_norm(x, (C,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)

    def conv(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    length = tokens.shape[1]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    x = w["wte.weight"][torch.tensor(tokens)] + w["wpe.weight"][:length]
    for i in range(N):
        q, k, v = conv(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(C, dim=2)
        q, k, v = (part.unflatten(2, (H, C // H)).transpose(1, 2) for part in (q, k, v))
        scores = (q @ k.transpose(2, 3) / math.sqrt(C // H)).masked_fill(later, -math.inf)
        x = x + conv((scores.softmax(3) @ v).transpose(1, 2).flatten(2), f"h.{i}.attn.c_proj")
        u = conv(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        u = 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))  # gelu_new
        x = x + conv(u, f"h.{i}.mlp.c_proj")
    logits = norm(x, "ln_f") @ w.get("lm_head.weight", w["wte.weight"]).T
    F.cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten()).backward()
    return logits.detach().numpy(), {name: p.grad.numpy() for name, p in w.items() if p.grad is not None}


def names_here(arrays: Arrays) -> dict[str, tuple[str, bool]]:
    """The parameter of each tensor in the file, written out once more, and whether it lies the other way round."""
    found = {"wte.weight": ("tokens.weight", False), "wpe.weight": ("positions.weight", False)}
    found |= {f"ln_f.{p}": (f"norm.{p}", False) for p in ("weight", "bias")}
    for i in range(N):
        for p in ("weight", "bias"):
            found |= {f"h.{i}.ln_{n}.{p}": (f"blocks.{i}.norm{n}.{p}", False) for n in (1, 2)}
            found[f"h.{i}.attn.c_attn.{p}"] = (f"blocks.{i}.attention.qkv.{p}", p == "weight")
            found[f"h.{i}.attn.c_proj.{p}"] = (f"blocks.{i}.attention.proj.{p}", p == "weight")
            found[f"h.{i}.mlp.c_fc.{p}"] = (f"blocks.{i}.mlp.up.{p}", p == "weight")
            found[f"h.{i}.mlp.c_proj.{p}"] = (f"blocks.{i}.mlp.down.{p}", p == "weight")
    return found | ({"lm_head.weight": ("head.weight", False)} if "lm_head.weight" in arrays else {})


# -- the numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_logits_and_gradients_are_torchs(
    torch: ModuleType, tmp_path: Path, tied: bool, dtype: type, limit: float
) -> None:
    arrays = arrays_of(dtype)
    if not tied:
        arrays["lm_head.weight"] = np.random.default_rng(6).normal(0, 0.3, (V, C)).astype(dtype)
    model = GPT.from_pretrained(write(tmp_path, arrays, {"tie_word_embeddings": tied}), dtype=dtype)
    tokens, targets = np.random.default_rng(7).integers(0, V, (2, 3, T - 1))
    logits, gradients = reference(torch, arrays, tokens, targets)
    scores = model(tensorgrad.tensor(tokens))
    tensorgrad.nn.functional.cross_entropy(scores.view(-1, V), tensorgrad.tensor(targets).view(-1)).backward()
    assert scores.data.dtype == dtype
    np.testing.assert_allclose(scores.data, logits, rtol=limit, atol=limit)
    names = names_here(arrays)
    assert {name for name, _ in names.values()} == {name for name, _ in model.named_parameters()}
    assert set(gradients) == set(names)
    for theirs, (ours, turned) in names.items():
        g = model.get_parameter(ours).grad
        assert np.abs(g.T if turned else g).max() > 1e-4, ours
        np.testing.assert_allclose(g.T if turned else g, gradients[theirs], rtol=0, atol=limit, err_msg=ours)


def test_the_model_is_as_a_new_one(tmp_path: Path) -> None:
    tensorgrad.manual_seed(3)
    before = tensorgrad.get_rng_state().data.copy()
    model = GPT.from_pretrained(str(write(tmp_path)), dropout=0.25)
    np.testing.assert_array_equal(tensorgrad.get_rng_state().data, before)  # nothing was drawn
    new = GPT(GPTConfig(V, T, N, H, C, dropout=0.25))
    assert model.config == new.config
    assert repr(model) == repr(new)
    assert model.training
    assert model.head.weight is model.tokens.weight
    for (name, p), (other, q) in zip(model.named_parameters(), new.named_parameters(), strict=True):
        assert (name, p.shape, p.dtype, p.requires_grad) == (other, q.shape, q.dtype, True)
        assert p.data.flags.c_contiguous, name
        assert p.data.flags.writeable, name


def test_files_in_halves_are_read_as_floats_of_32_bits(torch: ModuleType, tmp_path: Path) -> None:
    files = pytest.importorskip("safetensors.torch")
    arrays = arrays_of(masks=False)
    write(tmp_path, arrays)
    for dtype in (torch.float16, torch.bfloat16):
        stored = {name: torch.tensor(a).to(dtype) for name, a in arrays.items()}
        files.save_file(stored, tmp_path / "model.safetensors")
        state = GPT.from_pretrained(tmp_path).state_dict()
        for theirs, (ours, turned) in names_here(arrays).items():
            wanted = stored[theirs].float().numpy()
            assert state[ours].dtype == np.float32
            np.testing.assert_array_equal(state[ours].data, wanted.T if turned else wanted)


def test_names_with_the_prefix_and_a_tied_head_in_the_file(tmp_path: Path) -> None:
    plain = GPT.from_pretrained(write(tmp_path))
    arrays = {f"transformer.{name}": a for name, a in arrays_of().items()}
    arrays["lm_head.weight"] = arrays["transformer.wte.weight"].copy()
    config = {"n_inner": 4 * C, "n_positions": T, "reorder_and_upcast_attn": True}
    same(plain, GPT.from_pretrained(write(tmp_path, arrays, config)))


def test_a_model_in_several_files(tmp_path: Path) -> None:
    plain = GPT.from_pretrained(write(tmp_path))
    (tmp_path / "model.safetensors").unlink()
    parts: list[Arrays] = [{}, {}]
    places = {}
    for i, (name, array) in enumerate(arrays_of().items()):
        parts[i % 2][name] = array
        places[name] = f"model-0000{i % 2 + 1}-of-00002.safetensors"
    for i, part in enumerate(parts):
        numpy_files().save_file(part, tmp_path / f"model-0000{i + 1}-of-00002.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": places}))
    same(plain, GPT.from_pretrained(tmp_path))
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file 'model-00002-of-00002.safetensors'"):
        GPT.from_pretrained(tmp_path)
    index.write_text(json.dumps({"weight_map": {"a": f"{'x' * 5_000}.safetensors"}}))
    with pytest.raises(FileNotFoundError, match=r"GPT.from_pretrained: there is no file 'x+.safetensors'"):
        GPT.from_pretrained(tmp_path)
    for wrong in ({"a": "../b.safetensors"}, {"a": 3}, {}, None):
        index.write_text(json.dumps({"weight_map": wrong}))
        with pytest.raises(ValueError, match=r"index.json' (names '../b|has no 'weight_map')"):
            GPT.from_pretrained(tmp_path)


def same(a: GPT, b: GPT) -> None:
    for (name, x), (other, y) in zip(a.state_dict().items(), b.state_dict().items(), strict=True):
        assert name == other
        np.testing.assert_array_equal(x.data, y.data, err_msg=name)


@pytest.mark.parametrize("tied", [True, False])
def test_what_is_saved_is_loaded(tmp_path: Path, tied: bool) -> None:
    numpy_files()
    model = GPT(GPTConfig(V, T, N, H, C, tied=tied))
    save_pretrained(model, tmp_path / "new" / "folder")
    found = GPT.from_pretrained(tmp_path / "new" / "folder")
    same(model, found)
    assert found.config == model.config
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == ["config.json", "model.safetensors"]
    stored = numpy_files().load_file(tmp_path / "new" / "folder" / "model.safetensors")
    assert stored["transformer.h.0.mlp.c_fc.weight"].shape == (C, 4 * C)
    assert ("lm_head.weight" in stored) is not tied


def test_what_is_not_saved(tmp_path: Path) -> None:
    numpy_files()
    with pytest.raises(ValueError, match=r"has no biases.*tensorgrad.save"):
        save_pretrained(GPT(GPTConfig(V, T, N, H, C, bias=False)), tmp_path / "a")
    (tmp_path / "b").write_text("")
    model = GPT(GPTConfig(V, T, N, H, C))
    for wrong, error, message in [
        (tmp_path / "b", NotADirectoryError, "b' is a file: give a folder"),
        (tmp_path / "b" / "c", NotADirectoryError, "c' cannot be written to"),
        (tmp_path / ("x" * 5_000), OSError, "x' cannot be written to"),
    ]:
        with pytest.raises(error, match=f"save_pretrained: .*{message}"):
            save_pretrained(model, wrong)
    for other in (None, "gpt2", tensorgrad.nn.Linear(2, 2)):
        with pytest.raises(TypeError, match="save_pretrained: takes a GPT, got"):
            save_pretrained(other, tmp_path / "a")  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == ["b"]
    for name in ("config.json", "model.safetensors"):
        (tmp_path / f"in {name}" / name).mkdir(parents=True)
        with pytest.raises(IsADirectoryError, match=f"{name}' is a folder, in the place of a file"):
            save_pretrained(model, tmp_path / f"in {name}")
        assert os.listdir(tmp_path / f"in {name}") == [name]


def test_a_model_that_is_not_as_its_config_says_is_not_saved(tmp_path: Path) -> None:
    numpy_files()

    def changed(change: Callable[[GPT], object]) -> GPT:
        model = GPT(GPTConfig(V, T, N, H, C))
        change(model)
        return model

    def new(*shape: int) -> Any:
        return tensorgrad.nn.Parameter(tensorgrad.ones(*shape))

    for change, message in [
        (lambda m: setattr(m.head, "weight", new(V, C)), "the head is tied, and head.weight differs"),
        (lambda m: setattr(m.tokens, "weight", new(V + 1, C)), r"'wte.weight' is of shape \(13, 8\), and .* \(14, 8\)"),
        (lambda m: setattr(m.norm, "bias", None), r"'ln_f.bias' is of shape \(8,\), and in the model it is not there"),
        (lambda m: setattr(m.blocks[1].norm2, "eps", 1e-3), r"blocks.1.norm2.eps is 0.001; .* 1e-05 only"),
    ]:
        with pytest.raises(ValueError, match=f"save_pretrained: .*{message}"):
            save_pretrained(changed(change), tmp_path / "a")
    assert os.listdir(tmp_path) == []


# -- what is wrong with a folder ---------------------------------------------------------------------------------------


def test_folders_and_files_that_are_not_there(tmp_path: Path) -> None:
    for wrong, error, message in [
        (tmp_path / "none", FileNotFoundError, "no folder .*none'; only files on this machine"),
        ("gpt2", FileNotFoundError, "no folder 'gpt2'"),
        ("x" * 5_000, FileNotFoundError, "no folder .x+"),
        (write(tmp_path) / "config.json", NotADirectoryError, "is a file: give the folder"),
        ("a\0b", ValueError, "no path"),
        (None, TypeError, "takes the path of a folder, got a NoneType"),
    ]:
        with pytest.raises(error, match=f"GPT.from_pretrained: .*{message}"):
            GPT.from_pretrained(wrong)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file 'model.safetensors' in .*; there are 'config.json'$"):
        GPT.from_pretrained(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    with pytest.raises(
        FileNotFoundError, match=r"pickle.*is not read here: load it with transformers.*save_pretrained"
    ):
        GPT.from_pretrained(tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file 'config.json' in .*; there are 'pytorch_model.bin'"):
        GPT.from_pretrained(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000, b"[1]", b"null"])
def test_configs_that_are_no_json(tmp_path: Path, content: bytes) -> None:
    (write(tmp_path) / "config.json").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"config.json' (is not JSON, or is damaged|holds (\[1\]|None), not an object)"
    ):
        GPT.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "llama"}, "is of a model of type 'llama'; only 'gpt2'"),
        ({"model_type": None}, "is of a model of type None"),
        ({"n_embd": "8"}, "'n_embd' is '8'; it must be a whole number"),
        ({"n_layer": True}, "'n_layer' is True"),
        ({"n_layer": 0}, "'n_layer' is 0"),
        ({"n_layer": 10**12}, "'n_layer' is 1000000000000, and the weights are of 2 blocks"),
        ({"n_head": 3}, "'n_embd' is 8, which 'n_head', 3, does not divide"),
        ({"n_head": 10**4_000}, r"'n_embd' is 8, which 'n_head', 10{50,56}\.\.\., does not divide"),
        ({"n_layer": 10**4_000}, "GPTConfig: blocks is a number of 13,288 bits: no array is so long"),
        ({"vocab_size": 10**15}, r"shape \(13, 8\), and by config.json it must be \(1000000000000000, 8\)"),
        ({"n_inner": 16}, "'n_inner' is 16; GPT's blocks are 4 x 'n_embd' wide inside, 32"),
        ({"activation_function": "gelu"}, "'activation_function' is 'gelu'; GPT computes with 'gelu_new' only"),
        ({"layer_norm_epsilon": 1e-6}, "'layer_norm_epsilon' is 1e-06"),
        ({"scale_attn_weights": False}, "'scale_attn_weights' is False"),
        ({"scale_attn_weights": 1}, "'scale_attn_weights' is 1"),
        ({"scale_attn_by_inverse_layer_idx": True}, "'scale_attn_by_inverse_layer_idx' is True"),
        ({"add_cross_attention": True}, "'add_cross_attention' is True"),
        ({"tie_word_embeddings": "no"}, "'tie_word_embeddings' is 'no'"),
        ({"tie_word_embeddings": False}, r"lacks 1 of 29 tensors: 'lm_head.weight'"),
    ],
)
def test_configs_of_other_models(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write(tmp_path, config=change)
    with pytest.raises(ValueError, match=message):
        GPT.from_pretrained(tmp_path)


def test_a_config_that_lacks_a_size(tmp_path: Path) -> None:
    write(tmp_path)
    for name in ("vocab_size", "n_layer", "n_head", "n_embd"):
        (tmp_path / "config.json").write_text(json.dumps({key: x for key, x in CONFIG.items() if key != name}))
        with pytest.raises(ValueError, match=f"config.json' does not say '{name}'"):
            GPT.from_pretrained(tmp_path)
    older = {key: x for key, x in CONFIG.items() if key not in ("n_positions", "activation_function")}
    (tmp_path / "config.json").write_text(json.dumps(older))
    assert GPT.from_pretrained(tmp_path).config.context == T


def cut(content: bytes) -> bytes:
    return content[:-5]


@pytest.mark.parametrize(
    "change",
    [
        cut,
        lambda content: content + b"more",
        lambda content: content[:100],
        lambda content: b"",
        lambda content: b"PK\x03\x04" + content,
        lambda content: content.replace(b'"F32"', b'"F64"', 1),
    ],
    ids=["cut", "longer", "the header is cut", "empty", "a zip file", "another dtype"],
)
def test_damaged_weights(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path) / "model.safetensors"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=r"model.safetensors' is no safetensors file, or is cut off or damaged \("):
        GPT.from_pretrained(tmp_path)


def test_a_pointer_in_the_place_of_the_weights(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 3\n")
    with pytest.raises(ValueError, match=r"the pointer of Git LFS; fetch the file itself with git lfs pull"):
        GPT.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ln_f.bias": None, "h.1.ln_2.weight": None}, "lacks 2 of 28 tensors: 'h.1.ln_2.weight', 'ln_f.bias'"),
        ({f"h.0.{name}.bias": None for name in ("ln_1", "ln_2", "attn.c_attn", "mlp.c_fc")}, "lacks 4 .* and 1 more"),
        (
            {"h.0.attn.c_attn.weight": (3 * C, C)},
            r"shape \(24, 8\), and .* \(8, 24\): it is transposed; .* \(in, out\)",
        ),
        ({"h.1.mlp.c_fc.bias": (C,)}, r"'h.1.mlp.c_fc.bias' has the shape \(8,\), and .* must be \(32,\)$"),
        ({"wpe.weight": (T + 1, C)}, r"'wpe.weight' has the shape \(9, 8\), and .* \(8, 8\)$"),
        ({"lm_head.weight": (V, C)}, "differs from 'wte.weight', .* set 'tie_word_embeddings' to false in config.json"),
        ({"lm_head.weight": (C, V)}, r"'lm_head.weight' has the shape \(8, 13\)"),
        ({"score.weight": (2, C)}, "has 1 tensors that no GPT-2 of 2 blocks has: 'score.weight'"),
        ({"h.2.ln_1.weight": (C,)}, "no GPT-2 of 2 blocks has: 'h.2.ln_1.weight'"),
        ({"transformer.wte.weight": (V, C)}, "'wte.weight' is in .* twice: as '(transformer.)?wte.weight' in"),
    ],
)
def test_tensors_that_are_wrong(tmp_path: Path, change: dict[str, tuple[int, ...] | None], message: str) -> None:
    arrays = arrays_of()
    for name, shape in change.items():
        if shape is None:
            del arrays[name]
        else:
            arrays[name] = np.ones(shape, np.float32)
    write(tmp_path, arrays)
    with pytest.raises(ValueError, match=message):
        GPT.from_pretrained(tmp_path)


def test_dtypes_that_are_none_of_weights(tmp_path: Path) -> None:
    arrays = arrays_of()
    arrays["wte.weight"] = arrays["wte.weight"].astype(np.int8)
    write(tmp_path, arrays)
    with pytest.raises(TypeError, match=r"'wte.weight' in .* is of dtype I8; weights of F16, BF16, F32, F64"):
        GPT.from_pretrained(tmp_path)
    with pytest.raises(TypeError, match="parameters are floats, got dtype int64"):
        GPT.from_pretrained(tmp_path, dtype=np.int64)
    with pytest.raises(ValueError, match="GPTConfig: dropout is 2"):
        GPT.from_pretrained(tmp_path, dropout=2)
    arrays["wte.weight"] = np.full((V, C), 1e6, np.float32)
    write(tmp_path, arrays)
    assert GPT.from_pretrained(tmp_path).tokens.weight.data[0, 0] == 1e6
    with pytest.raises(ValueError, match=r"'wte.weight' in .* has numbers too large for float16: take a wider dtype="):
        GPT.from_pretrained(tmp_path, dtype=np.float16)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)

    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(tensor_files, "import_module", absent)
    with pytest.raises(ImportError, match=r"pip install 'plusequals\[gpt2\]'"):
        GPT.from_pretrained(tmp_path)


# -- memory ------------------------------------------------------------------------------------------------------------

MEASURE = """
import json, resource, sys
from tensorgrad.models import GPT
import safetensors.numpy
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = GPT.from_pretrained(sys.argv[1])
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(json.dumps([grown, sum(p.data.nbytes for p in model.parameters())]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere ru_maxrss has other units")
def test_loading_holds_the_weights_once(tmp_path: Path) -> None:
    numpy_files()
    config = GPTConfig(2_000, 64, 4, 4, 384)
    save_pretrained(GPT(config), tmp_path)
    command = [sys.executable, "-c", MEASURE, str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1]).stdout
    grown, weights = json.loads(printed)
    assert weights > 30e6
    assert grown < 1.3 * weights
