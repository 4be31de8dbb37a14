"""A fingerprint of user-defined models, methods and predictors.

Settings do not identify user-defined code: two classes may share a name. What they do, what they
refer to by name and their attributes are part of a run's identity, so that a changed class is never
taken for the old one. Python's own modules and installed packages are told by their names.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import sys
import types
import uuid
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

_DEEPEST = 8
# Told by their names: the version of gaug is part of an identity.
_KNOWN = ("builtins", "gaug", "torch", "torch_geometric", "numpy", "typing", "abc")
_OF_PACKAGES = {"site-packages", "dist-packages"}
_PLAIN = (str, bytes, bool, int, float, complex)
# Functions written in C, which are told by their names.
_IN_C = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)
# Python's own notes on an abstract class, not what it does.
_NOTES = "_abc_impl"

# By the ids of objects, with a reference that keeps or watches each: some have no hash, and others
# are equal without being the same.
_seen: dict[int, tuple[Any, bytes]] = {}


def user_code_fingerprint(*objects: Any) -> str:
    """A short fingerprint of classes, functions and objects; a new one each time if unknown."""
    return hashlib.sha256(b"".join(map(_fingerprint, objects))).hexdigest()[:12]


def _fingerprint(value: Any) -> bytes:
    """The fingerprint of an object when it was first seen: a fit may change its attributes."""
    if inspect.ismethod(value):  # made anew each time it is asked for
        return _fingerprint(value.__func__) + _fingerprint(value.__self__)
    key = id(value)
    if key not in _seen:
        digest = hashlib.sha256()
        for part in _Parts().of(value, _DEEPEST):
            digest.update(part)
        try:
            reference = weakref.ref(value, lambda _: _seen.pop(key, None))
        except TypeError:
            reference = value
        _seen[key] = reference, digest.digest()
    return _seen[key][1]


class _Parts:
    """What an object consists of, as bytes; each class and function is taken apart once."""

    def __init__(self) -> None:
        self._visited: dict[int, Any] = {}

    def of(self, value: Any, depth: int) -> Iterator[bytes]:
        """Those of any object, down to a depth."""
        if isinstance(value, torch.Tensor):
            value = value.detach().cpu().numpy()
        if isinstance(value, np.ndarray):
            yield str((value.shape, value.dtype)).encode()
            yield value.tobytes()
        elif inspect.ismethod(value):
            yield from self._code(value.__func__)
            yield from self.of(value.__self__, depth - 1)
        elif isinstance(value, type) or inspect.isroutine(value):
            yield from self._code(value)
        elif value is None or isinstance(value, _PLAIN):
            yield repr(value).encode()
        elif depth <= 0:
            yield type(value).__qualname__.encode()
        elif isinstance(value, functools.partial):
            yield from self.of((value.func, value.args, value.keywords), depth - 1)
        elif isinstance(value, (set, frozenset)):
            yield from self.of(sorted(map(repr, value)), depth - 1)
        elif isinstance(value, (list, tuple)):
            for item in value:
                yield from self.of(item, depth - 1)
        elif isinstance(value, dict):
            for name, item in value.items():
                yield repr(name).encode()
                yield from self.of(item, depth - 1)
        elif hasattr(value, "__dict__"):
            yield from self._code(type(value))
            yield from self.of(vars(value), depth - 1)
        else:
            yield repr(value).encode()

    def _code(self, code: Any) -> Iterator[bytes]:
        """What a class or a function does, as Python compiled it."""
        module = getattr(code, "__module__", None)
        yield f"{module}.{getattr(code, '__qualname__', code)}".encode()
        if _package(module) in _KNOWN or id(code) in self._visited:
            return
        self._visited[id(code)] = code
        if isinstance(code, type):
            for base in code.__bases__:
                yield from self._code(base)
            for name, member in vars(code).items():
                member = getattr(member, "__func__", getattr(member, "fget", member))
                yield name.encode()
                if inspect.isfunction(member):
                    yield from self._code(member)
                elif not name.startswith("__") and name != _NOTES:
                    yield from self.of(member, 2)
        elif isinstance(getattr(code, "__code__", None), types.CodeType):
            yield from self._compiled(code.__code__, getattr(code, "__globals__", {}))
            defaults = (getattr(code, "__defaults__", None), getattr(code, "__kwdefaults__", None))
            yield from self.of(defaults, 2)
            for cell in getattr(code, "__closure__", None) or ():
                with contextlib.suppress(ValueError):  # it is empty
                    yield from self.of(cell.cell_contents, 2)
        elif not isinstance(code, _IN_C):
            yield uuid.uuid4().bytes  # it cannot be told from other code of that name

    def _compiled(self, code: types.CodeType, namespace: dict[str, Any]) -> Iterator[bytes]:
        yield code.co_code
        yield repr(code.co_names).encode()
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from self._compiled(constant, namespace)
            else:
                yield from self.of(constant, 2)
        for named in _named(code.co_names, namespace):
            yield from self.of(named, 2)


def _named(
    names: tuple[str, ...], namespace: dict[str, Any], within: tuple[str, ...] = ()
) -> Iterator[Any]:
    """What code refers to by name, as far as it is the user's: functions, classes and constants.

    Args:
        names: The names in the code, attributes among them.
        namespace: Where they are looked up.
        within: The modules that this is already in.
    """
    for name in names:
        value = namespace.get(name)
        if isinstance(value, types.ModuleType):
            module = value.__name__
            if _is_own(module) and module not in within:
                yield from _named(names, vars(value), (*within, module))
        elif isinstance(value, (types.FunctionType, type)):
            if _is_own(value.__module__):
                yield value
        elif not name.startswith("__") and _is_constant(value):
            yield value


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return isinstance(value, _PLAIN)


def _is_own(module: str | None) -> bool:
    """Whether a module is the user's: neither Python's, nor an installed package's."""
    package = _package(module)
    if package in _KNOWN or package in sys.stdlib_module_names:
        return False
    file = getattr(sys.modules.get(str(module)), "__file__", None)
    return file is None or _OF_PACKAGES.isdisjoint(Path(file).parts)


def _package(module: str | None) -> str:
    return str(module).partition(".")[0]
