"""`Module`: a part of a network that knows its parameters, its buffers, and the parts it is made of."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from textwrap import indent
from typing import Any, Self

import numpy as np

from micrograd.scopes import module_scope
from tensorgrad.errors import DtypeError
from tensorgrad.hooks import RemovableHandle, keep
from tensorgrad.nn.parameter import Parameter
from tensorgrad.nn.state import LoadedKeys, load
from tensorgrad.node import new, quiet
from tensorgrad.ops.casting import to
from tensorgrad.parameters import clear_gradients
from tensorgrad.settings import kind as kind_of
from tensorgrad.tensor import Tensor

_KINDS = {"_parameters": "a Parameter", "_buffers": "a Tensor", "_modules": "a Module"}
"""Where the things that are registered by attribute are kept, and what may be assigned in the place of one."""

_NEAREST = {
    "cuda": "tensors here are in main memory; leave it out",
    "compile": "it would change nothing; leave it out",
    "bfloat16": "NumPy has no bfloat16; use half() or float()",
    "register_full_backward_hook": "use register_hook of the module's output",
    "register_backward_hook": "use register_hook of the module's output",
}


class Module:
    """The base of layers and networks: assign Parameters and Modules to attributes, and define `forward`.

    Parameters are found by assignment, in the order in which they were assigned, in Modules inside Modules too;
    names are those of the attributes, joined by dots. Call a Module, not its `forward`: calling runs the hooks.
    """

    training: bool

    def __init__(self) -> None:
        fields = self.__dict__
        fields["training"] = True
        for kind in _KINDS:
            fields[kind] = {}
        fields["_not_saved"] = set()
        fields["_forward_hooks"] = {}
        fields["_forward_pre_hooks"] = {}

    # -- running ---------------------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the Module computes: to be defined by each kind of Module."""
        raise NotImplementedError(
            f"{type(self).__name__} has no forward: define forward(self, ...), which runs when the module is called"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with module_scope(self):
            if not (self._forward_pre_hooks or self._forward_hooks):
                return self.forward(*args, **kwargs)
            for hook, with_kwargs in list(self._forward_pre_hooks.values()):
                changed = hook(self, args, kwargs) if with_kwargs else hook(self, args)
                if changed is None:
                    continue
                if with_kwargs:
                    args, kwargs = changed
                else:
                    args = changed if isinstance(changed, tuple) else (changed,)
            out = self.forward(*args, **kwargs)
            for hook, with_kwargs in list(self._forward_hooks.values()):
                changed = hook(self, args, kwargs, out) if with_kwargs else hook(self, args, out)
                out = out if changed is None else changed
            return out

    def register_forward_pre_hook(self, hook: Callable[..., Any], *, with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; what it returns, unless None, takes the place of the args.

        With `with_kwargs` it is called as hook(module, args, kwargs) and returns both. `remove()` the result to end it.
        """
        return keep("register_forward_pre_hook", self._forward_pre_hooks, hook, (hook, with_kwargs))

    def register_forward_hook(self, hook: Callable[..., Any], *, with_kwargs: bool = False) -> RemovableHandle:
        """Call `hook(module, args, output)` after each forward; what it returns, unless None, is the output instead.

        With `with_kwargs` it is called as hook(module, args, kwargs, output). `remove()` the result to end it.
        """
        return keep("register_forward_hook", self._forward_hooks, hook, (hook, with_kwargs))

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and in all parts: dropout is at work in training only."""
        if not isinstance(mode, bool):
            raise TypeError(f"train: the mode is True or False, got {mode!r}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    # -- registering -----------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if isinstance(value, Parameter):
            kind = "_parameters"
        elif isinstance(value, Module):
            kind = "_modules"
        else:
            kind = next((k for k in _KINDS if name in fields.get(k, ())), "")
            if not kind:
                object.__setattr__(self, name, value)
                return
            if value is not None and not (kind == "_buffers" and isinstance(value, Tensor)):
                raise TypeError(
                    f"{type(self).__name__}.{name} is registered as {_KINDS[kind]}: assign another one or None, not a "
                    f"{type(value).__name__}"
                )
        if kind not in fields:
            raise AttributeError(
                f"{type(self).__name__}: call super().__init__() before the first assignment of {_KINDS[kind]} "
                f"({name!r}): that is where a Module makes the place to keep it"
            )
        self._check_whole(name, value)
        fields.pop(name, None)
        for other in _KINDS:
            if other != kind:
                fields[other].pop(name, None)
        fields[kind][name] = value

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        for kind in _KINDS:
            registered = fields.get(kind)
            if registered is not None and name in registered:
                return registered[name]
        if "_modules" not in fields and not name.startswith("__"):
            hint = ": call super().__init__() first in its __init__"
        else:
            hint = f": {_NEAREST[name]}" if name in _NEAREST else ""
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}{hint}", name=name, obj=self)

    def __delattr__(self, name: str) -> None:
        for kind in _KINDS:
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self._not_saved.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """As `self.name = param`; None keeps the name for later."""
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"register_parameter: {name!r} must be a Parameter or None, got a {type(param).__name__}")
        self._register("register_parameter", "_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Keep `tensor` as an attribute that is saved and cast with the parameters, but not trained.

        One that is not `persistent` is left out of the state_dict.
        """
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"register_buffer: {name!r} must be a Tensor or None, got a {type(tensor).__name__}")
        self._register("register_buffer", "_buffers", name, tensor)
        (self._not_saved.discard if persistent else self._not_saved.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """As `self.name = module`, for names that are no identifiers too; None keeps the name for later."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"add_module: {name!r} must be a Module or None, got a {type(module).__name__}")
        self._register("add_module", "_modules", name, module)

    register_module = add_module

    def _register(self, op: str, kind: str, name: str, value: Any) -> None:
        if not isinstance(name, str) or not name or "." in name:
            raise KeyError(f"{op}: a name is a string without dots that is not empty, got {name!r}")
        if kind not in self.__dict__:
            raise AttributeError(f"{op}: call super().__init__() of the {type(self).__name__} first")
        if name not in self.__dict__[kind] and hasattr(self, name):
            raise KeyError(f"{op}: the {type(self).__name__} has an attribute {name!r} already")
        self._check_whole(name, value)
        self.__dict__[kind][name] = value

    def _check_whole(self, name: str, value: Any) -> None:
        """Raise ValueError for a part that holds this module: walking through the parts would not end."""
        if isinstance(value, Module) and any(module is self for module in value.modules()):
            raise ValueError(
                f"{type(self).__name__}.{name}: a module cannot be a part of itself: keep a reference that is none of "
                "its parts in a list, self.parent = [parent]"
            )

    # -- finding ---------------------------------------------------------------------------------------------------

    def named_modules(self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Any:
        """(name, module) of this one, named `prefix`, and of all parts at any depth; with two names the first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        """This module and all parts of it at any depth, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the parts of this one, not of theirs, each once."""
        first = {module: name for name, module in reversed(self._modules.items()) if module is not None}
        return ((name, module) for name, module in self._modules.items() if first.get(module) == name)

    def children(self) -> Iterator[Module]:
        """The parts of this module, not theirs, each once."""
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(name, Parameter), those of the parts too unless `recurse` is False; one with two names under the first."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All Parameters, each once; without those of the parts if `recurse` is False."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(name, Tensor) of what was registered by `register_buffer`, those of the parts too."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once; without those of the parts if `recurse` is False."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def _named(self, kind: str, prefix: str, recurse: bool, once: bool, saved: bool = False) -> Iterator[Any]:
        seen: set[Tensor] = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=once) if recurse else [(prefix, self)]
        for path, module in owners:
            for name, value in getattr(module, kind).items():
                if value is None or (once and value in seen) or (saved and name in module._not_saved):
                    continue
                seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def get_submodule(self, target: str) -> Module:
        """The part at a path of names with dots between, such as "layers.0.norm"; "" is this module."""
        module: Module = self
        for name in target.split(".") if target else ():
            found = module._modules.get(name)
            if found is None:
                raise AttributeError(f"get_submodule: {type(module).__name__} has no module {name!r} (in {target!r})")
            module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The Parameter at a path of names with dots between."""
        return self._get("get_parameter", "_parameters", target)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path of names with dots between."""
        return self._get("get_buffer", "_buffers", target)

    def _get(self, op: str, kind: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = module.__dict__[kind].get(name)
        if found is None:
            raise AttributeError(f"{op}: {type(module).__name__} has no {name!r} among its {kind[1:]} (in {target!r})")
        return found

    # -- state -----------------------------------------------------------------------------------------------------

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Every Parameter and persistent buffer by name; one with two names under both.

        They are detached but share their arrays with the module: training on changes them. Copy them (deepcopy, save)
        to keep a state. With `keep_vars` they are the Parameters themselves.
        """
        state = OrderedDict() if destination is None else destination
        for path, module in self.named_modules(prefix=prefix.removesuffix("."), remove_duplicate=False):
            for name, value in [*module._named("_parameters", path, False, False), *module._saved_buffers(path)]:
                state[name] = value if keep_vars else value.detach()
        return state

    def _saved_buffers(self, path: str) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", path, False, False, saved=True)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> LoadedKeys:
        """Copy `state_dict`'s values into the Parameters and buffers of the same names, which stay the same objects.

        Raises RuntimeError that lists all names that are missing or not known (unless `strict` is False) and all values
        that do not fit; then nothing has been changed. Returns the names that were missing, and those not known.
        """
        return load(type(self).__name__, self.state_dict(keep_vars=True), state_dict, strict)

    # -- all parameters at once ------------------------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Take the gradients of all Parameters away, or set them to zeros."""
        clear_gradients(self.parameters(), set_to_none)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether all Parameters are trained from now on."""
        for p in self.parameters():
            p.requires_grad = requires_grad
        return self

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` on every part and then on this module, e.g. to initialise them."""
        if not callable(fn):
            raise TypeError(f"apply: takes a function of a module, got {kind_of(fn)}")
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Cast Parameters, their gradients and buffers that are floats to a dtype: that of a Tensor, or one by name.

        They stay the same objects, so an optimizer keeps hold of them. The device "cpu" changes nothing; there is no
        other. Raises DtypeError for a dtype that is not of floats.
        """
        return self._cast(lambda dtype: to(new(np.empty(0, dtype=dtype)), *args, **kwargs)._data.dtype)

    def type(self, dst_type: Any) -> Self:
        """As `to(dtype)`."""
        return self.to(dtype=dst_type)

    def float(self) -> Self:
        """Cast to float32."""
        return self.to(np.float32)

    def double(self) -> Self:
        """Cast to float64."""
        return self.to(np.float64)

    def half(self) -> Self:
        """Cast to float16."""
        return self.to(np.float16)

    def cpu(self) -> Self:
        """The module itself: there is no other device."""
        return self

    @quiet
    def _cast(self, to_dtype: Callable[[np.dtype], np.dtype]) -> Self:
        found = [x for x in [*self.parameters(), *self.buffers()] if x._data.dtype.kind == "f"]
        wanted = [to_dtype(x._data.dtype) for x in found]
        for dtype in wanted:
            if dtype.kind != "f":
                raise DtypeError(f"{type(self).__name__}: parameters are floats, they cannot be cast to {dtype}")
        for x, dtype in zip(found, wanted, strict=True):
            if dtype != x._data.dtype:
                x.data = x._data.astype(dtype)
                if x._grad is not None:
                    x.grad = x._grad.astype(dtype)
        return self

    # -- showing ---------------------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What stands in the brackets when the module is printed: to be defined by each kind of Module."""
        return ""

    def __repr__(self) -> str:
        parts = [f"({name}): {module!r}" for name, module in self._shown()]
        extra = self.extra_repr()
        if not parts:
            return f"{type(self).__name__}({extra})"
        lines = [*extra.splitlines(), *parts]
        return f"{type(self).__name__}(\n{indent(chr(10).join(lines), '  ')}\n)"

    def _shown(self) -> Iterable[tuple[str, Module | None]]:
        return self._modules.items()
