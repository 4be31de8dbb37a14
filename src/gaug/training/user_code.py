"""A fingerprint of user-defined models, methods and predictors.

Settings do not identify user-defined code: two classes may share a name. What they do and their
attributes are part of a run's identity, so that a changed class is never taken for the old one.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import types
import uuid
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

_DEEPEST = 8
# Told by their names: the version of gaug is part of an identity.
_KNOWN = ("builtins", "gaug", "torch", "torch_geometric", "numpy", "typing", "abc")


_seen: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()


def user_code_fingerprint(*objects: Any) -> str:
    """A short fingerprint of classes, functions and objects; a new one each time if unknown."""
    return hashlib.sha256(b"".join(map(_fingerprint, objects))).hexdigest()[:12]


def _fingerprint(value: Any) -> bytes:
    """The fingerprint of an object when it was first seen: a fit may change its attributes."""
    if value not in _seen:
        digest = hashlib.sha256()
        for part in _parts(value, _DEEPEST):
            digest.update(part)
        _seen[value] = digest.digest()
    return _seen[value]


def _parts(value: Any, depth: int) -> Iterator[bytes]:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        yield str((value.shape, value.dtype)).encode()
        yield value.tobytes()
    elif isinstance(value, type) or inspect.isroutine(value):
        yield from _code(value)
    elif value is None or isinstance(value, (str, bytes, bool, int, float, complex)):
        yield repr(value).encode()
    elif depth <= 0:
        yield type(value).__qualname__.encode()
    elif isinstance(value, functools.partial):
        yield from _parts((value.func, value.args, value.keywords), depth - 1)
    elif isinstance(value, (set, frozenset)):
        yield from _parts(sorted(map(repr, value)), depth - 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _parts(item, depth - 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield repr(name).encode()
            yield from _parts(item, depth - 1)
    elif hasattr(value, "__dict__"):
        yield from _code(type(value))
        yield from _parts(vars(value), depth - 1)
    else:
        yield repr(value).encode()


def _code(code: Any) -> Iterator[bytes]:
    """What a class or a function does, as Python compiled it."""
    yield f"{code.__module__}.{getattr(code, '__qualname__', code)}".encode()
    if str(code.__module__).partition(".")[0] in _KNOWN:
        return
    if isinstance(code, type):
        for base in code.__bases__:
            yield from _code(base)
        for name, member in vars(code).items():
            member = getattr(member, "__func__", getattr(member, "fget", member))
            yield name.encode()
            if inspect.isfunction(member):
                yield from _code(member)
            elif not name.startswith("__"):
                yield from _parts(member, 2)
    else:
        yield from _compiled(getattr(code, "__code__", None))
        defaults = (getattr(code, "__defaults__", None), getattr(code, "__kwdefaults__", None))
        yield from _parts(defaults, 2)
        for cell in getattr(code, "__closure__", None) or ():
            if cell.cell_contents is not code and not isinstance(cell.cell_contents, type):
                yield from _parts(cell.cell_contents, 2)


def _compiled(code: Any) -> Iterator[bytes]:
    if not isinstance(code, types.CodeType):
        yield uuid.uuid4().bytes  # it cannot be told from other code of that name
        return
    yield code.co_code
    yield repr(code.co_names).encode()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _compiled(constant)
        else:
            yield from _parts(constant, 2)
