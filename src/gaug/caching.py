"""What is computed once and kept, though it carries gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import torch

_Value = TypeVar("_Value")


def cached_with_gradient(
    function: Callable[[Any], _Value],
) -> functools.cached_property[_Value]:
    """A cached property that carries gradient even if it is first asked for under ``no_grad``.

    Otherwise whoever looks at a graph without gradient first would take it from those who train on
    it later.
    """
    return functools.cached_property(torch.enable_grad()(function))
