"""Modules that hold others, or Parameters: `Sequential`, `ModuleList`, `ModuleDict`, `ParameterList`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import index
from typing import Any, overload

from tensorgrad.nn.module import Module
from tensorgrad.nn.parameter import Parameter
from tensorgrad.settings import kind
from tensorgrad.tensor import Tensor


class _Numbered(Module):
    """Modules by number; names are the numbers, "0", "1", ..., unless others were given."""

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        return self.insert(len(self), module)

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"{type(self).__name__}: takes a list of Modules, got {kind(modules)}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, i: int, module: Module) -> Any:
        """Put a module before the one with number `i`."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}: holds Modules, got a {type(module).__name__}")
        modules = [*self]
        i = index(i)
        if not -len(modules) <= i <= len(modules):
            raise IndexError(f"{type(self).__name__}: there is no place {i} among {len(modules)} modules")
        if i == len(modules) and str(i) not in self._modules:
            self.add_module(str(i), module)
        else:
            modules.insert(i, module)
            self._renumber(modules)
        return self

    def pop(self, i: int | slice = -1) -> Any:
        """Take the module with number `i` out and return it."""
        found = self[i]
        del self[i]
        return found

    def _renumber(self, modules: Iterable[Module]) -> None:
        modules = list(modules)
        self._modules.clear()
        for i, module in enumerate(modules):
            self.add_module(str(i), module)

    def _name(self, i: int) -> str:
        names = list(self._modules)
        try:
            return names[index(i)]
        except TypeError:
            raise TypeError(f"{type(self).__name__}: a number or a slice is needed, got {i!r}") from None
        except IndexError:
            raise IndexError(f"{type(self).__name__}: there is no number {i} among {len(names)} modules") from None

    @overload
    def __getitem__(self, i: int) -> Any: ...

    @overload
    def __getitem__(self, i: slice) -> Any: ...

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return self._part(list(self._modules.items())[i])
        return self._modules[self._name(i)]

    def _part(self, named: list[tuple[str, Any]]) -> Module:
        raise NotImplementedError

    def __setitem__(self, i: int, module: Module) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}: holds Modules, got a {type(module).__name__}")
        self._modules[self._name(i)] = module

    def __delitem__(self, i: int | slice) -> None:
        names = list(self._modules)[i] if isinstance(i, slice) else [self._name(i)]
        for name in names:
            del self._modules[name]
        if all(name.isdigit() for name in self._modules):
            self._renumber(self._modules.values())

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __contains__(self, module: object) -> bool:
        return any(module is other for other in self._modules.values())


class Sequential(_Numbered):
    """Modules one after the other, each applied to the result of the one before. Takes them one by one, or as one
    dict (OrderedDict) that also gives their names. `net[1]` is one of them, `net[1:]` a Sequential of the rest."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.extend(modules)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _part(self, named: list[tuple[str, Any]]) -> Sequential:
        return Sequential(dict(named))


class ModuleList(_Numbered):
    """A list of Modules that registers them, so that their parameters are found; it cannot be called."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a ModuleList is no function: call the modules in it, in a loop")

    def _part(self, named: list[tuple[str, Any]]) -> ModuleList:
        return ModuleList(module for _, module in named)

    def _shown(self) -> Iterable[tuple[str, Module | None]]:
        """Runs of modules that print alike in one line, as `(0-2): 3 x Linear(...)`."""
        runs: list[tuple[int, list[Any]]] = []
        for i, module in enumerate(self):
            if runs and repr(runs[-1][1][0]) == repr(module):
                runs[-1][1].append(module)
            else:
                runs.append((i, [module]))
        return [(str(i), run[0]) if len(run) == 1 else (f"{i}-{i + len(run) - 1}", _Run(run)) for i, run in runs]


class _Run(Module):
    """Several modules that print alike, for a ModuleList's repr."""

    def __init__(self, modules: list[Module]) -> None:
        self.__dict__["run"] = modules

    def __repr__(self) -> str:
        return f"{len(self.run)} x {self.run[0]!r}"


class ParameterList(Module):
    """A list of Parameters that registers them; other tensors in it become Parameters. It cannot be called."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a ParameterList is no function: use the Parameters in it")

    def append(self, value: Any) -> ParameterList:
        """Add a Parameter at the end."""
        self.register_parameter(str(len(self)), self._as_parameter(value))
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add Parameters at the end."""
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def _as_parameter(self, value: Any) -> Parameter:
        if not isinstance(value, Tensor):
            raise TypeError(f"ParameterList: holds Parameters, got a {type(value).__name__}")
        return value if isinstance(value, Parameter) else Parameter(value)

    def _name(self, i: int) -> str:
        n = len(self)
        if not -n <= index(i) < n:
            raise IndexError(f"ParameterList: there is no number {i} among {n} Parameters")
        return str(index(i) % n)

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return ParameterList(list(self)[i])
        return self._parameters[self._name(i)]

    def __setitem__(self, i: int, value: Any) -> None:
        self._parameters[self._name(i)] = self._as_parameter(value)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._parameters.values()))


class ModuleDict(Module):
    """A dict of Modules by name that registers them; it cannot be called."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        super().__init__()
        self.update(() if modules is None else modules)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a ModuleDict is no function: call the modules in it")

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, in the place of those with the same names."""
        try:
            named = dict(modules)
        except (TypeError, ValueError):
            raise TypeError(
                f"ModuleDict: takes a dict of Modules or pairs of a name and one, got {kind(modules)}"
            ) from None
        for name, module in named.items():
            self[name] = module

    def __getitem__(self, name: str) -> Any:
        return self._modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._modules))

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def keys(self) -> Any:
        return self._modules.keys()

    def values(self) -> Any:
        return self._modules.values()

    def items(self) -> Any:
        return self._modules.items()

    def pop(self, name: str) -> Any:
        """Take the module out and return it."""
        return self._modules.pop(name)

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()
