"""`Module`: registering, finding, state, casts, hooks, copies, printing; and its containers."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgrad
from tensorgrad import Tensor, nn, no_grad
from tensorgrad.nn import Parameter
from viz.names import find_names


class Net(nn.Module):
    """Two layers with a tied weight, a list, a scale and two buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Parameter([2.0])
        self.first = nn.Linear(3, 3)
        self.blocks = nn.ModuleList([nn.Linear(3, 3, bias=False), nn.Sequential(nn.Linear(3, 2), nn.Tanh())])
        self.register_buffer("offset", tensorgrad.zeros(3))
        self.register_buffer("scratch", tensorgrad.ones(1), persistent=False)
        self.blocks[0].weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks[1](self.blocks[0](self.first(x + self.offset))) * self.scale


def net_in(library: ModuleType) -> Any:
    """The same as Net, made of the library's own parts."""

    class Net(library.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = library.nn.Parameter(library.ones(1))
            self.first = library.nn.Linear(3, 3)
            blocks = [library.nn.Linear(3, 3, bias=False), library.nn.Sequential(library.nn.Linear(3, 2))]
            self.blocks = library.nn.ModuleList(blocks)
            self.same = self.first
            self.register_buffer("offset", library.zeros(3))
            self.register_buffer("scratch", library.ones(1), persistent=False)
            self.blocks[0].weight = self.first.weight
            self.nothing = None
            self.register_parameter("missing", None)

    return Net()


# -- finding -----------------------------------------------------------------------------------------------------------


def listings(net: Any) -> dict[str, list[str]]:
    return {
        "parameters": [name for name, _ in net.named_parameters()],
        "here": [name for name, _ in net.named_parameters(recurse=False)],
        "under a prefix": [name for name, _ in net.named_parameters("net")],
        "twice": [name for name, _ in net.named_parameters(remove_duplicate=False)],
        "buffers": [name for name, _ in net.named_buffers()],
        "modules": [name for name, _ in net.named_modules()],
        "all modules": [name for name, _ in net.named_modules(remove_duplicate=False)],
        "children": [name for name, _ in net.named_children()],
        "state": list(net.state_dict()),
        "state under a prefix": list(net.state_dict(prefix="net.")),
        "counts": [str(len(list(found()))) for found in (net.parameters, net.buffers, net.modules, net.children)],
    }


def test_names_and_their_order_are_torchs(torch: ModuleType) -> None:
    assert listings(net_in(tensorgrad)) == listings(net_in(torch))


def test_tied_parameters_come_once_and_get_both_contributions() -> None:
    net = Net()
    assert len(list(net.parameters())) == 5
    net(tensorgrad.ones(1, 3)).sum().backward()
    assert net.first.weight is net.blocks[0].weight
    assert all(p._grad is not None for p in net.parameters())


def test_get_by_path() -> None:
    net = Net()
    assert net.get_submodule("blocks.1.0") is net.blocks[1][0]
    assert net.get_submodule("") is net
    assert net.get_parameter("blocks.0.weight") is net.first.weight
    assert net.get_buffer("offset") is net.offset
    for get, target in [
        (net.get_submodule, "blocks.7"),
        (net.get_parameter, "first.nothing"),
        (net.get_parameter, "offset"),
        (net.get_buffer, "scale"),
    ]:
        with pytest.raises(AttributeError, match=repr(target.split(".")[-1])):
            get(target)


# -- registering -------------------------------------------------------------------------------------------------------


def test_before_init_assignments_say_what_to_do() -> None:
    class Forgot(nn.Module):
        def __init__(self, what: Any) -> None:
            self.number = 3
            self.part = what

    for what in (Parameter([1.0]), nn.Linear(1, 1)):
        with pytest.raises(AttributeError, match=r"super\(\).__init__\(\).*'part'"):
            Forgot(what)
    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\) first"):
        Forgot(1)(tensorgrad.ones(1))


def test_what_is_registered_keeps_its_kind() -> None:
    net = Net()
    with pytest.raises(TypeError, match=r"scale is registered as a Parameter.*not a Tensor"):
        net.scale = tensorgrad.ones(1)
    with pytest.raises(TypeError, match=r"first is registered as a Module.*not a int"):
        net.first = 3
    with pytest.raises(TypeError, match=r"offset is registered as a Tensor.*not a ndarray"):
        net.offset = np.ones(3)
    net.offset = tensorgrad.ones(3)
    net.first = nn.Identity()
    net.scale = None
    assert "scale" not in dict(net.named_parameters())
    assert net.scale is None
    net.scale = Parameter([1.0])
    net.offset = Parameter([1.0])  # from a buffer to a parameter
    assert "offset" in dict(net.named_parameters())
    assert "offset" not in dict(net.named_buffers())


def test_a_plain_attribute_can_become_a_parameter_and_go() -> None:
    net = nn.Module()
    net.w = 3
    net.w = Parameter([1.0])
    assert [name for name, _ in net.named_parameters()] == ["w"]
    assert "w" in dir(net)
    del net.w
    assert not list(net.parameters())
    with pytest.raises(AttributeError):
        del net.w
    net.w = 4
    assert net.w == 4


@pytest.mark.parametrize("register", ["register_parameter", "register_buffer", "add_module"])
def test_names_are_checked(register: str) -> None:
    net = Net()
    for name in ("", "a.b", 3):
        with pytest.raises(KeyError, match="name is a string without dots"):
            getattr(net, register)(name, None)
    with pytest.raises(KeyError, match="has an attribute 'forward' already"):
        getattr(net, register)("forward", None)
    with pytest.raises(TypeError, match="got a str"):
        getattr(net, register)("extra", "text")
    with pytest.raises(TypeError):
        net.register_parameter("extra", tensorgrad.ones(1))


def test_a_missing_attribute_is_named() -> None:
    with pytest.raises(AttributeError, match="'Linear' has no attribute 'wieght'") as caught:
        nn.Linear(1, 1).wieght  # noqa: B018
    assert caught.value.name == "wieght"
    with pytest.raises(AttributeError, match="main memory"):
        nn.Linear(1, 1).cuda()
    assert not hasattr(nn.Linear(1, 1), "cuda")


def test_no_forward_says_so() -> None:
    class Half(nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="Half has no forward"):
        Half()(1)
    for container in (nn.ModuleList(), nn.ModuleDict()):
        with pytest.raises(NotImplementedError, match="is no function"):
            container(1)


def test_parameters() -> None:
    source = tensorgrad.ones(2)
    shared = Parameter(source)
    assert np.shares_memory(shared.data, source.data)
    array = np.ones(2)
    assert not np.shares_memory(Parameter(array).data, array)
    assert Parameter(array).dtype == np.float64
    assert shared.requires_grad
    assert shared.is_leaf
    assert not Parameter([1.0], requires_grad=False).requires_grad
    assert type(shared * 2) is Tensor
    assert Parameter((shared * 2).detach()).is_leaf
    assert repr(shared).startswith("Parameter containing:\nTensor(")
    with pytest.raises(TypeError, match="floating-point"):
        Parameter(tensorgrad.tensor([1]))
    assert isinstance(copy.deepcopy(shared), Parameter)
    assert isinstance(pickle.loads(pickle.dumps(shared)), Parameter)


# -- state -------------------------------------------------------------------------------------------------------------


def test_a_state_shares_memory_and_no_graph() -> None:
    net = Net()
    state = net.state_dict()
    assert isinstance(state, OrderedDict)
    assert "scratch" not in state
    assert not any(x.requires_grad for x in state.values())
    with no_grad():
        net.scale += 1
    assert state["scale"].item() == 3.0
    assert net.state_dict(keep_vars=True)["scale"] is net.scale


def test_loading_copies_into_the_same_parameters() -> None:
    net, other = Net(), Net()
    before = list(other.parameters())
    result = other.load_state_dict(net.state_dict())
    assert result == ([], [])
    assert all(a is b for a, b in zip(other.parameters(), before, strict=True))
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(a.data, b.data)
        assert not np.shares_memory(a.data, b.data)
    other.double().load_state_dict({name: x.data for name, x in net.state_dict().items()})  # arrays, and a cast
    assert other.scale.dtype == np.float64


def test_loading_is_noticed_by_a_graph_that_was_built_before() -> None:
    net = nn.Linear(2, 1)
    loss = (net(tensorgrad.ones(1, 2)) * net.bias).sum()
    net.load_state_dict(nn.Linear(2, 1).state_dict())
    with pytest.raises(RuntimeError, match="in place"):
        loss.backward()


def test_a_state_that_does_not_fit_is_told_in_one_message_and_changes_nothing() -> None:
    net = Net()
    before = {name: x.data.copy() for name, x in net.state_dict().items()}
    state = {name: x + 1 for name, x in net.state_dict().items()}
    del state["offset"], state["first.bias"]
    state |= {"extra": tensorgrad.ones(1), "other": tensorgrad.ones(1)}
    state["scale"] = tensorgrad.ones(2)
    state["blocks.1.0.bias"] = [1.0, 2.0]
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    message = str(caught.value)
    assert "missing: first.bias, offset" in message or "missing: offset, first.bias" in message
    assert "not in the module: extra, other" in message
    assert "scale: shape (2,) in the state, (1,) in the module" in message
    assert "blocks.1.0.bias: a Tensor or a NumPy array is needed, got list" in message
    for name, x in net.state_dict().items():
        np.testing.assert_array_equal(x.data, before[name])
    with pytest.raises(RuntimeError, match="scale: shape"):  # shapes count where names do not
        net.load_state_dict(state, strict=False)
    del state["scale"], state["blocks.1.0.bias"]
    result = net.load_state_dict(state, strict=False)
    assert set(result.missing_keys) == {"offset", "first.bias", "scale", "blocks.1.0.bias"}
    assert result.unexpected_keys == ["extra", "other"]
    np.testing.assert_array_equal(net.first.weight.data, before["first.weight"] + 1)


def test_hints_in_loading(torch: ModuleType) -> None:
    net = nn.Linear(1, 1)
    with pytest.raises(RuntimeError, match=r"begin with 'module\.'"):
        net.load_state_dict({f"module.{name}": x for name, x in net.state_dict().items()})
    with pytest.raises(RuntimeError, match=r"weight: .*got torch.Tensor; write .numpy\(\)"):
        net.load_state_dict(torch.nn.Linear(1, 1).state_dict())
    with pytest.raises(RuntimeError, match="complex"):
        net.load_state_dict({"weight": np.ones((1, 1), dtype=complex), "bias": np.ones(1)})
    for state in (None, [1], net):
        with pytest.raises(TypeError, match="dict from names to tensors"):
            net.load_state_dict(state)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_whole_and_separate(again: Any) -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net.eval()
    twin = again(net)
    assert not twin.training
    assert twin[1].weight is twin[0].weight
    assert twin[0].weight is not net[0].weight
    x = tensorgrad.ones(1, 2)
    np.testing.assert_array_equal(twin(x).data, net(x).data)
    with no_grad():
        twin[0].weight.zero_()
    assert net[0].weight.data.any()


# -- all at once -------------------------------------------------------------------------------------------------------


def test_train_and_eval_reach_all_parts() -> None:
    net = Net()
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())
    with pytest.raises(TypeError, match="mode is True or False"):
        net.train("yes")


def test_zero_grad_and_requires_grad() -> None:
    net = nn.Linear(2, 1)
    net(tensorgrad.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    np.testing.assert_array_equal(net.weight.grad, [[0, 0]])
    net.zero_grad()
    assert net.weight._grad is None
    assert net.requires_grad_(False) is net
    assert not net(tensorgrad.ones(1, 2)).requires_grad


def test_apply_goes_from_the_parts_up() -> None:
    seen: list[str] = []
    net = nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Tanh()))
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "Tanh", "Sequential", "Sequential"]


@pytest.mark.parametrize(
    ("cast", "dtype"),
    [
        (lambda net: net.double(), np.float64),
        (lambda net: net.half(), np.float16),
        (lambda net: net.double().float(), np.float32),
        (lambda net: net.to(tensorgrad.float64), np.float64),
        (lambda net: net.to("cpu"), np.float32),
        (lambda net: net.to("cpu", np.float64), np.float64),
        (lambda net: net.to(device="cpu", dtype=np.float64), np.float64),
        (lambda net: net.to(tensorgrad.ones(1, dtype=np.float64)), np.float64),
        (lambda net: net.to(tensorgrad.device("cpu")), np.float32),
        (lambda net: net.type(np.float64), np.float64),
        (lambda net: net.cpu(), np.float32),
    ],
)
def test_casts_keep_the_parameters(cast: Any, dtype: Any) -> None:
    net = Net()
    net.register_buffer("count", tensorgrad.tensor([3]))
    net(tensorgrad.ones(1, 3)).sum().backward()
    before = list(net.parameters())
    assert cast(net) is net
    assert all(a is b for a, b in zip(net.parameters(), before, strict=True))
    assert {p.dtype for p in net.parameters()} == {p.grad.dtype for p in net.parameters()} == {np.dtype(dtype)}
    assert net.offset.dtype == dtype
    assert net.count.dtype == np.int64


def test_casts_that_cannot_be() -> None:
    with pytest.raises(TypeError, match="cannot be cast to int64"):
        nn.Linear(1, 1).to(np.int64)
    with pytest.raises(RuntimeError, match="'cuda'"):
        nn.Linear(1, 1).to("cuda")


# -- hooks -------------------------------------------------------------------------------------------------------------


def test_forward_hooks_see_and_change() -> None:
    net = nn.Identity()
    seen: list[Any] = []
    with net.register_forward_pre_hook(lambda module, args: (args[0] + 1,)):
        assert net(1) == 2
    assert net(1) == 1
    handle = net.register_forward_hook(lambda module, args, output: seen.append((module, args, output)))
    second = net.register_forward_hook(lambda module, args, output: output * 10)
    assert net(3) == 30
    assert seen == [(net, (3,), 3)]
    handle.remove()
    handle.remove()
    second.remove()
    assert net(3) == 3
    net.register_forward_pre_hook(lambda module, args, kwargs: (args, {"input": 7}), with_kwargs=True)
    net.register_forward_hook(lambda module, args, kwargs, output: (output, kwargs), with_kwargs=True)
    assert net(input=1) == (7, {"input": 7})


def test_a_pre_hook_may_return_the_one_argument() -> None:
    net = nn.Identity()
    net.register_forward_pre_hook(lambda module, args: args[0] * 2)
    assert net(4) == 8


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_pictures_name_parameters_as_the_caller_would() -> None:
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(2, 2), nn.ModuleDict({"key": nn.Linear(1, 1, bias=False)}))
            self.register_buffer("mask", tensorgrad.ones(1))

    whole = Whole()
    assert list(find_names({"whole": whole}).values()) == [
        "whole.mask",
        "whole.body[0].weight",
        "whole.body[0].bias",
        "whole.body[1].key.weight",
    ]


# -- containers and printing -------------------------------------------------------------------------------------------


def test_a_sequential() -> None:
    a, b, c = nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)
    net = nn.Sequential(a, b, c)
    x = tensorgrad.ones(4, 2)
    np.testing.assert_array_equal(net(x).data, c(b(a(x))).data)
    assert (len(net), net[0], net[-1], list(net)) == (3, a, c, [a, b, c])
    assert isinstance(net[1:], nn.Sequential)
    assert [name for name, _ in net[1:].named_children()] == ["1", "2"]
    named = nn.Sequential(OrderedDict(first=a, then=b))
    assert named.first is a
    assert list(named.state_dict()) == ["first.weight", "first.bias"]
    net[1] = nn.ReLU()
    assert isinstance(net[1], nn.ReLU)
    del net[0]
    assert [name for name, _ in net.named_children()] == ["0", "1"]
    net.append(b).insert(0, a).extend([c])
    assert net[0] is a
    assert len(net) == 5
    assert net.pop() is c
    assert len(net) == 4
    assert b in net


def test_a_module_list() -> None:
    parts = nn.ModuleList(nn.Linear(1, i) for i in range(1, 4))
    assert [part.out_features for part in parts] == [1, 2, 3]
    assert isinstance(parts[:2], nn.ModuleList)
    assert len(parts[:2]) == 2
    parts.insert(1, nn.Tanh())
    assert [name for name, _ in parts.named_children()] == ["0", "1", "2", "3"]
    assert not list(nn.ModuleList())


def test_an_empty_container_is_a_part_too() -> None:
    net = nn.Module()
    net.parts = nn.ModuleList()
    assert [name for name, _ in net.named_children()] == ["parts"]


def test_a_module_dict() -> None:
    parts = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.Tanh()})
    parts["c"] = nn.ReLU()
    assert (list(parts), len(parts), "a" in parts) == (["a", "b", "c"], 3, True)
    assert [type(part) for part in parts.values()] == [nn.Linear, nn.Tanh, nn.ReLU]
    assert isinstance(parts.pop("b"), nn.Tanh)
    del parts["c"]
    assert list(parts.keys()) == ["a"]
    assert [name for name, _ in parts.items()] == ["a"]
    parts.clear()
    assert not len(parts)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nn.Sequential(3), TypeError, "Sequential: holds Modules, got a int"),
        (lambda: nn.ModuleList([None]), TypeError, "ModuleList: holds Modules, got a NoneType"),
        (lambda: nn.Sequential()[0], IndexError, "no number 0 among 0"),
        (lambda: nn.Sequential(nn.Tanh())[1.0], TypeError, "a number or a slice"),
        (lambda: nn.Sequential().insert(5, nn.Tanh()), IndexError, "no place 5"),
        (lambda: nn.ModuleDict({"a": 3}), TypeError, "'a' must be a Module"),
        (lambda: nn.ModuleDict()["a"], KeyError, "a"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def shown(nn: ModuleType) -> str:
    return repr(
        nn.Sequential(
            nn.Linear(2, 3, bias=False),
            nn.ModuleList([nn.Linear(2, 2) for _ in range(3)] + [nn.ReLU(), nn.ReLU(inplace=True)]),
            nn.ModuleDict({"a": nn.Sequential(nn.Tanh(), nn.GELU("tanh")), "b": nn.Identity()}),
            nn.Embedding(3, 4, padding_idx=1),
            *(nn.LayerNorm((4,)), nn.RMSNorm(4), nn.Dropout(0.1), nn.Flatten(), nn.GELU(), nn.LeakyReLU(), nn.ELU()),
            *(nn.Softplus(), nn.Softmax(dim=-1), nn.LogSoftmax(dim=1), nn.SiLU(), nn.Sigmoid(), nn.ReLU6()),
            *(nn.Hardtanh(), nn.LogSigmoid(), nn.MSELoss(), nn.CrossEntropyLoss(), nn.BCEWithLogitsLoss()),
            nn.ModuleList(),
        )
    )


def test_it_prints_as_torch_does(torch: ModuleType) -> None:
    assert shown(nn) == shown(torch.nn)


def test_without_super_init_everything_says_so():
    class Forgetful(nn.Module):
        def __init__(self):
            self.width = 3

        def forward(self, x):
            return x * self.width

    net = Forgetful()
    for call in (lambda: list(net.parameters()), net.state_dict, net.train, lambda: repr(net), net.zero_grad):
        with pytest.raises(
            AttributeError, match=r"'Forgetful' has no attribute '_\w+': call super\(\).__init__\(\) first"
        ):
            call()


def test_a_module_is_no_part_of_itself():
    child = nn.Sequential(nn.Linear(1, 1))
    parent = nn.Sequential(child)
    for call in (
        lambda: setattr(child, "parent", parent),
        lambda: child.add_module("itself", child),
        lambda: child.append(parent),
    ):
        with pytest.raises(ValueError, match=r"Sequential.\w+: a module cannot be a part of itself"):
            call()
    child.parent = [parent]
    assert [name for name, _ in parent.named_parameters()] == ["0.0.weight", "0.0.bias"]


def test_masked_elements_are_not_loaded():
    layer = nn.Linear(1, 1)
    masked = np.ma.masked_array([[1.0]], [[True]])
    with pytest.raises(RuntimeError, match="weight: the array has masked elements"):
        layer.load_state_dict({"weight": masked, "bias": np.zeros(1)})


def test_hooks_and_apply_take_functions():
    net = nn.Linear(1, 1)
    for call in (net.register_forward_hook, net.register_forward_pre_hook, net.apply):
        with pytest.raises(TypeError, match=r"^(register_forward_\w+|apply): takes a function.*, got 3$"):
            call(3)
    assert net(tensorgrad.ones(1, 1)).shape == (1, 1)
