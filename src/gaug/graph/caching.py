"""What is computed once and kept for training, no matter which code asks for it first."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

_Value = TypeVar("_Value")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_gradient(function: _Function) -> _Function:
    """What training can use of a function, even if called under ``no_grad`` or ``inference_mode``.

    For cached values: otherwise a first look at a graph without gradient would leave a value that
    later training cannot use.
    """
    return torch.inference_mode(False)(torch.enable_grad()(function))


def cached_with_gradient(
    function: Callable[[Any], _Value],
) -> functools.cached_property[_Value]:
    """A cached property, computed `with_gradient`."""
    return functools.cached_property(with_gradient(function))
