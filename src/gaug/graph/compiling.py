"""Numba, where it is installed: hand-written loops as fast as C, with an eager form otherwise."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gaug.telling import warn


@functools.cache
def compiled_form(module: str) -> ModuleType | None:
    """A module that needs Numba, or None if it cannot be used; then say why, once.

    Args:
        module: Full name of the module.
    """
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        return importlib.import_module(module)
    except ImportError as error:  # for instance, too old for this NumPy
        warn(f"Numba cannot be used, so some work takes twice as long: {error}")
        return None


def compiled(**options: Any) -> Callable[[Any], Any]:
    """A decorator that compiles on first use and caches the result on disk where possible.

    Args:
        options: Further options of ``numba.njit``.
    """
    from numba import njit

    options = {"nogil": True, "error_model": "numpy", **options}

    def decorate(function: Any) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # no writable cache folder
            return njit(**options)(function)

    return decorate
